import assert from "node:assert/strict";
import { isGoing, nameOf } from "./items.ts";
import { container, replacePatch } from "./manifests.ts";
import { isAvailable, orderOfNewPods, StatefulSet } from "./stateful_sets.ts";
import type { Suite } from "./suite.ts";

const podSpec = { terminationGracePeriodSeconds: 1 };
const probe = { exec: { command: ["true"] }, periodSeconds: 1, timeoutSeconds: 10 };
const commandPatch = (command: string) =>
  replacePatch("/spec/template/spec/containers/0/readinessProbe/exec/command", [command]);

export const suite: Suite = {
  number: "28",
  title: "Advanced StatefulSet: ordered policy, a stuck update, and OnDelete",
  needs: [],
  async run(world) {
    await orderedPolicy(new StatefulSet(world, "line"));
    await onDelete(new StatefulSet(world, "manual"));
  },
};

async function orderedPolicy(line: StatefulSet): Promise<void> {
  const { world } = line;
  await world.step("1 up, and from the top", async () => {
    const first = await line.trail();
    const containers = [container("nginx", "nginx:1.20", { readinessProbe: probe })];
    await line.start({ replicas: 3, policy: null, podSpec, containers });
    assert.deepEqual(orderOfNewPods(await first.stop()), ["line-0", "line-1", "line-2"]);
    const second = await line.trail();
    await line.toImage("nginx:1.21");
    await line.untilAt("1.21", "3 3 3 3", { timeoutMs: 60_000 });
    const moments = await second.stop();
    assert.deepEqual(orderOfNewPods(moments), ["line-2", "line-1", "line-0"]);
    const latest = new Map<string, boolean>();
    for (const { object, type } of moments) {
      latest.set(nameOf(object), type !== "DELETED" && isAvailable(object));
      const down = [...latest].filter(([, available]) => !available).map(([name]) => name);
      assert.ok(down.length <= 1, `${down.join(" and ")} at the same time`);
    }
  });
  await world.step("2 a bad version stops", async () => {
    const before = await line.uids();
    await line.patch("json", commandPatch("false"));
    await line.untilRow("3 3 1 2");
    await world.stays(async () => {
      assert.equal(await line.row(), "3 3 1 2");
      const after = await line.uids();
      for (const name of ["line-0", "line-1"]) assert.equal(after.get(name), before.get(name));
    }, 30_000);
  });
  await world.step("3 going back needs a hand", async () => {
    const before = await line.uids();
    await line.patch("json", commandPatch("true"));
    await line.untilRow("3 3 2 2");
    await world.stays(async () => assert.deepEqual(await line.uids(), before), 30_000);
    const { currentRevision, updateRevision } = await line.status();
    assert.equal(currentRevision, updateRevision);
    await world.remove("pods", "line-2");
    await line.untilAll(3);
  });
  await world.step("4 down, one after the other", async () => {
    const trail = await line.trail();
    await line.scale(1);
    await line.untilAll(1);
    const moments = await trail.stop();
    const ends = moments.filter(({ type }) => type === "DELETED").map(({ object }) => nameOf(object));
    assert.deepEqual(ends, ["line-2", "line-1"]);
    const end = moments.findIndex(({ type }) => type === "DELETED");
    const next = moments.findIndex(({ object }) => nameOf(object) === "line-1" && isGoing(object));
    assert.ok(end >= 0 && end < next, "line-1 was deleted before line-2 was gone");
    await line.refusesSpec(
      { podManagementPolicy: "Parallel" },
      "updates to statefulset spec for fields other than 'replicas'",
    );
  });
}

async function onDelete(manual: StatefulSet): Promise<void> {
  const { world } = manual;
  await world.step("5 nothing by itself", async () => {
    await manual.start({ replicas: 3, podSpec, updateStrategy: { type: "OnDelete" } });
    const before = await manual.status();
    const uids = await manual.uids();
    await manual.toImage("nginx:1.21");
    await manual.untilRow("3 3 0 3");
    assert.notEqual((await manual.status()).updateRevision, before.updateRevision);
    await world.stays(async () => assert.deepEqual(await manual.uids(), uids));
  });
  await world.step("6 what is deleted comes back new", async () => {
    await world.remove("pods", "manual-1");
    await manual.untilRow("3 3 1 3");
    assert.deepEqual(Object.values(await manual.tags()), ["1.20", "1.21", "1.20"]);
    await manual.scale(4);
    await manual.untilRow("4 4 2 4");
    assert.equal((await manual.tags())["manual-3"], "1.21");
  });
}
