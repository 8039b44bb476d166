/** What the terminator writes, and what it does when pods and nodes go or somebody else is first. */
import t, { type Test } from "tap";
import type { ContainerRecreateRequest } from "../../../crds/index.ts";
import type { JsonObject } from "../../../kube/core/index.ts";
import { Cache, type Client, KubeError, nodeResource, type Resource } from "../../../kube/index.ts";
import { sharedDeps } from "../../../testkit/controller/kind_deps_builder.ts";
import { testClock } from "../../../testkit/kube/fake_clock.ts";
import { fakeServer, type SentPatch } from "../../../testkit/kube/fake_server.ts";
import { pod } from "../../../testkit/kube/pod_manifest_builder.ts";
import { containerRecreateRequestResource } from "../../plan/resources.ts";
import { CachesByScope } from "../../runtime/informers.ts";
import { plainShellOf } from "../../runtime/shell.ts";
import { SidecarTerminatorReconciler } from "./reconcile.ts";

const key = "ns/job";
const requestName = "sidecar-termination-uid-job";
const end = { name: "KRUISE_TERMINATE_SIDECAR_WHEN_JOB_EXIT", value: "true" };
const ignore = { name: "KRUISE_TERMINATE_SIDECAR_IGNORE_EXIT_CODE", value: "true" };
const image = { name: "KRUISE_TERMINATE_SIDECAR_WHEN_JOB_EXIT_WITH_IMAGE", value: "exits:1" };

const jobPod = (env: readonly object[], status: JsonObject = {}) =>
  pod(
    "job",
    {},
    {
      spec: {
        nodeName: "n1",
        restartPolicy: "Never",
        containers: [
          { name: "main", image: "i" },
          { name: "side", image: "i", env },
        ],
      },
      status: {
        phase: "Running",
        containerStatuses: [
          { name: "main", state: { terminated: { exitCode: 0 } } },
          { name: "side", state: { running: {} } },
        ],
        ...status,
      },
    },
  );

/** What the kubelet says once it knows that the pod is over, and stops what still runs. */
const resultTaken = jobPod([end, ignore], {
  phase: "Succeeded",
  conditions: [
    { type: "SidecarTerminated", status: "True", lastTransitionTime: "2026-01-01T00:00:00Z" },
    { type: "ContainersReady", status: "False", reason: "PodCompleted" },
  ],
});

interface Faults {
  patch?: (patch: SentPatch) => KubeError | undefined;
  create?: () => KubeError | undefined;
}

function scene(t: Test, { patch, create = () => undefined }: Faults = {}) {
  const server = fakeServer(patch ? { refuse: patch } : {});
  const clock = testClock();
  const requests: JsonObject[] = [];
  const client: Client = {
    ...server.client,
    async create(resource, _, body) {
      const error = create();
      if (error !== undefined) throw error;
      const object: JsonObject = { ...Object(body) };
      requests.push(object);
      const made = { ...object, metadata: { ...Object(object["metadata"]), uid: "r", resourceVersion: "1" } };
      return resource.codec.decode(Buffer.from(JSON.stringify(made)), "application/json");
    },
  };
  const shared = sharedDeps(client, clock);
  const cache = new Cache<ContainerRecreateRequest>(containerRecreateRequestResource.codec);
  const caches = new CachesByScope();
  caches.set(containerRecreateRequestResource, {}, cache);
  const cacheOf = <T>(of: Resource<T>) => caches.get(of, {}) ?? shared.informers.cacheOf(of);
  const deps = { ...shared, informers: { cacheOf } };
  const { events, queue } = deps;
  const { nodes } = deps.caches;
  const shell = plainShellOf(deps, new SidecarTerminatorReconciler(deps));
  t.teardown(() => deps.stop());
  const putNode = (labels: object = {}) => {
    const node = { metadata: { name: "n1", uid: "n1", resourceVersion: "1", labels } };
    nodes.upsert(nodeResource.codec.decode(Buffer.from(JSON.stringify(node)), "application/json"));
  };
  /** Somebody deletes the request. */
  const lose = () => cache.remove(`ns/${requestName}`, "r");
  return { server, clock, shell, queue, events, requests, lose, putNode };
}

t.test("sidecars are ended by one request, which the pod owns, and that is reported once", async (t) => {
  const { server, clock, shell, events, requests, putNode } = scene(t);
  putNode();
  server.put("pods", jobPod([end]));
  await clock.settle();
  await shell.reconcile(key);
  await shell.reconcile(key);
  t.match(requests, [
    {
      metadata: {
        name: requestName,
        ownerReferences: [{ uid: "uid-job", controller: true }],
      },
      spec: { podName: "job", containers: [{ name: "side" }] },
    },
  ]);
  t.equal(requests.length, 1);
  t.equal(server.patches.length, 0, "the kubelet says how the pod ended");
  t.same(events, [
    "Normal SidecarTerminator Kruise SidecarTerminator is trying to terminate sidecar [side] using crr",
  ]);
});

t.test("a sidecar whose code is ignored ends once the kubelet has taken up the pod's result", async (t) => {
  const { server, clock, shell, requests, putNode } = scene(t);
  putNode();
  server.put("pods", jobPod([end, ignore]));
  await clock.settle();
  await shell.reconcile(key);
  t.match(server.patches, [
    {
      name: "job",
      subresource: "status",
      patch: {
        body: {
          metadata: { uid: "uid-job", annotations: { "refit.dev/result-told-at": /Z$/ } },
          status: { phase: "Succeeded" },
        },
      },
    },
  ]);
  await clock.settle();
  const { requeueAfterMs } = Object(await shell.reconcile(key));
  t.ok(requeueAfterMs > 9_000 && requeueAfterMs <= 10_000, "it is looked at again in any case");
  t.same(requests, []);
  server.put("pods", resultTaken);
  await clock.settle();
  await shell.reconcile(key);
  t.equal(requests.length, 1);
  t.equal(server.patches.length, 1);
});

t.test("on a virtual node the image is replaced", async (t) => {
  const { server, clock, shell, events, requests, putNode } = scene(t);
  putNode({ type: "virtual-kubelet" });
  server.put("pods", jobPod([image]));
  await clock.settle();
  await shell.reconcile(key);
  t.match(server.patches, [
    {
      subresource: undefined,
      patch: { body: { spec: { containers: [{ name: "side", image: "exits:1" }] } } },
    },
  ]);
  t.same(requests, []);
  t.match(events, [/using in-place update/]);
});

t.test("a pod whose node is not seen yet, or gone, is looked at again soon", async (t) => {
  const { server, clock, shell, requests, putNode } = scene(t);
  server.put("pods", jobPod([end]));
  await clock.settle();
  t.same(await shell.reconcile(key), { requeueAfterMs: 1000 });
  t.same(requests, []);
  putNode();
  t.same(await shell.reconcile(key), {});
  t.equal(requests.length, 1);
});

t.test("a pod that goes in between needs nothing any more", async (t) => {
  const gone = () => new KubeError("NotFound", "no pod job");
  const { server, clock, shell, events, requests, putNode } = scene(t, { patch: gone });
  putNode();
  t.same(await shell.reconcile(key), {}, "one that was never there");
  server.put("pods", jobPod([end, ignore]));
  await clock.settle();
  t.same(await shell.reconcile(key), { requeueAfterMs: 100 }, "the watch says so soon");
  t.same([requests, events], [[], []], "nothing is asked for a pod that is gone");
});

t.test("another pod of the name: the pass is repeated", async (t) => {
  let conflicts = 1;
  const patch = () => (conflicts-- > 0 ? new KubeError("Conflict", "the UID differs") : undefined);
  const { server, clock, shell, requests, putNode } = scene(t, { patch });
  putNode();
  server.put("pods", jobPod([end, ignore]));
  await clock.settle();
  t.same(await shell.reconcile(key), { requeueAfterMs: 100 });
  t.same([server.patches, requests], [[], []]);
  await shell.reconcile(key);
  t.equal(server.patches.length, 1);
});

t.test("a request that is there already is no failure, and is not reported again", async (t) => {
  const create = () => new KubeError("AlreadyExists", "it is there");
  const { server, clock, shell, events, putNode } = scene(t, { create });
  putNode();
  server.put("pods", jobPod([end]));
  await clock.settle();
  t.same(await shell.reconcile(key), { requeueAfterMs: 100 });
  t.same(events, []);
});

t.test("a request that somebody deletes before it is carried out is made again", async (t) => {
  const { server, clock, shell, queue, requests, lose, putNode } = scene(t);
  putNode();
  server.put("pods", jobPod([end]));
  await clock.settle();
  await shell.reconcile(key);
  queue.done((await queue.next()) ?? "");
  lose();
  t.equal(await queue.next(), key);
  await shell.reconcile(key);
  t.match(requests, [{ metadata: { name: requestName } }, { metadata: { name: requestName } }]);
  server.remove("pods", key);
  await clock.settle();
  queue.done(key);
  lose();
  t.equal(queue.depth, 0, "the pod is gone");
});

t.test("a pod without any status is left alone", async (t) => {
  const { server, clock, shell, requests, putNode } = scene(t);
  putNode();
  server.put("pods", jobPod([end], { phase: undefined, containerStatuses: null }));
  await clock.settle();
  t.same(await shell.reconcile(key), {});
  t.same(requests, []);
});
