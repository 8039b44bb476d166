import assert from "node:assert/strict";
import type { Item } from "../cluster/api.ts";
import { CloneSet } from "./clone_sets.ts";
import { DaemonSet } from "./daemon_sets.ts";
import { resourceOf } from "./handle.ts";
import { firstOf, nameOf, onlyOf, ownerUidsOf, phaseOf, reportsReady, restartsOf, uidOf } from "./items.ts";
import { CronJob, isOver, task } from "./jobs.ts";
import { container } from "./manifests.ts";
import { StatefulSet } from "./stateful_sets.ts";
import type { Suite } from "./suite.ts";
import { isReady } from "./trail.ts";
import { United, workloads } from "./united_deployments.ts";
import type { Workload } from "./workload.ts";
import type { World } from "./world.ts";

const treeShape = { replicas: 2, containers: [container("main", "nginx:1.20")] };

export const suite: Suite = {
  number: "18",
  title: "Owner trees and garbage collection of CloneSet and DaemonSet",
  needs: [],
  async run(world) {
    const tree = new CloneSet(world, "tree-clone");
    await world.step("1 apply", async () => void (await tree.start(treeShape)));
    await world.step("2 the tree", async () => {
      await checkTree(tree);
      assert.equal((await world.list("replicasets")).length, 0);
    });
    await world.step("3 a deleted pod comes back under another name", async () => {
      const deleted = nameOf(firstOf(await tree.livePods()));
      await world.remove("pods", deleted);
      await world.until("two pods, one of them new", async () => {
        const names = (await tree.pods()).map(nameOf);
        assert.equal(names.length, 2);
        assert.ok(!names.includes(deleted));
        await tree.assertAll(2);
      });
    });
    await world.step("4 orphans are never adopted, their revision is", () => orphan(tree));
    await world.step("5 dependants go with their owner", async () => {
      await tree.remove();
      await world.until("only the orphans stay", async () => {
        assert.equal((await world.revisions()).length, 0);
        assert.deepEqual((await world.list("pods")).map(phaseOf), ["Running", "Running"]);
      });
    });
    await daemonTree(world);
  },
};

export const otherSuite: Suite = {
  number: "18",
  title: "Owner trees and garbage collection of StatefulSet, UnitedDeployment and AdvancedCronJob",
  needs: [],
  async run(world) {
    await statefulTree(world);
    await unitedTree(world);
    await cronTree(world);
  },
};

/** A revision and two pods, all of this owner. */
async function checkTree(tree: Workload): Promise<void> {
  const children = [...(await tree.world.revisions()), ...(await tree.world.list("pods"))];
  assert.equal(children.length, 3);
  assertOwned(children, await tree.get());
}

async function statefulTree(world: World): Promise<void> {
  const tree = new StatefulSet(world, "tree-sts");
  await world.step("StatefulSet: the tree, and a pod comes back under its name", async () => {
    await tree.start({ replicas: 2 });
    await checkTree(tree);
    const first = firstOf(await tree.pods());
    await world.remove("pods", nameOf(first));
    await tree.untilRenewed(nameOf(first), uidOf(first));
    await tree.untilAll(2);
  });
  await world.step("StatefulSet: orphans and their revision are adopted", async () => {
    const before = (await tree.pods()).map(pastOf);
    await orphanPods(tree);
    await tree.start({ replicas: 2 });
    assert.deepEqual((await tree.pods()).map(pastOf), before);
    await checkTree(tree);
  });
  await world.step("StatefulSet: dependants go with their owner", async () => {
    await tree.remove();
    await untilNothing(world, "pods", "controllerrevisions");
  });
}

async function unitedTree(world: World): Promise<void> {
  const tree = new United(world, "tree-ud");
  await world.step("UnitedDeployment: revision, workload, its revision, its pod", async () => {
    await tree.create({ replicas: 1, subsets: [{ name: "subset-a" }] });
    const theWorkload = async () => onlyOf(await world.list(workloads.statefulSetTemplate));
    await world.until("a pod that is ready", async () => {
      const pod = onlyOf(await world.list("pods"));
      assert.equal(nameOf(pod), `${nameOf(await theWorkload())}-0`);
      assert.ok(isReady(pod));
    });
    const workload = await theWorkload();
    assert.match(nameOf(workload), /^tree-ud-subset-a-[a-z0-9]{5}$/);
    const owner = await tree.get();
    const isOwn = (one: Item) => one.metadata.ownerReferences?.[0]?.kind === "UnitedDeployment";
    const revisions = await world.revisions();
    const own = onlyOf(revisions.filter(isOwn));
    assert.match(nameOf(own), /^tree-ud-[a-z0-9]+$/);
    assertOwned([own, workload], owner);
    const others = revisions.filter((one) => !isOwn(one));
    assert.deepEqual(others.map(ownerUidsOf), [[uidOf(workload)]]);
  });
  await world.step("UnitedDeployment: dependants go with their owner", async () => {
    await tree.remove();
    await untilNothing(world, workloads.statefulSetTemplate, "pods", "controllerrevisions");
  });
}

async function cronTree(world: World): Promise<void> {
  const tree = new CronJob(world, "tree-acj");
  await world.step("AdvancedCronJob: its job, a pod a node", async () => {
    const template = { broadcastJobTemplate: { spec: { template: task() } } };
    await tree.create({ schedule: "0 0 1 1 *", template });
    // A time that was missed: its job comes at once, and no other one while the suite looks.
    await tree.lastScheduled(Date.now() - 366 * 86_400_000);
    await world.until("a job that is over", async () => assert.ok(isOver(firstOf(await tree.children()))));
    const job = firstOf(await tree.children());
    assert.match(nameOf(job), /^tree-acj-[0-9]+$/);
    assertOwned([job], await tree.get());
    const pods = await world.list("pods");
    assert.equal(pods.length, (await world.workers()).length);
    assertOwned(pods, job);
    assert.deepEqual(pods.filter(reportsReady).map(nameOf), [], "they have ended");
  });
  await world.step("AdvancedCronJob: dependants go with their owner", async () => {
    await tree.remove();
    await untilNothing(world, resourceOf("BroadcastJob", world.version), "pods");
  });
}

/** Every reference names the owner in the stored version, as its controller. */
function assertOwned(children: readonly Item[], { kind, metadata: { name, uid } }: Item): void {
  const owner = { apiVersion: "apps.kruise.io/v1beta1", kind, name, uid };
  const reference = { ...owner, controller: true, blockOwnerDeletion: true };
  for (const child of children) assert.deepEqual(child.metadata.ownerReferences, [reference]);
}

/** Whether a pod was recreated or restarted shows here. */
function pastOf(pod: Item): string {
  return `${nameOf(pod)} ${uidOf(pod)} ${restartsOf(pod)}`;
}

/** Deletes the owner without its pods. */
async function orphanPods(tree: Workload): Promise<void> {
  await tree.remove({ propagationPolicy: "Orphan" });
  await tree.world.until("orphaned", async () => {
    assert.equal(await tree.find(), undefined);
    for (const pod of await tree.world.list("pods")) assert.deepEqual(ownerUidsOf(pod), []);
  });
}

async function untilNothing(world: World, ...resources: readonly string[]): Promise<void> {
  await world.until("nothing is left", async () => {
    for (const resource of resources)
      assert.deepEqual((await world.list(resource)).map(nameOf), [], resource);
  });
}

async function daemonTree(world: World): Promise<void> {
  const nodes = await world.workers();
  const tree = new DaemonSet(world, "tree-ds");
  const uids = async () => (await tree.pods()).map(uidOf).sort();
  await world.step("DaemonSet: a pod comes back on its node", async () => {
    await tree.start(nodes);
    assert.equal((await world.revisions()).length, 1);
    await tree.untilRenewed(await tree.removePodOn(nodes[0] ?? ""));
    await tree.untilAll(nodes.length);
  });
  await world.step("DaemonSet: orphans and their revision are adopted", async () => {
    const before = await uids();
    await orphanPods(tree);
    await tree.start(nodes);
    assert.deepEqual(await uids(), before);
    const [owner] = onlyOf(await world.revisions()).metadata.ownerReferences ?? [];
    assert.equal(owner?.kind, "DaemonSet");
  });
  await world.step("DaemonSet: dependants go with their owner", async () => {
    await tree.remove();
    await tree.untilGone();
    await untilNothing(world, "controllerrevisions");
  });
}

async function orphan(tree: CloneSet): Promise<void> {
  const { world } = tree;
  const orphans = (await tree.livePods()).map(uidOf);
  const revision = onlyOf(await world.revisions());
  await orphanPods(tree);
  assert.deepEqual((await world.list("pods")).map(uidOf).sort(), orphans.toSorted());
  const pods = await tree.start(treeShape);
  assert.ok(pods.every((pod) => !orphans.includes(uidOf(pod))));
  const owner = await tree.get();
  await world.until("the revision is adopted", async () => {
    const adopted = onlyOf(await world.revisions());
    assert.equal(uidOf(adopted), uidOf(revision));
    assert.deepEqual(ownerUidsOf(adopted), [uidOf(owner)]);
    assert.equal(adopted.metadata.ownerReferences?.[0]?.controller, true);
    const left = (await world.list("pods")).filter((pod) => orphans.includes(uidOf(pod)));
    assert.deepEqual(left.map(ownerUidsOf), [[], []]);
  });
}
