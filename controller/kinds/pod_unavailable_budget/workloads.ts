/** The workloads behind a budget: how many pods they want. Spec: protection A4, rules 1 to 4. */
import { groupOf, type PodUnavailableBudget } from "../../../crds/index.ts";
import { parseSelector } from "../../../kube/core/index.ts";
import type { ControllerOf, Pod } from "../../../kube/index.ts";
import type { Scale, ScaleReference } from "../../native/scale_lookup.ts";
import { isActive } from "../../rollout/pods/pod_state.ts";

export interface FoundWorkload {
  uid: string;
  replicas: number;
  terminating: boolean;
  controller?: ControllerOf | undefined;
}

/** Where workloads are found; by group, kind and name in one namespace. */
export interface WorkloadSource {
  /** Of the kinds that are watched; `unknown` for all others. */
  known(namespace: string, group: string, kind: string, name: string): FoundWorkload | "unknown" | undefined;
  /** UIDs of the ReplicaSets of a Deployment that are not being deleted. */
  replicaSetsOf(namespace: string, deploymentUid: string): readonly string[];
  scaleOf(reference: ScaleReference): Promise<Scale | undefined>;
}

export interface Protected {
  pods: readonly Pod[];
  /** Those of an object that had the target's kind and name before it. */
  former: readonly Pod[];
  /** -1 when it cannot be known. */
  totalReplicas: number;
}

const none: Protected = { pods: [], former: [], totalReplicas: 0 };

/** Rules 1 to 3. `pods` are those of the namespace. Throws KubeError. */
export async function podsOfTarget(
  object: PodUnavailableBudget,
  pods: readonly Pod[],
  source: WorkloadSource,
): Promise<Protected> {
  const { apiVersion = "", kind = "", name = "" } = object.spec.targetRef ?? {};
  const namespace = object.metadata.namespace ?? "";
  const group = groupOf(apiVersion);
  const workload = source.known(namespace, group, kind, name);
  if (workload === "unknown") {
    const scale = await source.scaleOf({ group, kind, namespace, name });
    return scale === undefined ? none : podsOfScale(pods, scale);
  }
  if (workload === undefined || workload.terminating || workload.replicas === 0) return none;
  const uids = new Set([workload.uid]);
  if (group === "apps" && kind === "Deployment") {
    for (const uid of source.replicaSetsOf(namespace, workload.uid)) uids.add(uid);
  }
  const former = pods.filter(
    ({ controller }) =>
      controller?.kind === kind &&
      controller.group === group &&
      controller.name === name &&
      controller.uid !== workload.uid,
  );
  return { pods: ownedBy(pods, uids), former, totalReplicas: workload.replicas };
}

function podsOfScale(pods: readonly Pod[], { uid, replicas, selector }: Scale): Protected {
  if (replicas === 0) return none;
  const owned = ownedBy(pods, new Set([uid]));
  if (owned.length > 0 || selector === "") return { ...none, pods: owned, totalReplicas: replicas };
  const compiled = parseSelector(selector);
  return { ...none, pods: pods.filter((pod) => compiled.matches(pod.labels)), totalReplicas: replicas };
}

function ownedBy(pods: readonly Pod[], uids: ReadonlySet<string>): Pod[] {
  return pods.filter((pod) => pod.controller !== undefined && uids.has(pod.controller.uid));
}

/** Rule 4: the replicas of all workloads that control any of these pods; pods without a controller add nothing. Throws KubeError. */
export async function replicasOfControllers(
  namespace: string,
  pods: readonly Pod[],
  source: WorkloadSource,
): Promise<number> {
  const replicas = new Map<string, number>();
  for (const pod of pods) {
    const { controller } = pod;
    if (controller === undefined || !isActive(pod) || replicas.has(controller.uid)) continue;
    const found = await topOf(namespace, controller, source);
    // A ReplicaSet stands for its Deployment, which counts once.
    replicas.set(controller.uid, 0);
    if (found !== undefined) replicas.set(found.uid, found.replicas);
  }
  return [...replicas.values()].reduce((sum, each) => sum + each, 0);
}

async function topOf(
  namespace: string,
  controller: ControllerOf,
  source: WorkloadSource,
): Promise<{ uid: string; replicas: number } | undefined> {
  const { group, kind, name, uid } = controller;
  const found = source.known(namespace, group, kind, name);
  if (found === "unknown") {
    const scale = await source.scaleOf({ group, kind, namespace, name });
    return scale === undefined || scale.uid !== uid
      ? undefined
      : { uid, replicas: Math.max(0, scale.replicas) };
  }
  if (found === undefined || found.uid !== uid) return undefined;
  const above = found.controller;
  // A ReplicaSet on its way out takes nothing from what its Deployment wants.
  if (above?.kind === "Deployment" && above.group === "apps") return topOf(namespace, above, source);
  return found.terminating ? undefined : found;
}
