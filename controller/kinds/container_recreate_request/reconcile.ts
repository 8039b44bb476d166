/** ContainerRecreateRequests: reads the pod, plans, and holds the pod or gives it back between other writes. */
import {
  type ContainerRecreateRequest,
  RECREATE_POD_UID_LABEL,
  RECREATE_UNREADY_FINALIZER,
} from "../../../crds/index.ts";
import { isKubeError, keyOf, type Pod, podResource, refOf } from "../../../kube/index.ts";
import type { KindEffect, WriteEffect } from "../../plan/effects.ts";
import { podPatch } from "../../rollout/writes/pod_patch.ts";
import { writable } from "../../runtime/executor/writable.ts";
import type { KindDeps } from "../../runtime/kind.ts";
import type { Reconciler } from "../../runtime/reconciler.ts";
import type { RecreateAction, RecreateRequestObserved } from "./model.ts";
import { planRecreateRequest } from "./plan.ts";

/** `namespace/name` of the pod. */
function podKeyOf({ metadata, spec }: ContainerRecreateRequest): string {
  return keyOf({ namespace: metadata.namespace ?? "", name: spec.podName });
}

export function containerRecreateRequestReconciler(
  deps: KindDeps<ContainerRecreateRequest>,
): Reconciler<ContainerRecreateRequest> {
  const { caches, clock, queue, resource } = deps;
  const requests = deps.informers.cacheOf(resource, { pod: (request) => [podKeyOf(request)] });
  caches.pods.subscribe(({ object }) => {
    for (const request of requests.byIndex("pod", keyOf(object))) {
      if (request.status?.phase !== "Completed") queue.add(resource.codec.identify(request).key);
    }
  });
  return {
    writes: { pods: writable(podResource, { writeBack: (pod) => caches.pods.writeBack(pod) }) },
    async reconcile(request) {
      const observed = needsPod(request) ? await podOf(deps, request) : { pod: undefined, watched: false };
      const now = clock.now();
      const { effects, requeueAfterMs } = planRecreateRequest({ request, ...observed }, now);
      const planned = effects.flatMap((effect): KindEffect[] => {
        if (effect.type !== "set pod conditions") return [effect];
        return observed.pod === undefined ? [] : [conditionsOf(observed.pod, effect, now)];
      });
      return { effects: planned, requeueAfterMs };
    },
    executed(key, { effects = [] }, { error }) {
      // Of a pod that is held now the next pass says since when; nobody may watch that pod.
      if (error === undefined && effects.some(({ type }) => type === "patch")) queue.add(key);
    },
  };
}

/** What is over needs its pod only to give it back. */
function needsPod({ metadata, status }: ContainerRecreateRequest): boolean {
  const over = status?.phase === "Completed" || metadata.deletionTimestamp !== undefined;
  return !over || (metadata.finalizers ?? []).includes(RECREATE_UNREADY_FINALIZER);
}

/**
 * Pods of this API's workloads and pods without an owner are in the cache; of others there are far too many to watch,
 * and few requests at a time: one read costs less. What says that a pod is gone is always a read: a cache may be late.
 */
async function podOf(
  { caches, client, signal }: KindDeps<ContainerRecreateRequest>,
  request: ContainerRecreateRequest,
): Promise<Pick<RecreateRequestObserved, "pod" | "watched">> {
  const uid = request.metadata.labels?.[RECREATE_POD_UID_LABEL];
  const isMeant = (pod: Pod): boolean => pod.uid === uid && pod.deletionAt === undefined;
  const cached = caches.pods.get(podKeyOf(request));
  if (cached !== undefined && isMeant(cached)) return { pod: cached, watched: true };
  try {
    const pod = await client.get(podResource, refOf(podKeyOf(request)), { signal });
    return { pod: isMeant(pod) ? pod : undefined, watched: cached?.uid === pod.uid };
  } catch (error) {
    if (isKubeError(error, "NotFound")) return { pod: undefined, watched: false };
    throw error;
  }
}

/** On exactly the pod that was seen. */
function conditionsOf(
  pod: Pod,
  { conditions, annotations }: RecreateAction & { type: "set pod conditions" },
  now: number,
): WriteEffect {
  const { namespace, name, resourceVersion } = pod;
  const settings = { subresource: "status", resourceVersion } as const;
  const { body } = podPatch(pod, { conditions, annotations }, now, settings);
  const patch = { type: "strategic", body } as const;
  return { type: "patch", resource: "pods", namespace, name, patch, subresource: "status" };
}
