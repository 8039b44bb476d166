import t from "tap";
import { sharedCaches } from "./caches.ts";
import { acceptedPod, ownerReference } from "./rollout/pod_manifest.ts";

const template = { containers: [{ name: "main", image: "app:1" }] };

t.test("only pods that may become ours are held", async (t) => {
  const { pods } = sharedCaches();
  const owned = (name: string, version: string, owners: ReturnType<typeof ownerReference>[]) => ({
    ...acceptedPod({ name, namespace: "d", ownerReferences: owners }, template, 0),
    resourceVersion: version,
    uid: `uid-${name}`,
  });
  const ours = ownerReference("CloneSet", "app", "set-1");
  const replicaSet = { ...ours, apiVersion: "apps/v1", kind: "ReplicaSet", uid: "rs-1" };
  pods.upsert(owned("a", "1", [ours]));
  pods.upsert(owned("b", "2", [replicaSet]));
  pods.upsert(owned("c", "3", []));
  t.same([...pods.values()].map((pod) => pod.name).sort(), ["a", "c"]);
  t.equal([...pods.byIndex("controller", "set-1")].length, 1);

  const told: string[] = [];
  pods.subscribe((change) => told.push(`${change.type} ${change.object.name}`));
  pods.upsert(owned("c", "4", [replicaSet]));
  pods.upsert(owned("c", "5", [ours]));
  t.same(told, ["removed c", "added c"], "an orphan that somebody else adopts leaves, and may come back");
});
