/**
 * What a server stores of ContainerRecreateRequests and their pod, how it answers, and what the kubelet does. Values: each step makes
 * another one.
 */
import { mutateContainerRecreateRequest } from "../../controller/kinds/container_recreate_request/admit.ts";
import { objectAt, textAt } from "../../controller/native/json_fields.ts";
import type { KindEffect } from "../../controller/plan/effects.ts";
import { controllerOptions } from "../../controller/runtime/options.ts";
import type { ContainerRecreateRequest } from "../../crds/index.ts";
import {
  applyJsonPatch,
  applyMergePatch,
  applyStrategicPatch,
  formatTime,
  type JsonObject,
  jsonEqual,
} from "../../kube/core/index.ts";
import { admissionRequest } from "../controller/admission_builder.ts";
import { fakeServer } from "../kube/fake_server.ts";
import type { Reply, Request } from "./pending_requests.ts";
import { put } from "./pull_state.ts";
import { checkPod, checkRequest, checkStopped } from "./recreate_rules.ts";
import {
  type Containers,
  holdersOf,
  type Instance,
  isGoing,
  NODE,
  POD,
  RUNTIME,
  type Stop,
  type Stored,
  startMs,
  uidOf,
  versionOf,
} from "./recreate_state.ts";

/** Those of containers that have just been made. */
export function containersOf(uid: string, names: readonly string[]): Containers {
  return new Map(
    names.map((name) => [
      name,
      { id: `${uid}-${name}-0`, restartCount: 0, state: "running", isReady: true, startedAt: startMs },
    ]),
  );
}

export function podOf(uid: string, containers: Containers, more: object): JsonObject {
  const pod = {
    metadata: { name: POD, namespace: "ns", uid, resourceVersion: "1" },
    spec: { nodeName: NODE, containers: [...containers.keys()].map((name) => ({ name })) },
    status: {
      phase: "Running",
      conditions: [{ type: "KruisePodReady", status: "True" }],
      containerStatuses: statusesOf(containers),
    },
  };
  return applyMergePatch(pod, more);
}

function statusesOf(containers: Containers): JsonObject[] {
  return [...containers].map(([name, { id, restartCount, state, isReady }]) => ({
    name,
    containerID: `${RUNTIME}://${id}`,
    restartCount,
    ready: isReady,
    state: state === "running" ? { running: {} } : { terminated: { exitCode: 0 } },
  }));
}

/** As the webhook lets it in; undefined: it does not. */
export async function withNewRequest(
  stored: Stored,
  name: string,
  uid: string,
  spec: Omit<ContainerRecreateRequest["spec"], "podName">,
): Promise<Stored | undefined> {
  const asked = {
    apiVersion: "apps.kruise.io/v1beta1",
    kind: "ContainerRecreateRequest",
    metadata: { name, namespace: "ns" },
    spec: { podName: POD, ...spec },
  };
  const server = fakeServer();
  server.put("nodes", { metadata: { name: NODE } });
  if (stored.pod !== undefined) server.put("pods", Object(stored.pod));
  const admit = mutateContainerRecreateRequest({ client: server.client, options: controllerOptions() });
  const answer = await admit(admissionRequest({ operation: "CREATE", object: asked, namespace: "ns" }));
  if (!answer.allowed) return undefined;
  const admitted = applyJsonPatch(asked, [...(answer.patch ?? [])]);
  const creationTimestamp = formatTime(stored.now);
  return withRequest(stored, Object(applyMergePatch(admitted, { metadata: { uid, creationTimestamp } })));
}

function withRequest(stored: Stored, request: ContainerRecreateRequest): Stored {
  const { name = "", ...metadata } = request.metadata;
  const version = stored.version + 1;
  const next = { ...request, metadata: { ...metadata, name, resourceVersion: String(version) } };
  const { deletionTimestamp, finalizers = [] } = metadata;
  const isGone = deletionTimestamp !== undefined && finalizers.length === 0;
  return { ...stored, version, requests: put(stored.requests, name, isGone ? undefined : next) };
}

/** A request that is patched by the controller or by the agent. */
function withPatched(stored: Stored, before: ContainerRecreateRequest, patch: object): Stored {
  const after: ContainerRecreateRequest = Object(applyMergePatch(before, patch));
  if (jsonEqual(after, before)) return stored;
  checkRequest(stored, before, after);
  return withRequest(stored, after);
}

/** It stays until its finalizer is taken away. */
export function withoutRequest(stored: Stored, name: string): Stored {
  const request = stored.requests.get(name);
  if (request === undefined || request.metadata.deletionTimestamp !== undefined) return stored;
  const deletionTimestamp = formatTime(stored.now);
  return withRequest(stored, { ...request, metadata: { ...request.metadata, deletionTimestamp } });
}

export function withPod(stored: Stored, pod: JsonObject): Stored {
  const version = stored.version + 1;
  return { ...stored, version, pod: applyMergePatch(pod, { metadata: { resourceVersion: `${version}` } }) };
}

/** It stays until the kubelet has ended its containers. */
export function withoutPod(stored: Stored): Stored {
  const { pod, now } = stored;
  if (pod === undefined) return stored;
  return withPod(stored, applyMergePatch(pod, { metadata: { deletionTimestamp: formatTime(now) } }));
}

/** What the agent wrote or read; of its status alone, on exactly the version that it names. */
export function answerOf(
  stored: Stored,
  request: Request,
): { readonly stored: Stored; readonly reply: Reply } {
  const { verb, plural, name, body, resourceVersion } = request;
  if (plural === "pods") {
    const { pod } = stored;
    return { stored, reply: pod === undefined ? { error: "NotFound" } : { object: pod } };
  }
  const before = stored.requests.get(name);
  if (before === undefined) return { stored, reply: { error: "NotFound" } };
  if (verb === "get") return { stored, reply: { object: Object(before) } };
  if (resourceVersion === "") throw new Error("the agent writes to any version");
  if (resourceVersion !== before.metadata.resourceVersion) return { stored, reply: { error: "Conflict" } };
  const next = withPatched(stored, before, { status: body["status"] });
  return { stored: next, reply: { object: Object(next.requests.get(name)) } };
}

/** An effect of the controller, about the request as it knows it; undefined: somebody else was faster. */
export function effected(
  stored: Stored,
  effect: KindEffect,
  known: ContainerRecreateRequest,
): Stored | undefined {
  if (effect.type === "patch") return podPatched(stored, effect.patch.body, known);
  const { name = "", uid, resourceVersion } = known.metadata;
  const before = stored.requests.get(name);
  if (before === undefined || before.metadata.uid !== uid) return undefined;
  const isNewest = before.metadata.resourceVersion === resourceVersion;
  switch (effect.type) {
    case "add finalizer": {
      const finalizers = [...(known.metadata.finalizers ?? []), effect.finalizer];
      return isNewest ? withPatched(stored, before, { metadata: { finalizers } }) : undefined;
    }
    case "patch object":
      return isNewest || effect.exact !== true ? withPatched(stored, before, effect.body) : undefined;
    case "patch status":
      if (!isNewest && effect.exact === true) return undefined;
      return withPatched(stored, before, { status: effect.status });
    case "delete object":
      return isNewest ? withoutRequest(stored, name) : undefined;
    default:
      throw new Error(`the effect ${effect.type}`);
  }
}

function podPatched(stored: Stored, body: unknown, request: ContainerRecreateRequest): Stored | undefined {
  const { pod, now } = stored;
  const patch: JsonObject = Object(body);
  if (versionOf(patch) === "") throw new Error("the controller writes to any version of the pod");
  if (pod === undefined || uidOf(pod) !== uidOf(patch) || versionOf(pod) !== versionOf(patch))
    return undefined;
  const after = applyStrategicPatch(pod, patch, "Pod");
  const holders = holdersOf(after);
  checkPod(holdersOf(pod), holders, request);
  const heldSince = new Map(holders.map((holder) => [holder, stored.heldSince.get(holder) ?? now]));
  return { ...withPod(stored, after), heldSince };
}

export function withInstance(stored: Stored, uid: string, name: string, change: Partial<Instance>): Stored {
  const containers = stored.node.get(uid);
  const before = containers?.get(name);
  if (containers === undefined || before === undefined) return stored;
  return { ...stored, node: put(stored.node, uid, put(containers, name, { ...before, ...change })) };
}

/** What has ended already, or is another one by now, is not stopped. */
export function stopped(stored: Stored, stop: Stop): Stored {
  const { request, pod, container, id } = stop;
  const instance = stored.node.get(pod)?.get(container);
  if (instance?.id !== id || instance.state !== "running") return stored;
  checkStopped(stored, stop);
  const stops = [...stored.stops, `${request} ${container}`];
  return withInstance({ ...stored, stops }, pod, container, { state: "exited", isReady: false });
}

/** The agent leaves it to the kubelet, too. */
export function staysDown(pod: JsonObject): boolean {
  return textAt(objectAt(pod, "spec"), "restartPolicy") === "Never";
}

export function started(stored: Stored, uid: string, name: string): Stored {
  const containers = stored.node.get(uid) ?? new Map<string, Instance>();
  const { restartCount = 0 } = containers.get(name) ?? {};
  const id = `${uid}-${name}-${restartCount + 1}`;
  // Before anybody sees it some time has passed.
  const startedAt = stored.now - 1;
  // The readiness of one is told apart from its start, which is enough.
  const [first] = containers.keys();
  const isReady = name !== first;
  const next = { id, restartCount: restartCount + 1, state: "running", isReady, startedAt } as const;
  return withInstance(stored, uid, name, next);
}

/** What the kubelet can do now, by name. */
export function kubeletSteps(stored: Stored): [string, Stored][] {
  const { pod, node } = stored;
  const uid = uidOf(pod);
  const steps: [string, Stored][] = [];
  for (const former of node.keys())
    if (former !== uid)
      steps.push(["the kubelet ends the former pod", { ...stored, node: put(node, former, undefined) }]);
  const containers = node.get(uid);
  if (pod === undefined || containers === undefined) return steps;
  if (isGoing(pod)) {
    const gone = { ...stored, version: stored.version + 1, pod: undefined, node: put(node, uid, undefined) };
    return [...steps, ["the kubelet ends the pod", gone]];
  }
  let isChanging = false;
  for (const [name, { state, isReady }] of containers) {
    if (state === "exited" && !staysDown(pod)) {
      isChanging = true;
      steps.push([`the kubelet starts ${name}`, started(stored, uid, name)]);
    }
    if (state === "running" && !isReady)
      steps.push([`${name} gets ready`, withInstance(stored, uid, name, { isReady: true })]);
  }
  const containerStatuses = statusesOf(containers);
  // Nobody goes by a report of what has ended and is started again.
  if (!isChanging && !jsonEqual(containerStatuses, objectAt(pod, "status")["containerStatuses"]))
    steps.push([
      "the kubelet reports",
      withPod(stored, applyMergePatch(pod, { status: { containerStatuses } })),
    ]);
  return steps;
}
