/** The shell of ContainerRecreateRequests: reads the pod, plans, carries the plan's few writes out in order. */
import {
  type ContainerRecreateRequest,
  RECREATE_POD_UID_LABEL,
  RECREATE_UNREADY_FINALIZER,
} from "../../crds/index.ts";
import { isKubeError, keyOf, type Outcome, type Pod, podResource, refOf } from "../../kube/index.ts";
import type { KindDeps, KindShell } from "../kind.ts";
import { podPatch } from "../rollout/pod_patch.ts";
import type { RecreateAction, Seen } from "./model.ts";
import { planRecreateRequest } from "./plan.ts";

export type RecreateDeps = Pick<
  KindDeps<ContainerRecreateRequest>,
  "client" | "resource" | "objects" | "caches" | "clock" | "signal"
>;

/** When a write met a newer object, the watch brings it; this is for the case that it was seen before. */
const AFTER_CONFLICT_MS = 100;
const AFTER_FAILURE_MS = 1_000;

/** `namespace/name` of the pod. */
function podKeyOf({ metadata, spec }: ContainerRecreateRequest): string {
  return keyOf({ namespace: metadata.namespace ?? "", name: spec.podName });
}

export function containerRecreateRequestShell(deps: KindDeps<ContainerRecreateRequest>): KindShell {
  const { caches, queue, signal } = deps;
  const requests = deps.informers.cacheOf(deps.resource, { pod: (request) => [podKeyOf(request)] });
  const inFlight = new Set<Promise<unknown>>();
  caches.pods.subscribe(({ object }) => {
    for (const { metadata, status } of requests.byIndex("pod", keyOf(object))) {
      if (status?.phase !== "Completed")
        queue.add(keyOf({ namespace: metadata.namespace ?? "", name: metadata.name ?? "" }));
    }
  });
  return {
    async reconcile(key) {
      const request = deps.objects.get(key);
      if (request === undefined) return {};
      const work = reconcileRequest(deps, key, request);
      inFlight.add(work);
      try {
        return await work;
      } catch (error) {
        if (!isKubeError(error)) throw error;
        if (error.code === "Conflict" || error.code === "NotFound") return { wakeAfterMs: AFTER_CONFLICT_MS };
        if (!signal.aborted) deps.log.warn("a request to recreate containers is tried again", { key, error });
        return { wakeAfterMs: error.retryAfterMs ?? AFTER_FAILURE_MS };
      } finally {
        inFlight.delete(work);
      }
    },
    coalescingMs: () => 0,
    forget: () => undefined,
    async drained() {
      await Promise.allSettled(inFlight);
    },
  };
}

/** One pass. Throws KubeError when a write was refused: what follows it in the plan has not been done. */
export async function reconcileRequest(
  deps: RecreateDeps,
  key: string,
  request: ContainerRecreateRequest,
): Promise<Outcome> {
  const { pod, watched } = needsPod(request)
    ? await podOf(deps, request)
    : { pod: undefined, watched: false };
  const { actions, wakeAfterMs } = planRecreateRequest({ request, pod, watched }, deps.clock.now());
  let newest = request;
  for (const action of actions) newest = await carryOut(deps, key, newest, action, pod);
  return { wakeAfterMs };
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
  { caches, client, signal }: RecreateDeps,
  request: ContainerRecreateRequest,
): Promise<Pick<Seen, "pod" | "watched">> {
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

/** The request as it is after the action. */
async function carryOut(
  deps: RecreateDeps,
  key: string,
  request: ContainerRecreateRequest,
  action: RecreateAction,
  pod: Pod | undefined,
): Promise<ContainerRecreateRequest> {
  const { client, resource, objects, caches, clock, signal } = deps;
  const { uid = "", resourceVersion } = request.metadata;
  const ref = refOf(key);
  const options = { signal, flow: uid } as const;
  switch (action.do) {
    case "patch metadata": {
      const body = { metadata: { uid, resourceVersion, ...action.metadata } };
      const written = await client.patch(resource, ref, { type: "merge", body }, options);
      objects.writeBack(written);
      return written;
    }
    case "patch status": {
      const metadata = action.exact ? { uid, resourceVersion } : { uid };
      const body = { metadata, status: action.status };
      const written = await client.patch(
        resource,
        ref,
        { type: "merge", body },
        { ...options, subresource: "status" },
      );
      objects.writeBack(written);
      return written;
    }
    case "set pod conditions": {
      if (pod === undefined) return request;
      const settings = { subresource: "status", resourceVersion: pod.resourceVersion } as const;
      const { conditions, annotations } = action;
      const { body } = podPatch(pod, { conditions, annotations }, clock.now(), settings);
      const written = await client.patch(
        podResource,
        { namespace: pod.namespace, name: pod.name },
        { type: "strategic", body },
        { ...options, subresource: "status" },
      );
      caches.pods.writeBack(written);
      return request;
    }
    case "delete": {
      const left = await client.delete(resource, ref, { ...options, uid });
      if (left === undefined) objects.remove(key, uid);
      else objects.writeBack(left);
      return request;
    }
  }
}
