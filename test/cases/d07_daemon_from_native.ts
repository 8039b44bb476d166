import assert from "node:assert/strict";
import { DaemonSet, daemonSet, onTwoNodes } from "./daemon_sets.ts";
import { onlyOf, ownerUidsOf, restartsOf, uidOf } from "./items.ts";
import type { Suite } from "./suite.ts";

const nativeSets = "daemonsets.v1.apps";

/** Spec daemonset 4.10 rule 46, history 2.3: taking over what a native set left restarts no pod. */
export const suite: Suite = {
  number: "d07",
  title: "Advanced DaemonSet: takes over the pods and the history of a native one",
  needs: [],
  run: onTwoNodes(async (world, nodes) => {
    const moved = new DaemonSet(world, "moved");
    const numbers = async () => (await world.revisions()).map(({ revision }) => revision).sort();
    await world.step("1 a native set runs, and is deleted without its pods", async () => {
      await world.apply({ ...daemonSet(world.version, { name: "moved", nodes }), apiVersion: "apps/v1" });
      await world.until("the native set is ready", async () => {
        assert.equal((await world.object(nativeSets, "moved")).status?.["numberAvailable"], 2);
      });
      await world.remove(nativeSets, "moved", { propagationPolicy: "Orphan" });
      await world.until("its pods have no owner", async () => {
        assert.equal(await world.find(nativeSets, "moved"), undefined);
        for (const pod of await world.list("pods")) assert.deepEqual(ownerUidsOf(pod), []);
      });
    });
    const before = await world.list("pods");
    await world.step("2 the same manifest with another apiVersion adopts them", async () => {
      await moved.start(nodes);
      const after = await moved.pods();
      assert.deepEqual(after.map(uidOf).sort(), before.map(uidOf).sort());
      for (const pod of after) {
        assert.equal(restartsOf(pod), 0);
        assert.equal(pod.metadata.ownerReferences?.[0]?.apiVersion, "apps.kruise.io/v1beta1");
      }
      const revision = onlyOf(await world.revisions());
      assert.equal(revision.metadata.ownerReferences?.[0]?.name, "moved", "the native set's one is used on");
      // The native set had the same kind and name: its events are distinguished by the UID.
      const uid = uidOf(await moved.get());
      const isAbout = (event: Record<string, unknown>) =>
        JSON.stringify(event["involvedObject"]).includes(uid);
      assert.deepEqual((await world.list("events")).filter(isAbout), []);
    });
    await world.step("3 and rolls out from there", async () => {
      await moved.toImage("nginx:1.21");
      await moved.untilAt("1.21", "2 2 2 2 2");
      assert.deepEqual(await numbers(), [1, 2]);
    });
    await world.step("4 back to the first template: its revision is used again", async () => {
      await moved.toImage("nginx:1.20");
      await moved.untilAt("1.20", "2 2 2 2 2");
      await moved.untilAll(2);
      assert.deepEqual(await numbers(), [2, 3]);
    });
  }),
};
