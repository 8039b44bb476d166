import t from "tap";
import type { ContainerRecreateRequest } from "../../../crds/index.ts";
import { formatTime, type JsonObject } from "../../../kube/core/index.ts";
import { type Client, KubeError, type Pod, podResource } from "../../../kube/index.ts";
import { kindDeps } from "../../../testkit/controller/kind_deps_builder.ts";
import { testClock } from "../../../testkit/kube/fake_clock.ts";
import { containerRecreateRequestResource as resource } from "../../plan/resources.ts";
import { Shell } from "../../runtime/shell.ts";
import { containerRecreateRequestReconciler } from "./reconcile.ts";

const clock = testClock();
const key = "default/one";
const finalizer = "crr.apps.kruise.io/unready-acquired";

function pod(changes: Partial<Pod> = {}): Pod {
  return {
    namespace: "default",
    name: "web",
    uid: "pod-1",
    resourceVersion: "7",
    createdAt: 0,
    deletionAt: undefined,
    fieldManagers: "updates",
    labels: {},
    annotations: {},
    finalizers: [],
    controller: undefined,
    nodeName: "node1",
    readinessGates: ["KruisePodReady"],
    containers: [],
    phase: "Running",
    conditions: [
      { type: "KruisePodReady", status: "True", reason: "", message: "", lastTransitionAt: 0 },
      { type: "ContainersReady", status: "True", reason: "", message: "", lastTransitionAt: 0 },
    ],
    containerStatuses: [],
    podIP: "10.0.0.1",
    ...changes,
  };
}

function request(
  phase: "Pending" | "Recreating" | "Completed",
  more: Partial<ContainerRecreateRequest["spec"]> = {},
  finalizers: string[] = [],
): ContainerRecreateRequest {
  const labels = { "crr.apps.kruise.io/pod-uid": "pod-1", "crr.apps.kruise.io/active": "true" };
  const creationTimestamp = formatTime(clock.now());
  return {
    metadata: {
      namespace: "default",
      name: "one",
      uid: "crr-1",
      resourceVersion: "5",
      creationTimestamp,
      labels,
      finalizers,
    },
    spec: { podName: "web", containers: [{ name: "app" }], ...more },
    status: { phase, ...(phase === "Completed" ? { completionTime: creationTimestamp } : {}) },
  };
}

/** What is sent, in order; patches of the request come back one version on. `stored`: the pod on the server. */
function setUp(cached: Pod | undefined, stored: Pod | undefined, refuse = "") {
  const calls: string[] = [];
  const bodies: JsonObject[] = [];
  const unused = async () => {
    throw new Error("not used");
  };
  let version = 5;
  const client: Client = {
    list: unused,
    create: unused,
    replace: unused,
    watch: unused,
    request: unused,
    stream: unused,
    close: async () => undefined,
    async get(of) {
      calls.push(`get ${of.plural}`);
      if (of.plural !== podResource.plural || stored === undefined) throw new KubeError("NotFound", "gone");
      return answer(of, stored);
    },
    async patch(of, _ref, { body }, options) {
      const call = `patch ${of.plural}${options?.subresource ? `/${options.subresource}` : ""}`;
      calls.push(call);
      bodies.push(JSON.parse(JSON.stringify(body)));
      if (call === refuse) throw new KubeError("Conflict", "changed");
      version += 1;
      return of.plural === podResource.plural
        ? answer(of, pod())
        : of.codec.decode(Buffer.from(JSON.stringify(newer(version))), "application/json");
    },
    async delete(of, _ref, options) {
      calls.push(`delete ${of.plural} ${options?.uid}`);
      return undefined;
    },
  };
  const deps = kindDeps(resource, client, clock);
  const { caches, objects } = deps;
  if (cached) caches.pods.upsert(cached);
  const shell = new Shell(deps, containerRecreateRequestReconciler(deps));
  const pass = (seen: ContainerRecreateRequest) => {
    objects.upsert(seen);
    return shell.reconcile(key);
  };
  return { pass, calls, bodies, objects, queue: deps.queue };
}

/** A pod as the client would decode it. */
function answer<T>(of: { codec: { identify(object: T): unknown } }, value: Pod): T {
  const candidate: unknown = value;
  if (!isPodOf(of, candidate)) throw new Error("not a pod");
  return candidate;
}

function isPodOf<T>(of: { codec: { identify(object: T): unknown } }, value: unknown): value is T {
  return Object(of) === podResource && Object(value).name === "web";
}

function newer(version: number): object {
  const { metadata, ...rest } = request("Recreating");
  return { ...rest, metadata: { ...metadata, resourceVersion: String(version) } };
}

t.test("a pod is held before the agent is told since when, each on what was seen", async (t) => {
  const { pass, calls, bodies, objects, queue } = setUp(pod(), undefined);
  const drain = { strategy: { unreadyGracePeriodSeconds: 5 } };
  await pass(request("Recreating", drain));
  const plural = "containerrecreaterequests";
  t.strictSame(calls, [`patch ${plural}`, "patch pods/status"]);
  t.match(bodies[0], { metadata: { uid: "crr-1", resourceVersion: "5", finalizers: [finalizer] } });
  t.match(bodies[1], { metadata: { uid: "pod-1", resourceVersion: "7" } });
  t.equal(queue.depth, 1, "it goes on at once, whoever watches the pod");
  const message = '[{"userAgent":"ContainerRecreateRequest","key":"default/one"}]';
  const condition = { type: "KruisePodReady", status: "False", reason: "", message, lastTransitionAt: 0 };
  const held = setUp(pod({ conditions: [condition] }), undefined);
  await held.pass(request("Recreating", drain, [finalizer]));
  t.strictSame(held.calls, [`patch ${plural}/status`]);
  t.match(held.bodies[0], { metadata: { uid: "crr-1", resourceVersion: "5" } });
  t.match(held.bodies[0], { status: { conditions: [{ type: "PreRecreateGrace", status: "True" }] } });
  t.equal(held.objects.get(key)?.metadata.resourceVersion, "6", "answers are seen by the next pass");
  t.equal(objects.get(key)?.metadata.resourceVersion, "6");
});

t.test("the agent may not stop anything when the pod could not be held", async (t) => {
  const { pass, calls } = setUp(pod(), undefined, "patch pods/status");
  const drain = request("Recreating", { strategy: { unreadyGracePeriodSeconds: 5 } });
  t.same(await pass(drain), { requeueAfterMs: 100 });
  t.equal(calls.length, 2, "the condition for which it waits is not written");
});

t.test("only a read says that a pod is gone", async (t) => {
  const ended = (message: string) => ({
    metadata: { resourceVersion: "5" },
    status: { phase: "Completed", message },
  });
  const late = setUp(pod({ uid: "pod-0" }), pod());
  await late.pass(request("Pending"));
  t.strictSame(late.calls, ["get pods"], "the cache still has the former pod");
  for (const stored of [undefined, pod({ uid: "pod-2" }), pod({ deletionAt: 1 })]) {
    const { pass, calls, bodies } = setUp(pod({ deletionAt: 1 }), stored);
    await pass(request("Pending"));
    t.equal(calls[0], "get pods");
    t.match(bodies[0], ended("pod has gone"));
  }
  const known = setUp(pod(), undefined);
  await known.pass(request("Pending"));
  t.strictSame(known.calls, [], "what the cache has is not read again");
});

t.test("a finished request costs no read; it ends under its UID", async (t) => {
  const { pass, calls, objects } = setUp(undefined, undefined);
  const over = request("Completed", { ttlSecondsAfterFinished: 0 });
  await pass(over);
  t.strictSame(calls, ["patch containerrecreaterequests", "delete containerrecreaterequests crr-1"]);
  t.equal(objects.size, 0);
});
