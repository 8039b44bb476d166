import assert from "node:assert/strict";
import { Sets, statefulSet } from "./stateful_sets.ts";
import type { Suite } from "./suite.ts";
import { isReady } from "./trail.ts";
import type { World } from "./world.ts";

const podSpec = { terminationGracePeriodSeconds: 1 };

export const suite: Suite = {
  number: "s16",
  title: "Advanced StatefulSet: pods that fail, wait for a claim, are let go or named for deletion",
  needs: [],
  async run(world) {
    const sets = new Sets(world);
    await world.step("16 a failed pod is replaced", () => failed(world, sets));
    await world.step("16 a pod without a node gets its claim anew", () => lostClaim(world));
    await world.step("17 let go without its labels, taken back with them", () => released(world, sets));
    await world.step("20 named pods are replaced, each at its side of the partition", () =>
      named(world, sets),
    );
  },
};

async function failed(world: World, sets: Sets): Promise<void> {
  await world.apply(statefulSet(world.version, { name: "line", replicas: 2, policy: null, podSpec }));
  await sets.untilRow("line 2 2 2 2");
  const before = await sets.uids("line");
  await world.fail("line-1");
  await world.until("line-1 is a new pod", async () => {
    const after = await sets.uids("line");
    assert.notEqual(after.get("line-1") ?? before.get("line-1"), before.get("line-1"));
    assert.equal(after.get("line-0"), before.get("line-0"));
  });
  await sets.untilRow("line 2 2 2 2");
}

/** Nothing changes at the pod when its claim goes: that alone must bring a new one. */
async function lostClaim(world: World): Promise<void> {
  const claim = { accessModes: ["ReadWriteOnce"], resources: { requests: { storage: "1Gi" } } };
  await world.apply(
    statefulSet(world.version, {
      name: "never-placed",
      replicas: 1,
      podSpec: { ...podSpec, nodeSelector: { no: "such-node" } },
      more: { volumeClaimTemplates: [{ metadata: { name: "data-dir" }, spec: claim }] },
    }),
  );
  const find = () => world.api.find("persistentvolumeclaims", "data-dir-never-placed-0", world.namespace);
  await world.until("the pod waits for a node", async () => {
    const pod = await world.api.get("pods", "never-placed-0", world.namespace);
    assert.equal(pod.status?.conditions?.find(({ type }) => type === "PodScheduled")?.status, "False");
  });
  const lost = (await find())?.metadata.uid;
  assert.ok(lost);
  await world.remove("persistentvolumeclaims", "data-dir-never-placed-0");
  await world.until("another claim", async () => {
    const uid = (await find())?.metadata.uid;
    assert.ok(uid !== undefined && uid !== lost);
  });
}

async function released(world: World, sets: Sets): Promise<void> {
  const pod = await world.api.get("pods", "line-0", world.namespace);
  const patch = (metadata: object) =>
    world.api.patch("pods", "line-0", world.namespace, "merge", { metadata });
  const owner = async () => (await world.api.get("pods", "line-0", world.namespace)).metadata.ownerReferences;
  const isOwned = async () => {
    const [reference] = (await owner()) ?? [];
    assert.equal(reference?.name, "line");
    assert.equal(reference.controller, true);
  };
  await patch({ ownerReferences: null });
  await world.until("taken back", isOwned);
  await patch({ labels: null });
  await world.until("let go", async () => assert.equal(await owner(), undefined));
  await patch({ labels: pod.metadata.labels });
  await world.until("taken back again", isOwned);
  await sets.untilRow("line 2 2 2 2");
  assert.equal((await sets.uids("line")).get("line-0"), pod.metadata.uid, "the same pod all the time");
}

async function named(world: World, sets: Sets): Promise<void> {
  await world.apply(statefulSet(world.version, { name: "pick", replicas: 4, policy: null, podSpec }));
  await sets.untilRow("pick 4 4 4 4");
  const replace = async (name: string): Promise<void> => {
    const before = await sets.uids("pick");
    const labels = { "apps.kruise.io/specified-delete": "true" };
    await world.api.patch("pods", name, world.namespace, "merge", { metadata: { labels } });
    await world.until(`${name} is a new pod`, async () => {
      const pod = (await sets.pods("pick")).find(({ metadata }) => metadata.name === name);
      assert.ok(pod !== undefined && pod.metadata.uid !== before.get(name) && isReady(pod));
    });
  };
  await replace("pick-1");
  await sets.roll("pick", { partition: 2 });
  await sets.toImage("pick", "nginx:1.21");
  await replace("pick-2");
  await replace("pick-1");
  await world.until("two old ones below the partition", async () => {
    assert.deepEqual(Object.values(await sets.images("pick")), ["1.20", "1.20", "1.21", "1.21"]);
    assert.equal(await sets.row("pick"), "pick 4 4 2 4");
  });
}
