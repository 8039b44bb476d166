import assert from "node:assert/strict";
import type { Item } from "../cluster/api.ts";
import { Daemons, daemonSet } from "./daemon_sets.ts";
import { cronJob, isOver, Jobs, task } from "./jobs.ts";
import { cloneSet, container } from "./manifests.ts";
import { Sets, statefulSet } from "./stateful_sets.ts";
import type { Suite } from "./suite.ts";
import { isReady } from "./trail.ts";
import { unitedDeployment, workloads } from "./united_deployments.ts";
import type { World } from "./world.ts";

function tree(world: World): object {
  return cloneSet(world.version, {
    name: "tree-clone",
    replicas: 2,
    containers: [container("main", "nginx:1.20")],
  });
}

export const suite: Suite = {
  number: "18",
  title: "Owner trees and garbage collection of CloneSet and DaemonSet",
  needs: [],
  async run(world) {
    await world.step("1 apply", async () => {
      await world.apply(tree(world));
      await world.untilAll("tree-clone", 2);
    });
    await world.step("2 the tree", () => checkTree(world));
    await world.step("3 a deleted pod comes back under another name", async () => {
      const before = await world.livePodsOf("tree-clone");
      await world.remove("pods", before[0]?.metadata.name ?? "");
      await world.until("two pods, one of them new", async () => {
        const names = (await world.podsOf("tree-clone")).map((pod) => pod.metadata.name);
        assert.equal(names.length, 2);
        assert.ok(!names.includes(before[0]?.metadata.name ?? ""));
        assert.equal(await world.row("tree-clone"), "tree-clone 2 2 2 2 2 2");
      });
    });
    await world.step("4 orphans are never adopted, their revision is", () => orphan(world));
    await world.step("5 dependants go with their owner", () => collect(world));
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

async function statefulTree(world: World): Promise<void> {
  const sets = new Sets(world);
  const name = "tree-sts";
  const manifest = statefulSet(world.version, { name, replicas: 2 });
  const settled = () => sets.untilRow(`${name} 2 2 2 2`);
  const revisions = () => world.list("controllerrevisions");
  await world.step("StatefulSet: the tree, and a pod comes back under its name", async () => {
    await world.apply(manifest);
    await settled();
    const children = [...(await revisions()), ...(await sets.pods(name))];
    assert.equal(children.length, 3);
    assertOwned(children, "StatefulSet", await sets.get(name));
    const [first] = await sets.pods(name);
    await world.remove("pods", `${name}-0`);
    await world.until("a new one", async () => {
      const pod = await world.api.get("pods", `${name}-0`, world.namespace);
      assert.notEqual(uid(pod), first?.metadata.uid);
    });
    await settled();
  });
  await world.step("StatefulSet: orphans and their revision are adopted", async () => {
    const before = (await sets.pods(name)).map(pastOf);
    await world.remove(sets.resource, name, { propagationPolicy: "Orphan" });
    await world.until("orphaned", async () => {
      assert.equal(await world.api.find(sets.resource, name, world.namespace), undefined);
      for (const pod of await world.list("pods")) assert.deepEqual(pod.metadata.ownerReferences ?? [], []);
    });
    await world.apply(manifest);
    await settled();
    assert.deepEqual((await sets.pods(name)).map(pastOf), before);
    const children = [...(await revisions()), ...(await sets.pods(name))];
    assert.equal(children.length, 3);
    assertOwned(children, "StatefulSet", await sets.get(name));
  });
  await world.step("StatefulSet: dependants go with their owner", async () => {
    await world.remove(sets.resource, name);
    await world.until("nothing is left", async () =>
      assert.deepEqual([...(await world.list("pods")), ...(await revisions())], []),
    );
  });
}

async function unitedTree(world: World): Promise<void> {
  const resource = `uniteddeployments.${world.version}.apps.kruise.io`;
  const name = "tree-ud";
  await world.step("UnitedDeployment: revision, workload, its revision, its pod", async () => {
    await world.apply(
      unitedDeployment(world.version, { name, replicas: 1, subsets: [{ name: "subset-a" }] }),
    );
    let workload: Item | undefined;
    await world.until("a pod that is ready", async () => {
      [workload] = await world.list(workloads.statefulSetTemplate);
      const [pod] = await world.list("pods");
      assert.equal(pod?.metadata.name, `${workload?.metadata.name}-0`);
      assert.ok(isReady(pod));
    });
    assert.match(workload?.metadata.name ?? "", /^tree-ud-subset-a-[a-z0-9]{5}$/);
    const owner = await world.api.get(resource, name, world.namespace);
    const revisions = await world.list("controllerrevisions");
    const own = revisions.filter((one) => one.metadata.ownerReferences?.[0]?.kind === "UnitedDeployment");
    assert.equal(own.length, 1);
    assert.match(own[0]?.metadata.name ?? "", /^tree-ud-[a-z0-9]+$/);
    assertOwned([...own, ...(workload ? [workload] : [])], "UnitedDeployment", owner);
    const others = revisions.filter((one) => !own.includes(one)).map((one) => one.metadata.ownerReferences);
    assert.deepEqual(
      others.map((list) => list?.map((reference) => reference.uid)),
      [[workload?.metadata.uid]],
    );
  });
  await world.step("UnitedDeployment: dependants go with their owner", async () => {
    await world.remove(resource, name);
    await world.until("nothing is left", async () => {
      for (const kind of [workloads.statefulSetTemplate, "pods", "controllerrevisions"])
        assert.deepEqual(await world.list(kind), [], kind);
    });
  });
}

async function cronTree(world: World): Promise<void> {
  const jobs = new Jobs(world);
  const name = "tree-acj";
  await world.step("AdvancedCronJob: its job, a pod a node", async () => {
    const template = { broadcastJobTemplate: { spec: { template: task() } } };
    await world.apply(cronJob(world.version, name, { schedule: "0 0 1 1 *", template }));
    // A time that was missed: its job comes at once, and no other one while the suite looks.
    await jobs.lastScheduled(name, Date.now() - 366 * 86_400_000);
    let job: Item | undefined;
    await world.until("a job that is over", async () => {
      [job] = await jobs.children(name);
      assert.ok(job && isOver(job));
    });
    assert.match(job?.metadata.name ?? "", /^tree-acj-[0-9]+$/);
    assertOwned(job ? [job] : [], "AdvancedCronJob", await jobs.cron(name));
    const pods = await world.list("pods");
    assert.equal(pods.length, (await jobs.workers()).length);
    if (job) assertOwned(pods, "BroadcastJob", job);
    assert.ok(
      pods.every((pod) => !isReady(pod)),
      "they have ended",
    );
  });
  await world.step("AdvancedCronJob: dependants go with their owner", async () => {
    await world.remove(jobs.crons, name);
    await world.until("nothing is left", async () =>
      assert.deepEqual([...(await world.list(jobs.resource)), ...(await world.list("pods"))], []),
    );
  });
}

/** Every reference names the owner in the stored version, as its controller. */
function assertOwned(children: readonly Item[], kind: string, { metadata }: Item): void {
  const { name } = metadata;
  const owner = { apiVersion: "apps.kruise.io/v1beta1", kind, name, uid: metadata.uid };
  const reference = { ...owner, controller: true, blockOwnerDeletion: true };
  for (const child of children) assert.deepEqual(child.metadata.ownerReferences, [reference]);
}

/** Whether a pod was made anew or restarted shows here. */
function pastOf({ metadata, status }: Item): string {
  return `${metadata.name} ${metadata.uid} ${status?.containerStatuses?.[0]?.restartCount}`;
}

async function daemonTree(world: World): Promise<void> {
  const sets = new Daemons(world);
  const nodes = await sets.nodes();
  const name = "tree-ds";
  const manifest = daemonSet(world.version, { name, nodes });
  const settled = () => sets.untilRow(`${name}${` ${nodes.length}`.repeat(5)}`);
  const uids = async () => (await sets.pods(name)).map((pod) => pod.metadata.uid).sort();
  await world.step("DaemonSet: a pod comes back on its node", async () => {
    await world.apply(manifest);
    await settled();
    assert.equal((await world.list("controllerrevisions")).length, 1);
    const [first = ""] = nodes;
    const before = await sets.podOn(name, first);
    await world.remove("pods", before.metadata.name);
    await world.until("a new one", async () => {
      assert.notEqual((await sets.podOn(name, first)).metadata.name, before.metadata.name);
    });
    await settled();
  });
  await world.step("DaemonSet: orphans and their revision are adopted", async () => {
    const before = await uids();
    await world.remove(sets.resource, name, { propagationPolicy: "Orphan" });
    await world.until("orphaned", async () => {
      assert.equal(await world.api.find(sets.resource, name, world.namespace), undefined);
      for (const pod of await world.list("pods")) assert.equal(pod.metadata.ownerReferences, undefined);
    });
    await world.apply(manifest);
    await settled();
    assert.deepEqual(await uids(), before);
    const owners = (await world.list("controllerrevisions")).map((one) => one.metadata.ownerReferences);
    assert.deepEqual(
      owners.map((list) => list?.[0]?.kind),
      ["DaemonSet"],
    );
  });
  await world.step("DaemonSet: dependants go with their owner", async () => {
    await world.remove(sets.resource, name);
    await sets.untilGone(name);
    await world.until("no revision", async () =>
      assert.deepEqual(await world.list("controllerrevisions"), []),
    );
  });
}

async function checkTree(world: World): Promise<void> {
  const children = [...(await world.list("controllerrevisions")), ...(await world.list("pods"))];
  assert.equal(children.length, 3);
  assertOwned(children, "CloneSet", await world.get("tree-clone"));
  assert.equal((await world.list("replicasets")).length, 0);
}

const uid = (item: Item): string => item.metadata.uid;

async function orphan(world: World): Promise<void> {
  const orphans = (await world.livePodsOf("tree-clone")).map(uid);
  const [revision] = await world.list("controllerrevisions");
  await world.remove(world.cloneSets, "tree-clone", { propagationPolicy: "Orphan" });
  await world.until("orphaned", async () => {
    assert.equal(await world.api.find(world.cloneSets, "tree-clone", world.namespace), undefined);
    const pods = await world.list("pods");
    assert.deepEqual(pods.map(uid).sort(), [...orphans].sort());
    assert.ok(pods.every((pod) => (pod.metadata.ownerReferences ?? []).length === 0));
  });
  await world.apply(tree(world));
  const pods = await world.untilAll("tree-clone", 2);
  assert.ok(pods.every((pod) => !orphans.includes(uid(pod))));
  const owner = await world.get("tree-clone");
  await world.until("the revision is adopted", async () => {
    const revisions = await world.list("controllerrevisions");
    assert.deepEqual(revisions.map(uid), [revision === undefined ? "" : uid(revision)]);
    assert.deepEqual(
      revisions[0]?.metadata.ownerReferences?.map((reference) => [reference.uid, reference.controller]),
      [[owner.metadata.uid, true]],
    );
    const left = (await world.list("pods")).filter((pod) => orphans.includes(uid(pod)));
    assert.equal(left.length, 2);
    assert.ok(left.every((pod) => (pod.metadata.ownerReferences ?? []).length === 0));
  });
}

async function collect(world: World): Promise<void> {
  await world.remove(world.cloneSets, "tree-clone");
  await world.until("only the orphans stay", async () => {
    assert.equal((await world.list("controllerrevisions")).length, 0);
    const pods = await world.list("pods");
    assert.equal(pods.length, 2);
    assert.ok(pods.every((pod) => pod.status?.phase === "Running"));
  });
}
