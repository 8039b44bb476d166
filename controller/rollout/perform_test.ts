import t from "tap";
import { type Client, jsonResource, KubeError, nullLog, type Pod, systemClock } from "../../kube/index.ts";
import { sharedCaches } from "../caches.ts";
import type { ObjectEvent } from "./actions.ts";
import { Performer } from "./perform.ts";
import { acceptedPod, ownerReference } from "./pod_manifest.ts";

const pullJobs = {
  group: "apps.kruise.io",
  version: "v1beta1",
  plural: "imagepulljobs",
  kind: "ImagePullJob",
  namespaced: true,
};
const owner = { key: "d/app", name: "app", namespace: "d", uid: "set-1" };
const metadata = {
  name: "app-1",
  namespace: "d",
  ownerReferences: [ownerReference("CloneSet", "app", "set-1")],
};
const spec = { containers: [{ name: "main", image: "a" }] };
const pod: Pod = { ...acceptedPod(metadata, spec, 0), uid: "1", resourceVersion: "1" };
const succeeded: ObjectEvent = { type: "Normal", reason: "SuccessfulDelete", message: "app-1" };

/** Deletes a pod on a server that answers so: what the cache holds afterwards, and what was told. */
async function deletion(answer: () => object) {
  const none = () => Promise.reject(new KubeError("MethodNotAllowed", "only deletions are served here"));
  const client: Client = {
    get: none,
    list: none,
    create: none,
    replace: none,
    patch: none,
    watch: none,
    request: none,
    close: async () => undefined,
    delete: async (resource) =>
      resource.codec.decode(new TextEncoder().encode(JSON.stringify(answer())), "application/json"),
  };
  const caches = sharedCaches();
  caches.pods.upsert(pod);
  const events: ObjectEvent[] = [];
  const performer = new Performer({
    client,
    ...caches,
    created: { imagepulljobs: jsonResource(pullJobs) },
    objectCreated: () => undefined,
    log: nullLog,
    record: (_owner, event) => events.push(event),
    patchWorkload: none,
    deleteWorkload: none,
    mayAdopt: async () => true,
    settled: () => undefined,
    unblocked: () => undefined,
    clock: systemClock,
    baseDelayMs: 1,
    maxDelayMs: 1,
    signal: new AbortController().signal,
  });
  performer.perform(owner, 1, [{ type: "delete pod", pod, claims: [], succeeded }]);
  await performer.drained();
  return { held: [...caches.pods.values()], events };
}

t.test(
  "a deleted pod is held while it terminates, and dropped when the answer shows it as it was",
  async (t) => {
    const shown = {
      apiVersion: "v1",
      kind: "Pod",
      metadata: { ...metadata, uid: "1", resourceVersion: "2" },
      spec,
    };
    const left = { ...shown, metadata: { ...shown.metadata, deletionTimestamp: "2026-01-01T00:00:00Z" } };
    t.match(await deletion(() => left), { held: [{ uid: "1", resourceVersion: "2" }], events: [succeeded] });
    t.same(await deletion(() => shown), { held: [], events: [succeeded] });
  },
);

t.test("a pod that was gone already is not told as deleted", async (t) => {
  const gone = () => {
    throw new KubeError("NotFound", "DELETE pods: not found", { status: 404 });
  };
  t.same(await deletion(gone), { held: [], events: [] });
});
