import t from "tap";
import type { CloneSet } from "../../crds/index.ts";
import { plainClaim, plainRevision } from "../../testkit/controller/projection_builder.ts";
import { cloneSetKind } from "../kinds/clone_set/index.ts";
import { sidecarSetKind } from "../kinds/sidecar_set/index.ts";
import { statefulSetKind } from "../kinds/stateful_set/index.ts";
import { cloneSetResource } from "../plan/resources.ts";
import { acceptedPod, ownerReference } from "../rollout/pods/pod_manifest.ts";
import { sharedCaches } from "./caches.ts";
import { enqueueItself, OwnerQueues } from "./owner_queues.ts";

function followed() {
  const caches = sharedCaches();
  const queues = new OwnerQueues("kruise-system");
  const enqueued: string[] = [];
  for (const kind of [cloneSetKind, statefulSetKind, sidecarSetKind])
    queues.add(kind, (key) => enqueued.push(`${kind.resource.kind} ${key}`));
  queues.follow(caches);
  return { caches, queues, enqueued, taken: () => enqueued.splice(0) };
}

const owner = ownerReference("CloneSet", "app", "set-1");
const other = ownerReference("CloneSet", "web", "set-2");

function pod(name: string, resourceVersion: string, ownerReferences: (typeof owner)[]) {
  const accepted = acceptedPod({ name, namespace: "d", ownerReferences }, { containers: [] }, 0);
  return { ...accepted, resourceVersion, uid: `uid-${name}` };
}

t.test("a pod enqueues its owner, and the owner that it had", async (t) => {
  const { caches, taken } = followed();
  caches.pods.upsert(pod("a", "1", [owner]));
  t.same(taken(), ["CloneSet d/app"]);
  caches.pods.upsert(pod("a", "2", [other]));
  t.same(taken(), ["CloneSet d/web", "CloneSet d/app"]);
  caches.pods.upsert(pod("web-3", "3", []));
  t.same(taken(), ["StatefulSet d/web"], "who may adopt it by its name");
  const labels = { "apps.kruise.io/cloneset-instance-id": "x2b4c" };
  caches.pods.upsert({ ...pod("app-x2b4c", "4", []), labels });
  t.same(taken(), ["CloneSet d/app"], "who waits for it to go, as it has been taken from it");
  caches.pods.remove("d/app-x2b4c", "uid-app-x2b4c");
  t.same(taken(), ["CloneSet d/app"]);
});

t.test("a revision that goes enqueues those of its name that may have shared it", async (t) => {
  const { caches, taken } = followed();
  caches.revisions.upsert(plainRevision("d", "app-1", { uid: "r", owners: [owner] }));
  t.same(taken(), ["CloneSet d/app"]);
  caches.revisions.remove("d/app-1", "r");
  t.same(taken(), ["CloneSet d/app", "CloneSet d/app", "StatefulSet d/app"]);
});

t.test("what names an owner without a namespace enqueues it from the system's namespace alone", async (t) => {
  const { caches, queues, taken } = followed();
  const set = ownerReference("SidecarSet", "proxy", "set-3");
  caches.pods.upsert(pod("a", "1", [set]));
  caches.claims.upsert(plainClaim("d", "data", { uid: "c", owners: [set] }));
  caches.revisions.upsert(plainRevision("d", "proxy-1", { uid: "r", owners: [set] }));
  caches.revisions.remove("d/proxy-1", "r");
  queues.dependantChanged({ metadata: { namespace: "d", name: "j", ownerReferences: [set] } });
  // The names of the others are in their own namespaces.
  t.same(
    taken().filter((each) => each.startsWith("SidecarSet")),
    [],
  );
  caches.revisions.upsert(plainRevision("kruise-system", "proxy-1", { uid: "s", owners: [set] }));
  t.same(taken(), ["SidecarSet proxy"]);
});

t.test(
  "a claim that goes enqueues the sets that may have made it, others only who is named on it",
  async (t) => {
    const { caches, taken } = followed();
    const claim = plainClaim("d", "data-web-0", { uid: "c" });
    caches.claims.upsert(claim);
    t.same(taken(), []);
    caches.claims.upsert({
      ...claim,
      resourceVersion: "2",
      annotations: { "apps.kruise.io/owned-by-asts": "web" },
    });
    t.same(taken(), ["StatefulSet d/web"]);
    caches.claims.upsert({ ...claim, resourceVersion: "3" });
    caches.claims.remove("d/data-web-0", "c");
    t.same(taken(), ["StatefulSet d/web"]);
  },
);

t.test("news of any other object enqueues who controls it", async (t) => {
  const { queues, taken } = followed();
  const alone = { ...other, controller: false };
  queues.dependantChanged({ metadata: { name: "j", namespace: "d", ownerReferences: [alone, owner] } });
  t.same(taken(), ["CloneSet d/app"]);
  queues.dependantChanged({ metadata: { name: "j", namespace: "d" } });
  t.same(taken(), []);
});

t.test("an object's own status enqueues it only where its plan reads it, or others wrote it", async (t) => {
  const queued: string[] = [];
  const forgotten: string[] = [];
  const queue = { add: (key: string, priority?: string) => queued.push(`${key} ${priority}`) };
  let isByOthers = false;
  const shell = { forget: (key: string) => forgotten.push(key), isStatusByOthers: () => isByOthers };
  const kind = {
    resource: cloneSetResource,
    changeMatters: (before: CloneSet, after: CloneSet) =>
      before.status?.currentRevision !== after.status?.currentRevision,
  };
  const counts = { availableReplicas: 0, readyReplicas: 0, updatedReadyReplicas: 0, updatedReplicas: 0 };
  const set = (generation: number, replicas: number, currentRevision: string): CloneSet => ({
    apiVersion: "apps.kruise.io/v1beta1",
    kind: "CloneSet",
    metadata: { name: "app", namespace: "d", generation },
    spec: { selector: {}, template: { spec: { containers: [] } } },
    status: { ...counts, replicas, currentRevision },
  });
  const change = (before: CloneSet, object: CloneSet) =>
    enqueueItself(kind, queue, shell, { type: "changed", before, object });
  change(set(1, 1, "a"), set(1, 2, "a"));
  t.same(queued, []);
  change(set(1, 1, "a"), set(1, 1, "b"));
  change(set(1, 1, "a"), set(2, 1, "a"));
  t.same(queued, ["d/app high", "d/app high"]);
  isByOthers = true;
  change(set(1, 1, "a"), set(1, 2, "a"));
  t.equal(queued.length, 3, "or where somebody else wrote it");
  enqueueItself(kind, queue, shell, { type: "removed", object: set(2, 1, "a") });
  t.same(forgotten, ["d/app"]);
});
