/**
 * The gate `KruisePodReady` of pods that no workload of this API owns: its condition is given True once, by which
 * controllers can hold it later. Workloads do it for their own pods, together with other writes. Spec: inplace-update
 * rule 31, containers 1.5.
 */
import { keyOf, type Pod, podResource } from "../../../kube/index.ts";
import { GROUP } from "../../plan/resource.ts";
import { isActive, KRUISE_READY } from "../../rollout/pods/pod_state.ts";
import { needsKruiseReady } from "../../rollout/pods/readiness.ts";
import { podPatch } from "../../rollout/writes/pod_patch.ts";
import type { PlainController, SharedDeps } from "../../runtime/kind.ts";
import type { PlainPass, PlainReconciler } from "../../runtime/reconciler.ts";

/** Whether somebody has to write the pod's condition who is not its workload. */
export function awaitsReadiness(pod: Pod): boolean {
  return needsKruiseReady(pod) && pod.controller?.group !== GROUP && isActive(pod);
}

export const podReadinessController: PlainController = {
  controllerName: "pod-readiness-controller",
  // The gate may stand in any pod's own spec.
  enabled: () => true,
  access: [],
  reconciler: (deps) => new PodReadinessReconciler(deps),
};

class PodReadinessReconciler implements PlainReconciler {
  readonly #deps: SharedDeps;

  constructor(deps: SharedDeps) {
    this.#deps = deps;
    deps.caches.pods.subscribe(({ type, object }) => {
      if (type !== "removed" && awaitsReadiness(object)) deps.queue.add(keyOf(object));
    });
  }

  reconcile(key: string): PlainPass | undefined {
    const pod = this.#deps.caches.pods.get(key);
    if (pod === undefined || !awaitsReadiness(pod)) return undefined;
    return { actions: [() => this.#open(pod)] };
  }

  async #open(pod: Pod): Promise<void> {
    const { writesFor, caches, clock, signal } = this.#deps;
    const { namespace, name, uid, resourceVersion } = pod;
    // On what was seen only: another controller may hold the pod meanwhile.
    const settings = { subresource: "status", resourceVersion } as const;
    const change = { conditions: [{ type: KRUISE_READY, status: "True" as const }] };
    const patch = { type: "strategic", body: podPatch(pod, change, clock.now(), settings).body } as const;
    const options = { subresource: "status", signal, flow: uid } as const;
    caches.pods.writeBack(
      await writesFor({ namespace }).patch(podResource, { namespace, name }, patch, options),
    );
  }
}
