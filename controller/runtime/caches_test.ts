import t from "tap";
import { launchPriorityController } from "../kinds/container_launch_priority/index.ts";
import { ownerKey } from "../plan/owners.ts";
import { acceptedPod, ownerReference } from "../rollout/pods/pod_manifest.ts";
import { ofAllOwners, sharedCaches } from "./caches.ts";

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
