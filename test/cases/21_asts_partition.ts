import assert from "node:assert/strict";
import { Sets, waitedForOneOf, webSet } from "./stateful_sets.ts";
import type { Suite } from "./suite.ts";

export const suite: Suite = {
  number: "21",
  title: "Advanced StatefulSet: canary with partition",
  needs: [],
  pace: "real",
  versions: ["v1beta1"],
  async run(world) {
    const sets = new Sets(world);
    await world.step("1 create", async () => {
      await world.apply(webSet(world.version, { maxUnavailable: 3, partition: 4 }));
      await sets.untilRow("web 5 5 5 5");
    });
    await world.step("2 only web-4", async () => {
      const before = await sets.uids("web");
      await sets.toImage("web", "nginx:1.21");
      await sets.untilRow("web 5 5 1 5");
      await world.stays(async () => {
        assert.equal(await sets.row("web"), "web 5 5 1 5");
        const changed = [...(await sets.uids("web"))].filter(([name, uid]) => before.get(name) !== uid);
        assert.deepEqual(
          changed.map(([name]) => name),
          ["web-4"],
        );
      });
      const { status } = await sets.get("web");
      assert.equal(status?.currentRevision, "web-7fdb9978c4");
      assert.equal(status?.updateRevision, "web-7787d5b67");
    });
    await world.step("3 deleted pods return as they were", async () => {
      for (const [name, tag] of [
        ["web-0", "1.20"],
        ["web-4", "1.21"],
      ] as const) {
        const before = (await sets.uids("web")).get(name);
        await world.remove("pods", name);
        await world.until(`${name} is back`, async () => {
          assert.notEqual((await sets.uids("web")).get(name) ?? before, before);
          assert.equal((await sets.images("web"))[name], tag);
          assert.equal(await sets.row("web"), "web 5 5 1 5");
        });
      }
    });
    await world.step("4 the rest", async () => {
      const before = await sets.uids("web");
      const trail = await world.trail("pods", "app=nginx");
      await sets.roll("web", { partition: 0 });
      await sets.untilRow("web 5 5 5 5");
      const { status } = await sets.get("web");
      assert.equal(status?.currentRevision, status?.updateRevision);
      const moments = await trail.stop();
      const next = ["web-3", "web-2", "web-1"];
      const isOldGoing = (pod: { metadata: { uid: string; name: string; deletionTimestamp?: string } }) =>
        pod.metadata.uid === before.get(pod.metadata.name) && pod.metadata.deletionTimestamp !== undefined;
      for (const name of next) assert.equal(waitedForOneOf(moments, name, next, isOldGoing), false, name);
      assert.ok(waitedForOneOf(moments, "web-0", next, isOldGoing), "web-0 did not wait");
    });
    await world.step("5 partition beyond the replicas", async () => {
      await sets.roll("web", { partition: 7 });
      await sets.toImage("web", "nginx:1.22");
      await sets.untilRow("web 5 5 0 5");
      await world.stays(async () => assert.equal(await sets.row("web"), "web 5 5 0 5"));
    });
    await world.step("6 a count, not an ordinal", async () => {
      const rollingUpdate = { partition: 2 };
      const spec = { reserveOrdinals: [1], replicas: 3, updateStrategy: { rollingUpdate } };
      await sets.patch("web", "merge", { spec });
      await sets.untilRow("web 3 3 1 3");
      const images = await sets.images("web");
      assert.deepEqual(Object.keys(images), ["web-0", "web-2", "web-3"]);
      assert.deepEqual(
        Object.keys(images).filter((name) => images[name] === "1.22"),
        ["web-3"],
      );
    });
  },
};
