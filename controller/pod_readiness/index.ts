/**
 * The gate `KruisePodReady` of pods that no workload of this API owns: its condition is given True once, by which
 * controllers can hold it later. Workloads do it for their own pods, together with other writes. Spec: inplace-update
 * rule 31, containers 1.5.
 */
import { isKubeError, keyOf, type Pod, podResource } from "../../kube/index.ts";
import type { PlainController, SharedDeps } from "../kind.ts";
import { GROUP } from "../resource.ts";
import { podPatch } from "../rollout/pod_patch.ts";
import { isActive, KRUISE_READY } from "../rollout/pod_state.ts";
import { needsKruiseReady } from "../rollout/readiness.ts";

/** Whether somebody has to write the pod's condition who is not its workload. */
export function awaitsReadiness(pod: Pod): boolean {
  return needsKruiseReady(pod) && pod.controller?.group !== GROUP && isActive(pod);
}

export const podReadinessController: PlainController = {
  controllerName: "pod-readiness-controller",
  // The gate may stand in any pod's own spec.
  enabled: () => true,
  access: [],
  shell(deps) {
    const { pods } = deps.caches;
    pods.subscribe(({ type, object }) => {
      if (type !== "removed" && awaitsReadiness(object)) deps.queue.add(keyOf(object));
    });
    return {
      async reconcile(key) {
        const pod = pods.get(key);
        if (pod !== undefined && awaitsReadiness(pod)) await open(deps, pod);
        return {};
      },
    };
  },
};

async function open(
  { client, caches, clock, signal }: Pick<SharedDeps, "client" | "caches" | "clock" | "signal">,
  pod: Pod,
): Promise<void> {
  const { namespace, name, uid, resourceVersion } = pod;
  // On what was seen only: another controller may hold the pod meanwhile.
  const settings = { subresource: "status", resourceVersion } as const;
  const change = { conditions: [{ type: KRUISE_READY, status: "True" as const }] };
  const patch = { type: "strategic", body: podPatch(pod, change, clock.now(), settings).body } as const;
  const options = { subresource: "status", signal, flow: uid } as const;
  try {
    caches.pods.writeBack(await client.patch(podResource, { namespace, name }, patch, options));
  } catch (error) {
    // Newer versions come by the watch, and with them another look.
    if (!isKubeError(error, "NotFound", "Conflict")) throw error;
  }
}
