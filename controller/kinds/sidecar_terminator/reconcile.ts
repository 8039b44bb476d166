/** Ends sidecars once the job's own containers are over. Keys are those of pods; no policy lives here. */
import type { ContainerRecreateRequest } from "../../../crds/index.ts";
import { formatMicroTime, formatTime } from "../../../kube/core/index.ts";
import { Cache, podResource, startInformer } from "../../../kube/index.ts";
import { type ObservedPod, observedPodResource } from "../../native/observed_pod.ts";
import { groupVersionOf } from "../../plan/resource.ts";
import { eventTarget } from "../../runtime/executor/event_target.ts";
import type { SharedDeps } from "../../runtime/kind.ts";
import type { PlainReconciler, PlainResult } from "../../runtime/reconciler.ts";
import { containerRecreateRequestResource } from "../container_recreate_request/resource.ts";
import { isVirtualNode } from "../pod_probe_marker/index.ts";
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
    this.#watch();
  }

  reconcile(key: string): PlainResult | undefined {
    const pod = this.#pods.get(key);
    if (pod === undefined) return undefined;
    const node = this.#deps.caches.nodes.get(pod.nodeName);
    if (node === undefined) return { requeueAfterMs: MISSING_NODE_MS };
    const plan = planTermination(pod, { virtual: isVirtualNode(node), now: this.#deps.clock.now() });
    if (plan.by === "images") return { effects: [() => this.#replaceImages(pod, plan.images)] };
    if (plan.by === "result") return { effects: [() => this.#finish(pod, plan)] };
    if (plan.by === "request") return { effects: [() => this.#request(pod, plan)] };
    return { requeueAfterMs: plan.requeueAfterMs };
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

  async #request(pod: ObservedPod, plan: Termination & { by: "request" }): Promise<void> {
    if (this.#isRequested(pod, plan)) return;
    const { writesFor, signal } = this.#deps;
    const { kind } = containerRecreateRequestResource;
    const { namespace, name, uid } = pod;
    const owner = { apiVersion: "v1", kind: "Pod", name, uid, controller: true, blockOwnerDeletion: true };
    const body = {
      apiVersion: groupVersionOf(containerRecreateRequestResource),
      kind,
      metadata: { name: plan.name, namespace, ownerReferences: [owner] },
      spec: {
        podName: name,
        containers: plan.containers.map((container) => ({ name: container })),
        strategy: { forceRecreate: true, failurePolicy: "Ignore" },
      },
    };
    const options = { flow: uid, signal };
    const writer = writesFor({ namespace });
    this.#requests.writeBack(await writer.create(containerRecreateRequestResource, namespace, body, options));
    this.#report(pod, plan.containers, "crr");
  }

  #isRequested({ namespace }: ObservedPod, { name }: { readonly name: string }): boolean {
    return this.#requests.get(`${namespace}/${name}`) !== undefined;
  }

  /** The result of the job's own containers, reported before sidecars can spoil it. */
  async #finish(pod: ObservedPod, plan: Termination & { by: "result" }): Promise<void> {
    if (this.#isRequested(pod, plan)) return;
    const now = this.#deps.clock.now();
    const annotations = { [RESULT_ANNOTATION]: formatMicroTime(now) };
    const condition = {
      type: TERMINATED_CONDITION,
      status: "True",
      message: TERMINATED_MESSAGE,
      lastTransitionTime: formatTime(now),
    };
    const status = { phase: plan.phase, conditions: [condition] };
    await this.#patch(pod, { metadata: { uid: pod.uid, annotations }, status }, "status");
  }

  async #replaceImages(pod: ObservedPod, images: ReadonlyMap<string, string>): Promise<void> {
    const containers = [...images].map(([name, image]) => ({ name, image }));
    await this.#patch(pod, { metadata: { uid: pod.uid }, spec: { containers } });
    this.#report(pod, [...images.keys()], "in-place update");
  }

  async #patch({ namespace, name, uid }: ObservedPod, body: object, subresource?: string): Promise<void> {
    const { writesFor, signal } = this.#deps;
    const options = { flow: uid, signal, ...(subresource === undefined ? {} : { subresource }) };
    const patch = { type: "strategic", body } as const;
    this.#pods.writeBack(
      await writesFor({ namespace }).patch(observedPodResource, { namespace, name }, patch, options),
    );
  }

  #report(pod: ObservedPod, containers: readonly string[], how: string): void {
    const message = `Kruise SidecarTerminator is trying to terminate sidecar [${containers.join(" ")}] using ${how}`;
    this.#deps.recorder.event(eventTarget(podResource, pod), "Normal", "SidecarTerminator", message);
  }
}
