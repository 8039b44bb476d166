import assert from "node:assert/strict";
import type { Item } from "../cluster/api.ts";
import { CloneSet } from "./clone_sets.ts";
import { conditionOf, isGoing, nameOf, reportsReady, uidOf } from "./items.ts";
import type { Suite } from "./suite.ts";
import { isAvailable, type Trail } from "./trail.ts";

const gate = "case.example/ok";

export const suite: Suite = {
  number: "c08",
  title: "CloneSet: named pods within the budget, with surge",
  needs: [],
  async run(world) {
    const narrow = new CloneSet(world, "narrow");
    await world.step("budget two: a ready pod goes at once", async () => {
      const wide = new CloneSet(world, "wide");
      const victim = await oneUnavailable(wide, 2);
      await nameForDeletion(wide, victim);
      await opened(wide, victim);
    });
    await world.step("budget one: a surge pod comes first", async () => {
      const victim = await oneUnavailable(narrow, 1);
      const trail = await narrow.trail();
      await nameForDeletion(narrow, victim);
      await opened(narrow, victim);
      await surgeCameFirst(trail, victim);
    });
    await world.step("an unavailable pod goes at once", async () => {
      const victim = (await narrow.livePods()).find((pod) => !reportsReady(pod));
      if (victim === undefined) throw new Error("no pod is unavailable");
      await nameForDeletion(narrow, victim);
      await opened(narrow, victim, 3);
    });
  },
};

/** Three pods, the first of which becomes unavailable; returns another one. */
async function oneUnavailable(clone: CloneSet, maxUnavailable: number): Promise<Item> {
  await clone.create({
    replicas: 3,
    strategy: { policy: "ReCreate", maxUnavailable, maxSurge: 1 },
    podSpec: { readinessGates: [{ conditionType: gate }] },
  });
  await opened(clone, undefined, 3);
  const [first, second] = await clone.livePods();
  if (first === undefined || second === undefined) throw new Error("two pods were expected");
  await setGate(clone, first, "False");
  await clone.world.until("one is unavailable", async () => {
    assert.equal((await clone.status()).availableReplicas, 2);
  });
  return second;
}

/** Opens the gate of every pod that has none yet, until `gone` is gone, and three are there, so many of them available. */
async function opened(clone: CloneSet, gone: Item | undefined, available?: number): Promise<void> {
  const { world, name } = clone;
  await world.until(`${name} settles`, async () => {
    for (const pod of await clone.livePods()) {
      if (conditionOf(pod, gate) === undefined) await setGate(clone, pod, "True");
    }
    if (gone !== undefined) {
      const found = await world.find("pods", nameOf(gone));
      assert.ok(found === undefined || uidOf(found) !== uidOf(gone), "the named pod is still there");
    }
    assert.equal((await clone.livePods()).length, 3);
    if (available !== undefined) assert.equal((await clone.status()).availableReplicas, available);
  });
}

async function setGate({ world }: CloneSet, pod: Item, status: string): Promise<void> {
  const body = { status: { conditions: [{ type: gate, status }] } };
  await world.patch("pods", nameOf(pod), "strategic", body, "status");
}

async function nameForDeletion({ world }: CloneSet, pod: Item): Promise<void> {
  await world.label(nameOf(pod), { "apps.kruise.io/specified-delete": "true" });
}

async function surgeCameFirst(trail: Trail, named: Item): Promise<void> {
  const moments = await trail.stop();
  const old = new Set(moments.slice(0, 3).map(({ object }) => uidOf(object)));
  const available = moments.findIndex(
    ({ object, at }) => !old.has(uidOf(object)) && isAvailable(object, at, 0),
  );
  const going = moments.findIndex(
    ({ type, object }) => uidOf(object) === uidOf(named) && (type === "DELETED" || isGoing(object)),
  );
  assert.ok(available >= 0 && available < going, `surge at ${available}, deletion at ${going}`);
}
