import t from "tap";
import { launchPriorityController } from "../kinds/container_launch_priority/index.ts";
import { controllers, kinds } from "../kinds.ts";
import { ownerKey } from "../plan/owners.ts";
import { acceptedPod, ownerReference } from "../rollout/pods/pod_manifest.ts";
import { holdingOf, ofAllOwners, sharedCaches } from "./caches.ts";
import { shardOf } from "./shard.ts";

const template = { containers: [{ name: "main", image: "app:1" }] };

t.test("only pods that may become ours are held", async (t) => {
  const { pods, owned } = sharedCaches();
  const pod = (name: string, version: string, owners: ReturnType<typeof ownerReference>[]) => ({
    ...acceptedPod({ name, namespace: "d", ownerReferences: owners }, template, 0),
    resourceVersion: version,
    uid: `uid-${name}`,
  });
  const ours = ownerReference("CloneSet", "app", "set-1");
  const replicaSet = { ...ours, apiVersion: "apps/v1", kind: "ReplicaSet", uid: "rs-1" };
  pods.upsert(pod("a", "1", [ours]));
  pods.upsert(pod("b", "2", [replicaSet]));
  pods.upsert(pod("c", "3", []));
  t.same([...pods.values()].map((pod) => pod.name).sort(), ["a", "c"]);
  t.same(
    Array.from(owned.pods.of(ownerKey("d", "set-1")), ({ name }) => name),
    ["a"],
  );
  t.same([...owned.pods.of(ownerKey("evil", "set-1"))], []);

  const reported: string[] = [];
  pods.subscribe((change) => reported.push(`${change.type} ${change.object.name}`));
  pods.upsert(pod("c", "4", [replicaSet]));
  pods.upsert(pod("c", "5", [ours]));
  t.same(reported, ["removed c", "added c"], "an orphan that somebody else adopts leaves, and may come back");
});

t.test("pods of other owners are held while their containers wait for each other", async (t) => {
  const { pods } = sharedCaches({ ...ofAllOwners, others: [launchPriorityController] });
  const owner = { ...ownerReference("CloneSet", "app", "rs-1"), apiVersion: "apps/v1", kind: "ReplicaSet" };
  const key = { name: "KRUISE_CONTAINER_BARRIER", configMapKey: { name: "b-barrier", key: "p_0" } };
  const waiting = {
    ...acceptedPod({ name: "b", namespace: "d", ownerReferences: [owner] }, template, 0),
    uid: "b",
  };
  const containers = waiting.containers.map((container) => ({ ...container, env: [key] }));
  pods.upsert({ ...waiting, containers, resourceVersion: "1" });
  t.equal(pods.size, 1);
  const elsewhere = sharedCaches();
  elsewhere.pods.upsert({ ...waiting, containers, resourceVersion: "1" });
  t.equal(elsewhere.pods.size, 0, "no controller there looks after it");
  const annotations = { "apps.kruise.io/container-launch-priority-completed": "true" };
  pods.upsert({ ...waiting, containers, annotations, resourceVersion: "2" });
  t.equal(pods.size, 0);
});

t.test("shard 0 alone holds pods of other owners, and dependants of kinds that are not spread", async (t) => {
  const holding = (index: number, count: number) => holdingOf({ index, count }, kinds, controllers);
  const uid = "3f0c9a52-7a5e-4d7e-9a0e-0d6a1c2b3d4e";
  for (const count of [1, 2]) {
    const { others } = holding(0, count);
    t.same(
      controllers.filter((one) => others.includes(one)).map(({ controllerName }) => controllerName),
      ["container-launch-priority-controller", "pod-readiness-controller"],
    );
    t.equal(others.length, 2);
  }
  t.same(holding(1, 2).others, []);
  t.same(
    [0, 1].map((index) => holding(index, 2).owner("SidecarSet", uid)),
    [true, false],
  );
  const spread = [0, 1].map((index) => holding(index, 2).owner("CloneSet", uid));
  t.equal(spread.filter((isOwner) => isOwner).length, 1, "one shard has each owner of a kind that is spread");
  t.equal(spread[shardOf(uid, 2)], true);
  t.ok(holding(0, 1).owner("CloneSet", uid));
});
