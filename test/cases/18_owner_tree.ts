import assert from "node:assert/strict";
import type { Item } from "../cluster/api.ts";
import { Daemons, daemonSet } from "./daemon_sets.ts";
import { cloneSet, container } from "./manifests.ts";
import type { Suite } from "./suite.ts";
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
    world.skip(
      "other kinds",
      "this suite draws the tree of CloneSet; not all of the other kinds are reconciled yet",
    );
  },
};

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
  const owner = await world.get("tree-clone");
  const children = [...(await world.list("controllerrevisions")), ...(await world.list("pods"))];
  assert.equal(children.length, 3);
  for (const child of children) {
    assert.deepEqual(child.metadata.ownerReferences, [
      {
        apiVersion: "apps.kruise.io/v1beta1",
        kind: "CloneSet",
        name: "tree-clone",
        uid: owner.metadata.uid,
        controller: true,
        blockOwnerDeletion: true,
      },
    ]);
  }
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
