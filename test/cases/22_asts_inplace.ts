import assert from "node:assert/strict";
import type { Item } from "../cluster/api.ts";
import { mostUnavailable, Sets, statefulSet, waitedForOneOf, webSet } from "./stateful_sets.ts";
import type { Suite } from "./suite.ts";
import type { World } from "./world.ts";

const gate = { readinessGates: [{ conditionType: "InPlaceUpdateReady" }] };
const firstRevision = "web-f556fffd7";
const secondRevision = "web-5b594bc4f8";

export const suite: Suite = {
  number: "22",
  title: "Advanced StatefulSet: image change in place",
  needs: [],
  pace: "real",
  async run(world) {
    const sets = new Sets(world);
    await world.step("1 create", async () => {
      const rollingUpdate = { podUpdatePolicy: "InPlaceIfPossible", maxUnavailable: 3 };
      await world.apply(webSet(world.version, rollingUpdate, gate));
      await sets.untilRow("web 5 5 5 5");
      assert.equal((await sets.get("web")).status?.updateRevision, firstRevision);
      for (const pod of await sets.pods("web")) assert.equal(metGates(pod), "2/2");
    });
    await updateInPlace(world, sets);
    await world.step("4 a change of the environment recreates", async () => {
      const before = await sets.uids("web");
      const env = [
        { op: "add", path: "/spec/template/spec/containers/0/env", value: [{ name: "A", value: "1" }] },
      ];
      await sets.patch("web", "json", env);
      await world.until(
        "all recreated",
        async () => {
          assert.equal(await sets.row("web"), "web 5 5 5 5");
          for (const pod of await sets.pods("web")) {
            assert.notEqual(pod.metadata.uid, before.get(pod.metadata.name));
            assert.equal(pod.status?.containerStatuses?.[0]?.restartCount, 0);
          }
        },
        { timeoutMs: 120_000 },
      );
    });
    await world.step("5 what is refused", async () => {
      const noGate = statefulSet(world.version, {
        name: "no-gate",
        replicas: 1,
        rollingUpdate: { podUpdatePolicy: "InPlaceIfPossible" },
      });
      const message = await sets.refused(noGate);
      assert.ok(message.includes("spec.template.spec.readinessGates"), message);
      assert.ok(
        message.includes("must contains InPlaceUpdateReady when podUpdatePolicy is InPlaceIfPossible"),
        message,
      );
      await sets.roll("web", { podUpdatePolicy: "InPlaceOnly" });
      const path = "/spec/template/spec/containers/0/env/0/value";
      const change = await sets.refusedPatch("web", [{ op: "replace", path, value: "2" }], "json");
      assert.match(
        change,
        /invalid template modified with InPlaceOnly strategy: .*currently only image update is allowed for InPlaceOnly/,
      );
    });
  },
};

async function updateInPlace(world: World, sets: Sets): Promise<void> {
  const before = new Map((await sets.pods("web")).map((pod) => [pod.metadata.name, pod]));
  await world.step("2 three at a time, from the top", async () => {
    const trail = await world.trail("pods", "app=nginx");
    await sets.toImage("web", "nginx:1.21");
    await world.until(
      "all at 1.21",
      async () => {
        assert.equal(await sets.row("web"), "web 5 5 5 5");
        const { status } = await sets.get("web");
        assert.equal(status?.currentRevision, secondRevision);
      },
      { timeoutMs: 120_000 },
    );
    const moments = await trail.stop();
    assert.ok(mostUnavailable(moments, 5) <= 3);
    const top = ["web-4", "web-3", "web-2"];
    const isNew = (pod: Item) => pod.metadata.labels?.["controller-revision-hash"] === secondRevision;
    for (const name of top) assert.equal(waitedForOneOf(moments, name, top, isNew), false, name);
    assert.ok(waitedForOneOf(moments, "web-1", top, isNew), "web-1 did not wait");
    assert.ok(moments.some(({ object }) => metGates(object) === "1/2"));
  });
  await world.step("3 the pods are the same", async () => {
    for (const pod of await sets.pods("web")) {
      const old = before.get(pod.metadata.name);
      assert.equal(pod.metadata.uid, old?.metadata.uid);
      assert.equal(pod.spec?.nodeName, old?.spec?.nodeName);
      assert.equal(pod.status?.podIP, old?.status?.podIP);
      assert.equal(pod.status?.containerStatuses?.[0]?.restartCount, 1);
      assert.equal(pod.metadata.labels?.["controller-revision-hash"], secondRevision);
      assert.equal(metGates(pod), "2/2");
    }
    await world.until("events in their order", async () => {
      const events = await sets.events("web");
      const created = events.filter(({ reason }) => reason === "SuccessfulCreate");
      assert.deepEqual(
        created.map(({ message }) => message).sort(),
        [0, 1, 2, 3, 4].map((ordinal) => `create Pod web-${ordinal} in StatefulSet web successful`),
      );
      const updated = events.filter(({ reason }) => reason === "SuccessfulUpdatePodInPlace");
      assert.deepEqual(
        updated.map(({ message }) => message).sort(),
        [0, 1, 2, 3, 4].map(
          (ordinal) => `successfully update pod web-${ordinal} in-place(revision ${secondRevision})`,
        ),
      );
    });
  });
}

function metGates(pod: Item): string {
  const gates = pod.spec?.readinessGates ?? [];
  const met = gates.filter(({ conditionType }) =>
    pod.status?.conditions?.some(({ type, status }) => type === conditionType && status === "True"),
  );
  return `${met.length}/${gates.length}`;
}
