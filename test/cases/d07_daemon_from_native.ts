import assert from "node:assert/strict";
import { type DaemonSetShape, Daemons, daemonSet } from "./daemon_sets.ts";
import type { Suite } from "./suite.ts";

/** Spec daemonset 4.10 rule 46, history 2.3: taking over what a native set left restarts no pod. */
export const suite: Suite = {
  number: "d07",
  title: "Advanced DaemonSet: takes over the pods and the history of a native one",
  needs: [],
  async run(world) {
    const sets = new Daemons(world);
    const nodes = await sets.pair();
    if (nodes === undefined) return;
    const shape: DaemonSetShape = { name: "moved", nodes };
    const native = { ...daemonSet(world.version, shape), apiVersion: "apps/v1" };
    const nativeSets = "daemonsets.v1.apps";
    await world.step("1 a native set runs, and is deleted without its pods", async () => {
      await world.api.create(native, world.namespace);
      await world.until("the native set is ready", async () => {
        const { status } = await world.api.get(nativeSets, "moved", world.namespace);
        assert.equal(status?.["numberAvailable"], 2);
      });
      await world.remove(nativeSets, "moved", { propagationPolicy: "Orphan" });
      await world.until("its pods have no owner", async () => {
        assert.equal(await world.api.find(nativeSets, "moved", world.namespace), undefined);
        for (const pod of await world.list("pods")) assert.equal(pod.metadata.ownerReferences, undefined);
      });
    });
    const before = await world.list("pods");
    await world.step("2 the same manifest with another apiVersion adopts them", async () => {
      await world.apply(daemonSet(world.version, shape));
      await sets.untilRow("moved 2 2 2 2 2");
      const after = await sets.pods("moved");
      const uids = (pods: typeof before) => pods.map(({ metadata }) => metadata.uid).sort();
      assert.deepEqual(uids(after), uids(before));
      for (const pod of after) {
        assert.equal(pod.status?.containerStatuses?.[0]?.restartCount, 0);
        assert.equal(pod.metadata.ownerReferences?.[0]?.apiVersion, "apps.kruise.io/v1beta1");
      }
      const revisions = await world.list("controllerrevisions");
      assert.equal(revisions.length, 1, "the native set's revision is used on");
      assert.equal(revisions[0]?.metadata.ownerReferences?.[0]?.name, "moved");
      // The native set had the same kind and name: its events are distinguished by the UID.
      const { uid } = (await sets.get("moved")).metadata;
      const events = (await world.list("events")).filter((event) =>
        JSON.stringify(event["involvedObject"]).includes(uid),
      );
      assert.deepEqual(events, []);
    });
    await world.step("3 and rolls out from there", async () => {
      await sets.toImage("moved", "nginx:1.21");
      await world.until(
        "both at 1.21",
        async () => {
          assert.deepEqual(Object.values(await sets.tags("moved")), ["1.21", "1.21"]);
          assert.equal(await sets.row("moved"), "moved 2 2 2 2 2");
        },
        { timeoutMs: 120_000 },
      );
      const numbers = (await world.list("controllerrevisions")).map(({ revision }) => revision);
      assert.deepEqual(numbers.sort(), [1, 2]);
    });
    await world.step("4 back to the first template: its revision is used again", async () => {
      await sets.toImage("moved", "nginx:1.20");
      await sets.untilRow("moved 2 2 2 2 2");
      await world.until("both at 1.20", async () => {
        assert.deepEqual(Object.values(await sets.tags("moved")), ["1.20", "1.20"]);
      });
      const numbers = (await world.list("controllerrevisions")).map(({ revision }) => revision);
      assert.deepEqual(numbers.sort(), [2, 3]);
    });
  },
};
