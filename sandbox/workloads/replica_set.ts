/** ReplicaSets: keep a number of pods. */
import { refOf } from "../../kube/core/index.ts";
import type { Next } from "../agenda.ts";
import type { StoredObject } from "../cluster.ts";
import { isReplicaSet, type ReplicaSetObject } from "../objects/index.ts";
import { byWorth, countPods, isActive } from "./pod_index.ts";
import {
  claimPods,
  createPod,
  deletePod,
  podFromTemplate,
  refusedRetryMs,
  type WorkloadDeps,
  type WorkloadKind,
  WorkloadLoop,
} from "./workload.ts";

const kind: WorkloadKind = {
  resource: "replicasets.apps",
  apiVersion: "apps/v1",
  kind: "ReplicaSet",
  component: "replicaset-controller",
};

/** Pods made or deleted in one pass; the rest follow in the next. */
const burst = 500;

export function startReplicaSets(deps: WorkloadDeps): WorkloadLoop {
  return new WorkloadLoop(deps, kind, (object, key) => reconcile(deps, object, key));
}

async function reconcile(deps: WorkloadDeps, object: StoredObject, key: string): Promise<Next> {
  if (!isReplicaSet(object)) return undefined;
  const pods = claimPods(deps, kind, object);
  const active = pods.filter(isActive);
  const wanted = object.spec.replicas ?? 1;
  let wakeAfterMs: Next;
  if (!object.metadata.deletionTimestamp) {
    const missing = wanted - active.length;
    for (let count = 0; count < Math.min(missing, burst); count++) {
      if (await createPod(deps, kind, object, podFromTemplate(object, kind, object.spec.template))) continue;
      wakeAfterMs = refusedRetryMs;
      break;
    }
    if (missing < 0) {
      const doomed = active.toSorted(byWorth).slice(0, Math.min(-missing, burst));
      for (const pod of doomed) await deletePod(deps, kind, object, pod);
    }
    if (Math.abs(missing) > burst) wakeAfterMs = 0;
  }
  const nextAvailable = writeStatus(deps, object, key);
  return wakeAfterMs ?? nextAvailable;
}

function writeStatus(deps: WorkloadDeps, object: ReplicaSetObject, key: string): Next {
  const all = deps.pods.ownedBy(object);
  const active = all.filter(isActive);
  const counts = countPods(active, object.spec.minReadySeconds ?? 0, deps.clock.now());
  const labels = Object.entries(object.spec.template.metadata?.labels ?? {});
  deps.cluster.update(kind.resource, refOf(key), (draft) => {
    if (!isReplicaSet(draft) || draft.metadata.uid !== object.metadata.uid) return;
    draft.status = {
      ...draft.status,
      replicas: active.length,
      fullyLabeledReplicas: active.filter((pod) => labels.every(([k, v]) => pod.metadata.labels?.[k] === v))
        .length,
      readyReplicas: counts.ready,
      availableReplicas: counts.available,
      observedGeneration: object.metadata.generation ?? 0,
    };
  });
  return counts.wakeAfterMs;
}
