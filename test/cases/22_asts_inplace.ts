import assert from "node:assert/strict";
import type { Item } from "../cluster/api.ts";
import { conditionOf, identityOf, nameOf, restartsOf } from "./items.ts";
import { environmentPatch, replacePatch } from "./manifests.ts";
import { assertWaits, mostUnavailable, StatefulSet, webShape } from "./stateful_sets.ts";
import type { Suite } from "./suite.ts";

const gate = { readinessGates: [{ conditionType: "InPlaceUpdateReady" }] };
const firstRevision = "web-f556fffd7";
const secondRevision = "web-5b594bc4f8";

export const suite: Suite = {
  number: "22",
  title: "Advanced StatefulSet: image change in place",
  needs: [],
  pace: "real",
  async run(world) {
    const web = new StatefulSet(world, "web");
    await world.step("1 create", async () => {
      await web.start(webShape({ podUpdatePolicy: "InPlaceIfPossible", maxUnavailable: 3 }, gate));
      assert.equal((await web.status()).updateRevision, firstRevision);
      for (const pod of await web.pods()) assert.equal(metGates(pod), "2/2");
    });
    await updateInPlace(web);
    await world.step("4 a change of the environment recreates", async () => {
      const before = await web.uids();
      await web.patch("json", environmentPatch());
      await world.within(120_000, "all recreated", async () => {
        assert.equal(await web.row(), "5 5 5 5");
        for (const pod of await web.pods()) {
          assert.notEqual(pod.metadata.uid, before.get(nameOf(pod)));
          assert.equal(restartsOf(pod), 0);
        }
      });
    });
    await world.step("5 what is refused", async () => {
      await new StatefulSet(world, "no-gate").refusesShape(
        { replicas: 1, rollingUpdate: { podUpdatePolicy: "InPlaceIfPossible" } },
        "spec.template.spec.readinessGates",
        "must contains InPlaceUpdateReady when podUpdatePolicy is InPlaceIfPossible",
      );
      await web.roll({ podUpdatePolicy: "InPlaceOnly" });
      const change = replacePatch("/spec/template/spec/containers/0/env/0/value", "2");
      await world.refuses(
        422,
        () => web.patch("json", change),
        /invalid template modified with InPlaceOnly strategy: .*currently only image update is allowed for InPlaceOnly/,
      );
    });
  },
};

async function updateInPlace(web: StatefulSet): Promise<void> {
  const { world } = web;
  const before = (await web.pods()).map(identityOf);
  const revisionOf = (pod: Item) => pod.metadata.labels?.["controller-revision-hash"];
  await world.step("2 three at a time, from the top", async () => {
    const trail = await web.trail("app=nginx");
    await web.toImage("nginx:1.21");
    await world.within(120_000, "all at 1.21", async () => {
      assert.equal(await web.row(), "5 5 5 5");
      assert.equal((await web.status()).currentRevision, secondRevision);
    });
    const moments = await trail.stop();
    assert.ok(mostUnavailable(moments, 5) <= 3);
    const isNew = (pod: Item) => revisionOf(pod) === secondRevision;
    assertWaits(moments, ["web-4", "web-3", "web-2"], "web-1", isNew);
    assert.ok(moments.some(({ object }) => metGates(object) === "1/2"));
  });
  await world.step("3 the pods are the same", async () => {
    const pods = await web.pods();
    assert.deepEqual(pods.map(identityOf), before);
    for (const pod of pods) {
      assert.equal(restartsOf(pod), 1);
      assert.equal(revisionOf(pod), secondRevision);
      assert.equal(metGates(pod), "2/2");
    }
    await world.until("events in their order", async () => {
      for (const [reason, message] of [
        ["SuccessfulCreate", (name: string) => `create Pod ${name} in StatefulSet web successful`],
        [
          "SuccessfulUpdatePodInPlace",
          (name: string) => `successfully update pod ${name} in-place(revision ${secondRevision})`,
        ],
      ] as const) {
        const messages = (await web.events(reason)).map((event) => event.message).sort();
        assert.deepEqual(messages, pods.map(nameOf).map(message));
      }
    });
  });
}

function metGates(pod: Item): string {
  const gates = pod.spec?.readinessGates ?? [];
  const met = gates.filter(({ conditionType }) => conditionOf(pod, conditionType)?.status === "True");
  return `${met.length}/${gates.length}`;
}
