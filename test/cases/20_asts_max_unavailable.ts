import assert from "node:assert/strict";
import { mostUnavailable, Sets, statefulSet, waitedForOneOf, webSet } from "./stateful_sets.ts";
import type { Suite } from "./suite.ts";

const firstRevision = "web-7fdb9978c4";
const secondRevision = "web-7787d5b67";

export const suite: Suite = {
  number: "20",
  title: "Advanced StatefulSet: several pods at once",
  needs: [],
  pace: "real",
  async run(world) {
    const sets = new Sets(world);
    await world.step("1 create", async () => {
      await world.apply(webSet(world.version, { maxUnavailable: 3 }));
      await sets.untilRow("web 5 5 5 5");
      assert.deepEqual(await sets.ordinals("web"), [0, 1, 2, 3, 4]);
      assert.equal((await sets.get("web")).status?.updateRevision, firstRevision);
    });
    await world.step("2 three together", async () => {
      const before = await sets.uids("web");
      const trail = await world.trail("pods", "app=nginx");
      await sets.toImage("web", "nginx:1.21");
      await sets.untilRow("web 5 5 5 5");
      await world.until("the new revision is the current one", async () => {
        const { status } = await sets.get("web");
        assert.equal(status?.updateRevision, secondRevision);
        assert.equal(status?.currentRevision, secondRevision);
      });
      const moments = await trail.stop();
      assert.ok(mostUnavailable(moments, 5) <= 3, `${mostUnavailable(moments, 5)} were not available`);
      const isOldGoing = (pod: { metadata: { uid: string; name: string; deletionTimestamp?: string } }) =>
        pod.metadata.uid === before.get(pod.metadata.name) && pod.metadata.deletionTimestamp !== undefined;
      const top = ["web-4", "web-3", "web-2"];
      for (const name of top) assert.equal(waitedForOneOf(moments, name, top, isOldGoing), false, name);
      assert.ok(waitedForOneOf(moments, "web-1", top, isOldGoing), "web-1 did not wait");
      for (const pod of await sets.pods("web")) {
        assert.notEqual(pod.metadata.uid, before.get(pod.metadata.name));
        assert.equal(pod.spec?.containers?.[0]?.image, "nginx:1.21");
        assert.equal(pod.status?.containerStatuses?.[0]?.restartCount, 0);
      }
    });
    await world.step("3 events", async () => {
      await world.until("events of each pod", async () => {
        const events = await sets.events("web");
        for (const ordinal of [0, 1, 2, 3, 4]) {
          for (const verb of ["create", "delete"]) {
            const message = `${verb} Pod web-${ordinal} in StatefulSet web successful`;
            const event = events.find((one) => one.message === message);
            assert.equal(event?.source, "statefulset-controller", message);
            assert.equal(event?.reason, verb === "create" ? "SuccessfulCreate" : "SuccessfulDelete");
          }
        }
      });
    });
    await world.step("4 one at a time by default", async () => {
      const trail = await world.trail("pods", "app=nginx");
      await sets.roll("web", { maxUnavailable: null });
      await sets.toImage("web", "nginx:1.22");
      await world.until(
        "all at 1.22",
        async () => {
          assert.equal(await sets.row("web"), "web 5 5 5 5");
          assert.deepEqual([...new Set(Object.values(await sets.images("web")))], ["1.22"]);
        },
        { timeoutMs: 180_000 },
      );
      const moments = await trail.stop();
      assert.equal(mostUnavailable(moments, 5), 1);
      const going = moments.filter(({ object }) => object.metadata.deletionTimestamp !== undefined);
      assert.deepEqual(
        [...new Set(going.map(({ object }) => object.metadata.name))],
        ["web-4", "web-3", "web-2", "web-1", "web-0"],
      );
    });
    await world.step("5 what is refused", async () => {
      const path = "spec.updateStrategy.rollingUpdate.maxUnavailable";
      const ordered = statefulSet(world.version, {
        name: "ordered",
        replicas: 5,
        policy: null,
        rollingUpdate: { maxUnavailable: 3 },
      });
      const message = await sets.refused(ordered);
      assert.ok(
        message.includes(path) && message.includes("can only work with Parallel PodManagementPolicyType"),
      );
      const patch = (maxUnavailable: number | string) => ({
        spec: { updateStrategy: { rollingUpdate: { maxUnavailable } } },
      });
      assert.match(await sets.refusedPatch("web", patch(0)), /should not be less than 1/);
      assert.match(await sets.refusedPatch("web", patch("5")), /percentage/);
      await sets.patch("web", "merge", patch("40%"));
    });
  },
};
