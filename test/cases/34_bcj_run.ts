import assert from "node:assert/strict";
import { broadcastJob, Jobs } from "./jobs.ts";
import type { Suite } from "./suite.ts";

const countdown = ["/bin/sh", "-c", "for i in 9 8 7 6 5 4 3 2 1; do echo $i; done"];

export const suite: Suite = {
  number: "34",
  title: "BroadcastJob: one task pod per node",
  needs: [],
  async run(world) {
    const jobs = new Jobs(world);
    const workers = await jobs.workers();
    const all = workers.length;
    await world.step("1 every node runs the task once", async () => {
      await world.apply(broadcastJob(world.version, "bcj-demo", {}, { command: countdown }));
      await jobs.untilRow(`bcj-demo ${all} 0 ${all} 0`);
      const { header } = await world.printed(jobs.resource);
      assert.deepEqual(header, ["NAME", "DESIRED", "ACTIVE", "SUCCEEDED", "FAILED", "AGE"]);
    });
    await world.step("1 pods, status and events", async () => {
      const { status, metadata } = await jobs.get("bcj-demo");
      const pods = await jobs.pods("bcj-demo");
      assert.deepEqual(pods.map((pod) => pod.spec?.nodeName).sort(), workers);
      for (const pod of pods) {
        assert.match(pod.metadata.name, /^bcj-demo-[a-z0-9]{5}$/);
        assert.equal(pod.status?.phase, "Succeeded");
        assert.equal(pod.metadata.labels?.["broadcastjob-controller-uid"], metadata.uid);
        const gate = pod.status?.conditions?.find(({ type }) => type === "KruisePodReady");
        assert.equal(gate?.status, "True");
        assert.deepEqual(pod.spec?.readinessGates, [{ conditionType: "KruisePodReady" }]);
        assert.equal(pod.metadata.ownerReferences?.[0]?.apiVersion, "apps.kruise.io/v1beta1");
      }
      const sums = `${all} pods succeeded, 0 pods failed`;
      assert.equal(status?.phase, "completed");
      const [condition, ...others] = status?.conditions ?? [];
      assert.deepEqual(others, []);
      assert.equal(condition?.type, "Complete");
      assert.equal(condition?.message, `Job completed, ${sums}`);
      assert.ok(status?.["completionTime"]);
      await world.until(
        "events of each pod and of the end",
        async () => {
          const created = await jobs.events("bcj-demo", "SuccessfulCreate");
          assert.deepEqual(
            created.map((event) => event.message).sort(),
            pods.map((pod) => `Created pod: ${pod.metadata.name}`).sort(),
          );
          const [done] = await jobs.events("bcj-demo", "JobComplete");
          assert.equal(done?.message, `Job ${world.namespace}/bcj-demo is completed, ${sums}`);
          assert.equal(done?.source, "broadcastjob-controller");
        },
        { stableMs: 0 },
      );
    });
    await world.step("2 paused, then one at a time", async () => {
      const seconds = String(world.seconds(5));
      const spec = { parallelism: 1, paused: true };
      await world.apply(broadcastJob(world.version, "serial", spec, { command: ["sleep", seconds] }));
      await jobs.untilPhase("serial", "paused");
      await world.stays(async () => assert.deepEqual(await jobs.pods("serial"), []), 10_000);
      const trail = await world.trail("pods", "broadcastjob-name=serial");
      await jobs.patch("serial", { spec: { paused: false } });
      await jobs.untilRow(`serial ${all} 0 ${all} 0`);
      await world.until(
        "an event tells it",
        async () => {
          const [event] = await jobs.events("serial", "Continue");
          assert.equal(event?.message, "continue to process job");
        },
        { stableMs: 0 },
      );
      const working = new Set<string>();
      for (const { type, object } of await trail.stop()) {
        const ended = object.status?.phase === "Succeeded" || type === "DELETED";
        if (ended) working.delete(object.metadata.uid);
        else working.add(object.metadata.uid);
        assert.ok(working.size <= 1, "one at a time");
      }
    });
    await world.step("4 restart policies that never end are refused", async () => {
      for (const restartPolicy of ["Always", null] as const) {
        const always = broadcastJob(world.version, "always", {}, { restartPolicy });
        const text = await world.refused(() => world.apply(always), 500);
        assert.match(text, /pod restartPolicy can only be Never or OnFailure/);
      }
    });
    await world.step("4 presets and names are refused", async () => {
      const preset = {
        ...broadcastJob(world.version, "preset", {}),
        spec: {
          template: {
            metadata: { labels: { "broadcastjob-name": "x" } },
            spec: { restartPolicy: "Never", containers: [{ name: "work", image: "busybox:1.34" }] },
          },
        },
      };
      const words = '"broadcastjob-name" and "broadcastjob-controller-uid" are not allowed to preset';
      assert.ok((await world.refused(() => world.apply(preset), 500)).includes(words));
      const dotted = broadcastJob(world.version, "a.b", {});
      const text = await world.refused(() => world.apply(dotted), 500);
      assert.match(text, /BroadcastJob name must consist of alphanumeric characters or '-'/);
    });
    await world.step("5 pods go with their job", async () => {
      await world.remove(jobs.resource, "bcj-demo");
      await jobs.untilGone("bcj-demo");
    });
  },
};
