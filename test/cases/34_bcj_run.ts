import assert from "node:assert/strict";
import { conditionOf, nameOf, nodeOf, phaseOf } from "./items.ts";
import { BroadcastJob, broadcastJob } from "./jobs.ts";
import type { Suite } from "./suite.ts";

const countdown = ["/bin/sh", "-c", "for i in 9 8 7 6 5 4 3 2 1; do echo $i; done"];

export const suite: Suite = {
  number: "34",
  title: "BroadcastJob: one task pod per node",
  needs: [],
  async run(world) {
    const workers = await world.workers();
    const all = workers.length;
    const demo = new BroadcastJob(world, "bcj-demo");
    await world.step("1 every node runs the task once", async () => {
      await demo.create({}, { command: countdown });
      await demo.untilRow(`${all} 0 ${all} 0`);
      assert.equal(await demo.columns(), "NAME DESIRED ACTIVE SUCCEEDED FAILED AGE");
    });
    await world.step("1 pods, status and events", async () => {
      const { status, metadata } = await demo.get();
      const pods = await demo.pods();
      assert.deepEqual(pods.map(nodeOf).sort(), workers);
      for (const pod of pods) {
        assert.match(nameOf(pod), /^bcj-demo-[a-z0-9]{5}$/);
        assert.equal(phaseOf(pod), "Succeeded");
        assert.equal(pod.metadata.labels?.["broadcastjob-controller-uid"], metadata.uid);
        assert.equal(conditionOf(pod, "KruisePodReady")?.status, "True");
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
      await world.once("events of each pod", async () => {
        const created = (await demo.events("SuccessfulCreate")).map(({ message }) => message);
        assert.deepEqual(created.sort(), pods.map((pod) => `Created pod: ${nameOf(pod)}`).sort());
      });
      const message = `Job ${world.namespace}/bcj-demo is completed, ${sums}`;
      await demo.untilEvent("JobComplete", { message, source: "broadcastjob-controller" });
    });
    await world.step("2 paused, then one at a time", async () => {
      const serial = new BroadcastJob(world, "serial");
      const command = ["sleep", String(world.seconds(5))];
      await serial.create({ parallelism: 1, paused: true }, { command });
      await serial.untilPhase("paused");
      await world.stays(async () => assert.deepEqual((await serial.pods()).map(nameOf), []), 10_000);
      const trail = await serial.trail("broadcastjob-name=serial");
      await serial.mergeSpec({ paused: false });
      await serial.untilRow(`${all} 0 ${all} 0`);
      await serial.untilEvent("Continue", { message: "continue to process job" });
      const working = new Set<string>();
      for (const { type, object } of await trail.stop()) {
        const ended = phaseOf(object) === "Succeeded" || type === "DELETED";
        if (ended) working.delete(object.metadata.uid);
        else working.add(object.metadata.uid);
        assert.ok(working.size <= 1, "one at a time");
      }
    });
    await world.step("4 restart policies that never end are refused", async () => {
      const always = new BroadcastJob(world, "always");
      for (const restartPolicy of ["Always", null] as const) {
        const words = "pod restartPolicy can only be Never or OnFailure";
        await world.refuses(500, () => always.create({}, { restartPolicy }), words);
      }
    });
    await world.step("4 presets and names are refused", async () => {
      const template = {
        metadata: { labels: { "broadcastjob-name": "x" } },
        spec: { restartPolicy: "Never", containers: [{ name: "work", image: "busybox:1.34" }] },
      };
      const preset = { ...broadcastJob(world.version, "preset", {}), spec: { template } };
      const words = '"broadcastjob-name" and "broadcastjob-controller-uid" are not allowed to preset';
      await world.refuses(500, () => world.apply(preset), words);
      const dotted = new BroadcastJob(world, "a.b");
      const rule = "BroadcastJob name must consist of alphanumeric characters or '-'";
      await world.refuses(500, () => dotted.create({}), rule);
    });
    await world.step("5 pods go with their job", async () => {
      await demo.remove();
      await demo.untilGone({ stableMs: 0 });
    });
  },
};
