/** Ends sidecars once the job's own containers are over. Keys are those of pods; no policy lives here. */
import type { ContainerRecreateRequest } from "../../../crds/index.ts";
import { formatMicroTime, formatTime } from "../../../kube/core/index.ts";
import { Cache, podResource, startInformer } from "../../../kube/index.ts";
import { type ObservedPod, observedPodResource } from "../../native/observed_pod.ts";
import { isVirtualNode } from "../../native/virtual_node.ts";
import type { EventEffect, ObjectBody, PatchEffect, WriteEffect } from "../../plan/effects.ts";
import { eventTarget } from "../../plan/event_target.ts";
import { containerRecreateRequestResource } from "../../plan/resources.ts";
import { writable } from "../../runtime/executor/writable.ts";
import type { SharedDeps } from "../../runtime/kind.ts";
import type { PlainReconciler, PlainResult } from "../../runtime/reconciler.ts";
import {
  hasSidecarsToEnd,
  planTermination,
  RESULT_ANNOTATION,
  TERMINATED_CONDITION,
  TERMINATED_MESSAGE,
  type Termination,
} from "./plan.ts";

/** The node of a pod may be seen a moment later than the pod. */
const MISSING_NODE_MS = 1_000;

export class SidecarTerminatorReconciler implements PlainReconciler {
  readonly writes = {
    pods: writable(observedPodResource, { writeBack: (pod) => this.#pods.writeBack(pod) }),
    requests: writable(containerRecreateRequestResource, {
      writeBack: (request) => this.#requests.writeBack(request),
    }),
  };
  readonly #deps: SharedDeps;
  readonly #requests: Cache<ContainerRecreateRequest>;
  /** Only pods with sidecars that are still to be ended, whoever owns them. */
  readonly #pods: Cache<ObservedPod>;

  constructor(deps: SharedDeps) {
    this.#deps = deps;
    this.#requests = deps.informers.cacheOf(containerRecreateRequestResource);
    const { codec } = observedPodResource;
    this.#pods = new Cache({ identify: (pod) => codec.identify(pod), keep: hasSidecarsToEnd });
    this.#pods.subscribe(({ type, object }) => {
      if (type !== "removed") deps.queue.add(codec.identify(object).key);
    });
    // One that somebody deletes before its node's agent has seen it is made again.
    this.#requests.subscribe(({ type, object: { metadata, spec } }) => {
      const key = `${metadata.namespace}/${spec.podName}`;
      if (type === "removed" && this.#pods.get(key) !== undefined) deps.queue.add(key);
    });
    this.#watch();
  }

  reconcile(key: string): PlainResult | undefined {
    const pod = this.#pods.get(key);
    if (pod === undefined) return undefined;
    const node = this.#deps.caches.nodes.get(pod.nodeName);
    if (node === undefined) return { requeueAfterMs: MISSING_NODE_MS };
    const plan = planTermination(pod, { virtual: isVirtualNode(node), now: this.#deps.clock.now() });
    switch (plan.by) {
      case "images":
        return { effects: [imagesOf(pod, plan)] };
      case "result":
        return { effects: this.#isRequested(pod, plan) ? [] : [resultOf(pod, plan, this.#deps.clock.now())] };
      case "request":
        return { effects: this.#isRequested(pod, plan) ? [] : [requestOf(pod, plan)] };
      default:
        return { requeueAfterMs: plan.requeueAfterMs };
    }
  }

  #watch(): void {
    const { client, clock, random, log, options, signal } = this.#deps;
    const { namespace } = options;
    const informer = startInformer({
      client,
      resource: observedPodResource,
      cache: this.#pods,
      clock,
      random,
      log,
      fieldSelector: "spec.restartPolicy!=Always,status.phase!=Pending",
      ...(namespace === "" ? {} : { namespace }),
    });
    if (signal.aborted) void informer.stop();
    else signal.addEventListener("abort", () => void informer.stop(), { once: true });
  }

  #isRequested({ namespace }: ObservedPod, { name }: { readonly name: string }): boolean {
    return this.#requests.get(`${namespace}/${name}`) !== undefined;
  }
}

function requestOf(pod: ObservedPod, plan: Termination & { by: "request" }): WriteEffect {
  const { namespace, name, uid } = pod;
  const owner = { apiVersion: "v1", kind: "Pod", name, uid, controller: true, blockOwnerDeletion: true };
  const spec = {
    podName: name,
    containers: plan.containers.map((container) => ({ name: container })),
    strategy: { forceRecreate: true, failurePolicy: "Ignore" },
  };
  return {
    type: "create",
    resource: "requests",
    namespace,
    name: plan.name,
    body: { metadata: { ownerReferences: [owner] }, spec },
    succeeded: told(pod, plan.containers, "crr"),
  };
}

/** The result of the job's own containers, reported before sidecars can spoil it. */
function resultOf(pod: ObservedPod, { phase }: Termination & { by: "result" }, now: number): WriteEffect {
  const annotations = { [RESULT_ANNOTATION]: formatMicroTime(now) };
  const condition = {
    type: TERMINATED_CONDITION,
    status: "True",
    message: TERMINATED_MESSAGE,
    lastTransitionTime: formatTime(now),
  };
  const status = { phase, conditions: [condition] };
  return { ...patchOf(pod, { metadata: { annotations }, status }), subresource: "status" };
}

function imagesOf(pod: ObservedPod, { images }: Termination & { by: "images" }): WriteEffect {
  const containers = [...images].map(([name, image]) => ({ name, image }));
  const succeeded = told(pod, [...images.keys()], "in-place update");
  return { ...patchOf(pod, { spec: { containers } }), succeeded };
}

function patchOf({ namespace, name, uid }: ObservedPod, { metadata, ...rest }: ObjectBody): PatchEffect {
  const body = { metadata: { uid, ...metadata }, ...rest };
  return { type: "patch", resource: "pods", namespace, name, patch: { type: "strategic", body } };
}

function told(pod: ObservedPod, containers: readonly string[], how: string): EventEffect {
  const message = `Kruise SidecarTerminator is trying to terminate sidecar [${containers.join(" ")}] using ${how}`;
  const event = { type: "Normal", reason: "SidecarTerminator", message } as const;
  return { type: "event", event, about: eventTarget(podResource, pod) };
}
