import assert from "node:assert/strict";
import type { Item } from "../cluster/api.ts";
import { cloneSet } from "./manifests.ts";
import type { Suite } from "./suite.ts";
import { conditionOf, isAvailable, type Trail } from "./trail.ts";
import type { World } from "./world.ts";

const gate = "case.example/ok";

export const suite: Suite = {
  number: "c08",
  title: "CloneSet: named pods within the budget, with surge",
  needs: [],
  async run(world) {
    await world.step("budget two: a ready pod goes at once", async () => {
      await create(world, "wide", 2);
      const [a, b] = await world.livePodsOf("wide");
      if (a === undefined || b === undefined) throw new Error("two pods were expected");
      await setGate(world, a, "False");
      await world.until("one is unavailable", async () => {
        assert.equal((await world.get("wide")).status?.availableReplicas, 2);
      });
      await nameForDeletion(world, b);
      await opened(world, "wide", b, async () => assert.equal((await world.livePodsOf("wide")).length, 3));
    });
    await world.step("budget one: a surge pod comes first", async () => {
      await create(world, "narrow", 1);
      const [a, b] = await world.livePodsOf("narrow");
      if (a === undefined || b === undefined) throw new Error("two pods were expected");
      await setGate(world, a, "False");
      await world.until("one is unavailable", async () => {
        assert.equal((await world.get("narrow")).status?.availableReplicas, 2);
      });
      const trail = await world.trail("pods", "case=narrow");
      await nameForDeletion(world, b);
      await opened(world, "narrow", b, async () =>
        assert.equal((await world.livePodsOf("narrow")).length, 3),
      );
      await surgeCameFirst(trail, b);
    });
    await world.step("an unavailable pod goes at once", async () => {
      const pods = await world.livePodsOf("narrow");
      const a = pods.find((pod) => conditionOf(pod, "Ready")?.status !== "True");
      if (a === undefined) throw new Error("no pod is unavailable");
      await nameForDeletion(world, a);
      await opened(world, "narrow", a, async () => {
        assert.equal((await world.livePodsOf("narrow")).length, 3);
        assert.equal((await world.get("narrow")).status?.availableReplicas, 3);
      });
    });
  },
};

async function create(world: World, name: string, maxUnavailable: number): Promise<void> {
  await world.apply(
    cloneSet(world.version, {
      name,
      replicas: 3,
      strategy: { policy: "ReCreate", maxUnavailable, maxSurge: 1 },
      podSpec: { readinessGates: [{ conditionType: gate }] },
    }),
  );
  await opened(world, name, undefined, async () => {
    assert.equal((await world.get(name)).status?.availableReplicas, 3);
  });
}

/** Opens the gate of every pod that has none yet, until `gone` is gone and the probe holds. */
async function opened(
  world: World,
  name: string,
  gone: Item | undefined,
  probe: () => Promise<void>,
): Promise<void> {
  await world.until(`${name} settles`, async () => {
    for (const pod of await world.livePodsOf(name)) {
      if (conditionOf(pod, gate) === undefined) await setGate(world, pod, "True");
    }
    if (gone !== undefined) {
      const found = await world.api.find("pods", gone.metadata.name, world.namespace);
      assert.equal(found?.metadata.uid === gone.metadata.uid, false, "the named pod is still there");
    }
    await probe();
  });
}

async function setGate(world: World, pod: Item, status: string): Promise<void> {
  const body = { status: { conditions: [{ type: gate, status }] } };
  await world.api.patch("pods", pod.metadata.name, world.namespace, "strategic", body, "status");
}

async function nameForDeletion(world: World, pod: Item): Promise<void> {
  const labels = { metadata: { labels: { "apps.kruise.io/specified-delete": "true" } } };
  await world.patch(pod.metadata.name, "merge", labels, "pods");
}

async function surgeCameFirst(trail: Trail, named: Item): Promise<void> {
  const moments = await trail.stop();
  const old = new Set(moments.slice(0, 3).map(({ object }) => object.metadata.uid));
  const available = moments.findIndex(
    ({ object, at }) => !old.has(object.metadata.uid) && isAvailable(object, at, 0),
  );
  const going = moments.findIndex(
    ({ type, object }) =>
      object.metadata.uid === named.metadata.uid &&
      (type === "DELETED" || object.metadata.deletionTimestamp !== undefined),
  );
  assert.ok(available >= 0 && available < going, `surge at ${available}, deletion at ${going}`);
}
