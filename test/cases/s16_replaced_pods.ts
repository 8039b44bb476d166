import assert from "node:assert/strict";
import { conditionOf, nameOf, uidOf } from "./items.ts";
import { StatefulSet } from "./stateful_sets.ts";
import type { Suite } from "./suite.ts";
import { isReady } from "./trail.ts";
import type { World } from "./world.ts";

const podSpec = { terminationGracePeriodSeconds: 1 };

export const suite: Suite = {
  number: "s16",
  title: "Advanced StatefulSet: pods that fail, wait for a claim, are let go or named for deletion",
  needs: [],
  async run(world) {
    const line = new StatefulSet(world, "line");
    await world.step("16 a failed pod is replaced", () => failed(line));
    await world.step("16 a pod without a node gets its claim anew", () => lostClaim(world));
    await world.step("17 let go without its labels, taken back with them", () => released(line));
    await world.step("20 named pods are replaced, each at its side of the partition", () =>
      named(new StatefulSet(world, "pick")),
    );
  },
};

async function failed(line: StatefulSet): Promise<void> {
  await line.start({ replicas: 2, policy: null, podSpec });
  const before = await line.uids();
  await line.world.fail("line-1");
  await line.untilRenewed("line-1", before.get("line-1"));
  assert.equal((await line.uids()).get("line-0"), before.get("line-0"));
  await line.untilAll(2);
}

/** Nothing changes at the pod when its claim goes: that alone must bring a new one. */
async function lostClaim(world: World): Promise<void> {
  const claim = { accessModes: ["ReadWriteOnce"], resources: { requests: { storage: "1Gi" } } };
  await new StatefulSet(world, "never-placed").create({
    replicas: 1,
    podSpec: { ...podSpec, nodeSelector: { no: "such-node" } },
    more: { volumeClaimTemplates: [{ metadata: { name: "data-dir" }, spec: claim }] },
  });
  const find = () => world.find("persistentvolumeclaims", "data-dir-never-placed-0");
  await world.until("the pod waits for a node", async () => {
    const pod = await world.pod("never-placed-0");
    assert.equal(conditionOf(pod, "PodScheduled")?.status, "False");
  });
  const lost = (await find())?.metadata.uid;
  assert.ok(lost);
  await world.remove("persistentvolumeclaims", "data-dir-never-placed-0");
  await world.until("another claim", async () => {
    const uid = (await find())?.metadata.uid;
    assert.ok(uid !== undefined && uid !== lost);
  });
}

async function released(line: StatefulSet): Promise<void> {
  const { world } = line;
  const pod = await world.pod("line-0");
  const patch = (metadata: object) => world.patch("pods", "line-0", "merge", { metadata });
  const owners = async () => (await world.pod("line-0")).metadata.ownerReferences;
  const isOwned = async () => {
    const [reference] = (await owners()) ?? [];
    assert.equal(reference?.name, "line");
    assert.equal(reference.controller, true);
  };
  await patch({ ownerReferences: null });
  await world.until("taken back", isOwned);
  await patch({ labels: null });
  await world.until("let go", async () => assert.equal(await owners(), undefined));
  await patch({ labels: pod.metadata.labels });
  await world.until("taken back again", isOwned);
  await line.untilAll(2);
  assert.equal((await line.uids()).get("line-0"), uidOf(pod), "the same pod all the time");
}

async function named(pick: StatefulSet): Promise<void> {
  const { world } = pick;
  await pick.start({ replicas: 4, policy: null, podSpec });
  const replace = async (name: string): Promise<void> => {
    const before = await pick.uids();
    await world.label(name, { "apps.kruise.io/specified-delete": "true" });
    await world.until(`${name} is a new pod`, async () => {
      const pod = (await pick.pods()).find((one) => nameOf(one) === name);
      assert.ok(pod !== undefined && uidOf(pod) !== before.get(name) && isReady(pod));
    });
  };
  await replace("pick-1");
  await pick.roll({ partition: 2 });
  await pick.toImage("nginx:1.21");
  await replace("pick-2");
  await replace("pick-1");
  await world.until("two old ones below the partition", async () => {
    assert.deepEqual(Object.values(await pick.tags()), ["1.20", "1.20", "1.21", "1.21"]);
    assert.equal(await pick.row(), "4 4 2 4");
  });
}
