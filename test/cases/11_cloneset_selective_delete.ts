import assert from "node:assert/strict";
import { CloneSet } from "./clone_sets.ts";
import { nameOf, uidOf } from "./items.ts";
import type { Suite } from "./suite.ts";

export const suite: Suite = {
  number: "11",
  title: "CloneSet: choosing which pods go",
  needs: [],
  async run(world) {
    const pick = new CloneSet(world, "pick");
    await world.step("1 apply", async () => {
      await pick.start({ replicas: 5 });
      await world.until("an event a pod", async () => {
        assert.equal((await pick.events("SuccessfulCreate")).length, 5);
      });
    });
    await world.step("2 named pods go", () => namedPods(pick));
    await world.step("3 a labelled pod is replaced", () => labelledPod(pick));
    await world.step("4 bad names are refused", () => badNames(pick));
    await world.step("5 deletion cost", () => deletionCost(pick));
    await world.step("6 scaledown", () => scaleDown(pick));
  },
};

async function namedPods(pick: CloneSet): Promise<void> {
  const before = await pick.livePods();
  const named = before.slice(0, 2).map(nameOf);
  await pick.mergeSpec({ replicas: 3, scaleStrategy: { podsToDelete: named } }, "v1alpha1");
  await pick.world.until("exactly the named pods are gone", async () => {
    assert.deepEqual((await pick.pods()).map(uidOf), before.slice(2).map(uidOf));
    await pick.assertAll(3);
    const listed = (await pick.get()).spec?.scaleStrategy?.["podsToDelete"] ?? [];
    assert.deepEqual(listed, []);
    const deleted = (await pick.events("SuccessfulDelete")).map(({ message }) => message);
    assert.deepEqual(
      deleted.sort(),
      named.map((name) => `succeed to delete pod ${name}`),
    );
    assert.equal((await pick.events("SuccessfulCreate")).length, 5);
  });
}

async function labelledPod(pick: CloneSet): Promise<void> {
  const { world } = pick;
  const [labelled = "", ...kept] = [...(await pick.uids()).keys()];
  const before = await pick.uids();
  await world.label(labelled, { "apps.kruise.io/specified-delete": "true" });
  await world.until("one other pod", async () => {
    const now = await pick.uids();
    assert.equal(now.size, 3);
    assert.ok(!now.has(labelled));
    for (const name of kept) assert.equal(now.get(name), before.get(name), name);
    await pick.assertAll(3);
  });
}

async function badNames(pick: CloneSet): Promise<void> {
  const send = (podsToDelete: string[]) => () =>
    pick.mergeSpec({ scaleStrategy: { podsToDelete } }, "v1alpha1");
  const [existing = ""] = (await pick.livePods()).map(nameOf);
  const unknown = 'find pod no-such-pod failed: Pod "no-such-pod" not found';
  await pick.world.refuses(422, send(["no-such-pod"]), unknown);
  await pick.world.refuses(422, send([existing, existing]), `duplicated items [${existing}]`);
}

async function deletionCost(pick: CloneSet): Promise<void> {
  const { world } = pick;
  await pick.scale(5);
  const cheap = (await pick.untilAll(5)).slice(1, 3).map(nameOf);
  for (const name of cheap)
    await world.annotate(name, { "controller.kubernetes.io/pod-deletion-cost": "-10" });
  await world.stays(async () => assert.equal((await pick.pods()).length, 5), 3_000);
  await pick.scale(3);
  await pick.untilAll(3);
  await untilGone(pick, cheap, 3);
}

async function untilGone(pick: CloneSet, victims: readonly string[], left: number): Promise<void> {
  await pick.world.until(`${victims} are gone`, async () => {
    const now = (await pick.pods()).map(nameOf);
    assert.equal(now.length, left);
    const stay = victims.filter((name) => now.includes(name));
    assert.deepEqual(stay, []);
  });
}

async function scaleDown(pick: CloneSet): Promise<void> {
  await pick.scale(5);
  const [x = "", , y = ""] = (await pick.untilAll(5)).map(nameOf);
  assert.deepEqual(await pick.world.refitLines("scaledown", "clone/pick", "--pods", `${x},${y}`), [
    `# pick delete pods [${x} ${y}] successfully`,
    "cloneset.apps.kruise.io/pick selective pod deletion",
  ]);
  await untilGone(pick, [x, y], 3);
  assert.equal((await pick.get()).spec?.replicas, 3);
}
