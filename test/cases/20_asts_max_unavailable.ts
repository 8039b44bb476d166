import assert from "node:assert/strict";
import { imageOf, isGoing, nameOf, restartsOf } from "./items.ts";
import { assertWaits, isOldGoing, mostUnavailable, StatefulSet, webShape } from "./stateful_sets.ts";
import type { Suite } from "./suite.ts";

const firstRevision = "web-7fdb9978c4";
const secondRevision = "web-7787d5b67";

export const suite: Suite = {
  number: "20",
  title: "Advanced StatefulSet: several pods at once",
  needs: [],
  pace: "real",
  async run(world) {
    const web = new StatefulSet(world, "web");
    await world.step("1 create", async () => {
      await web.start(webShape({ maxUnavailable: 3 }));
      assert.deepEqual(await web.ordinals(), [0, 1, 2, 3, 4]);
      assert.equal((await web.status()).updateRevision, firstRevision);
    });
    await world.step("2 three together", async () => {
      const before = await web.uids();
      const trail = await web.trail("app=nginx");
      await web.toImage("nginx:1.21");
      await web.untilAll(5);
      await world.until("the new revision is the current one", async () => {
        const { updateRevision, currentRevision } = await web.status();
        assert.deepEqual([updateRevision, currentRevision], [secondRevision, secondRevision]);
      });
      const moments = await trail.stop();
      assert.ok(mostUnavailable(moments, 5) <= 3, `${mostUnavailable(moments, 5)} were not available`);
      assertWaits(moments, ["web-4", "web-3", "web-2"], "web-1", isOldGoing(before));
      for (const pod of await web.pods()) {
        assert.notEqual(pod.metadata.uid, before.get(nameOf(pod)));
        assert.equal(imageOf(pod), "nginx:1.21");
        assert.equal(restartsOf(pod), 0);
      }
    });
    await world.step("3 events", async () => {
      await world.until("events of each pod", async () => {
        const events = await web.events();
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
      const trail = await web.trail("app=nginx");
      await web.roll({ maxUnavailable: null });
      await web.toImage("nginx:1.22");
      await web.untilAt("1.22", "5 5 5 5", { timeoutMs: 180_000 });
      const moments = await trail.stop();
      assert.equal(mostUnavailable(moments, 5), 1);
      const going = moments.map(({ object }) => object).filter(isGoing);
      assert.deepEqual([...new Set(going.map(nameOf))], ["web-4", "web-3", "web-2", "web-1", "web-0"]);
    });
    await world.step("5 what is refused", async () => {
      await new StatefulSet(world, "ordered").refusesShape(
        { replicas: 5, policy: null, rollingUpdate: { maxUnavailable: 3 } },
        "spec.updateStrategy.rollingUpdate.maxUnavailable",
        "can only work with Parallel PodManagementPolicyType",
      );
      const spec = (maxUnavailable: number | string) => ({
        updateStrategy: { rollingUpdate: { maxUnavailable } },
      });
      await web.refusesSpec(spec(0), "should not be less than 1");
      await web.refusesSpec(spec("5"), "percentage");
      await web.mergeSpec(spec("40%"));
    });
  },
};
