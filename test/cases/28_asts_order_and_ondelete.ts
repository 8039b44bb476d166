import assert from "node:assert/strict";
import { container } from "./manifests.ts";
import { isAvailable, orderOfNewPods, Sets, statefulSet } from "./stateful_sets.ts";
import type { Suite } from "./suite.ts";
import type { World } from "./world.ts";

const podSpec = { terminationGracePeriodSeconds: 1 };
const probe = (command: string) => ({
  readinessProbe: { exec: { command: [command] }, periodSeconds: 1, timeoutSeconds: 10 },
});
const commandPatch = (command: string) => [
  {
    op: "replace",
    path: "/spec/template/spec/containers/0/readinessProbe/exec/command",
    value: [command],
  },
];

export const suite: Suite = {
  number: "28",
  title: "Advanced StatefulSet: ordered policy, a stuck update, and OnDelete",
  needs: [],
  async run(world) {
    const sets = new Sets(world);
    await orderedPolicy(world, sets);
    await onDelete(world, sets);
  },
};

async function orderedPolicy(world: World, sets: Sets): Promise<void> {
  await world.step("1 up, and from the top", async () => {
    const first = await world.trail("pods", "case=line");
    await world.apply(
      statefulSet(world.version, {
        name: "line",
        replicas: 3,
        policy: null,
        podSpec,
        containers: [container("nginx", "nginx:1.20", probe("true"))],
      }),
    );
    await sets.untilRow("line 3 3 3 3");
    assert.deepEqual(orderOfNewPods(await first.stop()), ["line-0", "line-1", "line-2"]);
    const second = await world.trail("pods", "case=line");
    await sets.toImage("line", "nginx:1.21");
    await world.until("all at 1.21", async () => {
      assert.deepEqual(Object.values(await sets.images("line")), ["1.21", "1.21", "1.21"]);
      assert.equal(await sets.row("line"), "line 3 3 3 3");
    });
    const moments = await second.stop();
    assert.deepEqual(orderOfNewPods(moments), ["line-2", "line-1", "line-0"]);
    const latest = new Map<string, boolean>();
    for (const { object, type } of moments) {
      latest.set(object.metadata.name, type !== "DELETED" && isAvailable(object));
      const down = [...latest].filter(([, available]) => !available);
      assert.ok(down.length <= 1, `${down.map(([name]) => name).join(" and ")} at the same time`);
    }
  });
  await world.step("2 a bad version stops", async () => {
    const before = await sets.uids("line");
    await sets.patch("line", "json", commandPatch("false"));
    await sets.untilRow("line 3 3 1 2");
    await world.stays(async () => {
      assert.equal(await sets.row("line"), "line 3 3 1 2");
      const after = await sets.uids("line");
      for (const name of ["line-0", "line-1"]) assert.equal(after.get(name), before.get(name));
    }, 30_000);
  });
  await world.step("3 going back needs a hand", async () => {
    const before = await sets.uids("line");
    await sets.patch("line", "json", commandPatch("true"));
    await sets.untilRow("line 3 3 2 2");
    await world.stays(async () => assert.deepEqual(await sets.uids("line"), before), 30_000);
    const { status } = await sets.get("line");
    assert.equal(status?.currentRevision, status?.updateRevision);
    await world.remove("pods", "line-2");
    await sets.untilRow("line 3 3 3 3");
  });
  await world.step("4 down, one after the other", async () => {
    const trail = await world.trail("pods", "case=line");
    await sets.scale("line", 1);
    await sets.untilRow("line 1 1 1 1");
    const moments = await trail.stop();
    const ends = moments.filter(({ type }) => type === "DELETED").map(({ object }) => object.metadata.name);
    assert.deepEqual(ends, ["line-2", "line-1"]);
    const end = moments.findIndex(({ type }) => type === "DELETED");
    const next = moments.findIndex(
      ({ object }) => object.metadata.name === "line-1" && object.metadata.deletionTimestamp !== undefined,
    );
    assert.ok(end >= 0 && end < next, "line-1 was deleted before line-2 was gone");
    const message = await sets.refusedPatch("line", { spec: { podManagementPolicy: "Parallel" } });
    assert.match(message, /updates to statefulset spec for fields other than 'replicas'/);
  });
}

async function onDelete(world: World, sets: Sets): Promise<void> {
  await world.step("5 nothing by itself", async () => {
    const updateStrategy = { type: "OnDelete" };
    await world.apply(statefulSet(world.version, { name: "manual", replicas: 3, podSpec, updateStrategy }));
    await sets.untilRow("manual 3 3 3 3");
    const before = await sets.get("manual");
    const uids = await sets.uids("manual");
    await sets.toImage("manual", "nginx:1.21");
    await sets.untilRow("manual 3 3 0 3");
    assert.notEqual((await sets.get("manual")).status?.updateRevision, before.status?.updateRevision);
    await world.stays(async () => assert.deepEqual(await sets.uids("manual"), uids));
  });
  await world.step("6 what is deleted comes back new", async () => {
    await world.remove("pods", "manual-1");
    await sets.untilRow("manual 3 3 1 3");
    assert.deepEqual(Object.values(await sets.images("manual")), ["1.20", "1.21", "1.20"]);
    await sets.scale("manual", 4);
    await sets.untilRow("manual 4 4 2 4");
    assert.equal((await sets.images("manual"))["manual-3"], "1.21");
  });
}
