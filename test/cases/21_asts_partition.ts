import assert from "node:assert/strict";
import { assertWaits, isOldGoing, StatefulSet, webShape } from "./stateful_sets.ts";
import type { Suite } from "./suite.ts";

export const suite: Suite = {
  number: "21",
  title: "Advanced StatefulSet: canary with partition",
  needs: [],
  pace: "real",
  versions: ["v1beta1"],
  async run(world) {
    const web = new StatefulSet(world, "web");
    await world.step("1 create", () => web.start(webShape({ maxUnavailable: 3, partition: 4 })));
    await world.step("2 only web-4", async () => {
      const before = await web.uids();
      await web.toImage("nginx:1.21");
      await web.untilRow("5 5 1 5");
      await world.stays(async () => {
        assert.equal(await web.row(), "5 5 1 5");
        const changed = [...(await web.uids())].filter(([name, uid]) => before.get(name) !== uid);
        assert.equal(changed.map(([name]) => name).join(), "web-4");
      });
      const { currentRevision, updateRevision } = await web.status();
      assert.deepEqual([currentRevision, updateRevision], ["web-7fdb9978c4", "web-7787d5b67"]);
    });
    await world.step("3 deleted pods return as they were", async () => {
      for (const [name, tag] of [
        ["web-0", "1.20"],
        ["web-4", "1.21"],
      ] as const) {
        const before = (await web.uids()).get(name);
        await world.remove("pods", name);
        await world.until(`${name} is back`, async () => {
          assert.notEqual((await web.uids()).get(name) ?? before, before);
          assert.equal((await web.tags())[name], tag);
          assert.equal(await web.row(), "5 5 1 5");
        });
      }
    });
    await world.step("4 the rest", async () => {
      const before = await web.uids();
      const trail = await web.trail("app=nginx");
      await web.roll({ partition: 0 });
      await web.untilAll(5);
      const { currentRevision, updateRevision } = await web.status();
      assert.equal(currentRevision, updateRevision);
      assertWaits(await trail.stop(), ["web-3", "web-2", "web-1"], "web-0", isOldGoing(before));
    });
    await world.step("5 partition beyond the replicas", async () => {
      await web.roll({ partition: 7 });
      await web.toImage("nginx:1.22");
      await web.untilRow("5 5 0 5");
      await web.staysAt("5 5 0 5");
    });
    await world.step("6 a count, not an ordinal", async () => {
      const updateStrategy = { rollingUpdate: { partition: 2 } };
      await web.mergeSpec({ reserveOrdinals: [1], replicas: 3, updateStrategy });
      await web.untilRow("3 3 1 3");
      const tags = await web.tags();
      assert.deepEqual(Object.keys(tags), ["web-0", "web-2", "web-3"]);
      const updated = Object.keys(tags).filter((name) => tags[name] === "1.22");
      assert.deepEqual(updated, ["web-3"]);
    });
  },
};
