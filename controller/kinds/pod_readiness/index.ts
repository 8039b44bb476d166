/**
 * The gate `KruisePodReady` of pods that no workload of this API owns: its condition is given True once, by which
 * controllers can hold it later. Workloads do it for their own pods, together with other writes. Spec: inplace-update
 * rule 31, containers 1.5.
 */
import { keyOf, type Pod, podResource } from "../../../kube/index.ts";
import { GROUP } from "../../plan/resources.ts";
import { isActive, KRUISE_READY } from "../../rollout/pods/pod_state.ts";
import { needsKruiseReady } from "../../rollout/pods/readiness.ts";
import { podPatch } from "../../rollout/writes/pod_patch.ts";
import type { Writables } from "../../runtime/executor/executor.ts";
import { writable } from "../../runtime/executor/writable.ts";
import type { PlainController, SharedDeps } from "../../runtime/kind.ts";
import type { PlainReconciler, PlainResult } from "../../runtime/reconciler.ts";

/** Whether somebody has to write the pod's condition who is not its workload. */
export function awaitsReadiness(pod: Pod): boolean {
  return needsKruiseReady(pod) && pod.controller?.group !== GROUP && isActive(pod);
}

export const podReadinessController: PlainController = {
  controllerName: "pod-readiness-controller",
  // The gate may stand in any pod's own spec.
  enabled: () => true,
  access: [],
  keepsPod: awaitsReadiness,
  reconciler: (deps) => new PodReadinessReconciler(deps),
};

class PodReadinessReconciler implements PlainReconciler {
  readonly writes: Writables;
  readonly #deps: SharedDeps;

  constructor(deps: SharedDeps) {
    this.#deps = deps;
    this.writes = { pods: writable(podResource, { writeBack: (pod) => deps.caches.pods.writeBack(pod) }) };
    deps.caches.pods.subscribe(({ type, object }) => {
      if (type !== "removed" && awaitsReadiness(object)) deps.queue.add(keyOf(object));
    });
  }

  reconcile(key: string): PlainResult | undefined {
    const pod = this.#deps.caches.pods.get(key);
    if (pod === undefined || !awaitsReadiness(pod)) return undefined;
    const { namespace, name, resourceVersion } = pod;
    // On what was seen only: another controller may hold the pod meanwhile.
    const settings = { subresource: "status", resourceVersion } as const;
    const change = { conditions: [{ type: KRUISE_READY, status: "True" as const }] };
    const { body } = podPatch(pod, change, this.#deps.clock.now(), settings);
    const patch = { type: "strategic", body } as const;
    return { effects: [{ type: "patch", resource: "pods", namespace, name, patch, subresource: "status" }] };
  }
}
