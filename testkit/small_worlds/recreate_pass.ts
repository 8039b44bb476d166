/** Passes of the reconciler of ContainerRecreateRequests, each over what it is given, and what its queue makes of news. */
import { containerRecreateRequestKind } from "../../controller/kinds/container_recreate_request/index.ts";
import { containerRecreateRequestReconciler } from "../../controller/kinds/container_recreate_request/reconcile.ts";
import { containerRecreateRequestResource } from "../../controller/plan/resources.ts";
import { enqueueItself } from "../../controller/runtime/owner_queues.ts";
import type { Result } from "../../controller/runtime/reconciler.ts";
import type { ContainerRecreateRequest } from "../../crds/index.ts";
import type { JsonObject } from "../../kube/core/index.ts";
import { type Change, KubeError, podResource, type Resource, WorkQueue } from "../../kube/index.ts";
import { kindDeps } from "../controller/kind_deps_builder.ts";
import { testClock } from "../kube/fake_clock.ts";
import { fakeServer } from "../kube/fake_server.ts";

export interface RequestObserved {
  readonly request: ContainerRecreateRequest;
  /** As its watch shows it; undefined where it shows none of this owner. */
  readonly seenPod: JsonObject | undefined;
  /** As the server has it. */
  readonly pod: JsonObject | undefined;
  readonly now: number;
}

export async function passOver({ request, seenPod, pod, now }: RequestObserved): Promise<Result> {
  const client = {
    ...fakeServer().client,
    get: async <T>({ codec }: Resource<T>): Promise<T> => {
      if (pod === undefined) throw new KubeError("NotFound", "no such pod");
      return decoded(codec, pod);
    },
  };
  const deps = kindDeps(containerRecreateRequestResource, client, { ...testClock(), now: () => now });
  if (seenPod !== undefined) deps.caches.pods.upsert(decoded(podResource.codec, seenPod));
  const { key } = deps.resource.codec.identify(request);
  return (await containerRecreateRequestReconciler(deps).reconcile(request, key)) ?? {};
}

/** Whether another pass follows one that went well. */
export function isFollowedUp({
  known,
  planned,
}: {
  known: ContainerRecreateRequest;
  planned: Result;
}): boolean {
  const deps = kindDeps(containerRecreateRequestResource, fakeServer().client, testClock());
  const { key } = deps.resource.codec.identify(known);
  containerRecreateRequestReconciler(deps).executed?.(key, planned, { writes: new Map() });
  return deps.queue.depth > 0;
}

export function isNews(change: Change<ContainerRecreateRequest>): boolean {
  const queue = new WorkQueue({ clock: testClock() });
  const shell = { forget: () => undefined, isStatusByOthers: () => false };
  enqueueItself(containerRecreateRequestKind, queue, shell, change);
  return queue.depth > 0;
}

function decoded<T>(codec: Resource<T>["codec"], pod: JsonObject): T {
  return codec.decode(Buffer.from(JSON.stringify(pod)), "application/json");
}
