/** Typed views of the core objects that simulated components read. Absent fields are absent, as in the API's JSON. */
import type {
  V1Container,
  V1ContainerState,
  V1ContainerStateTerminated,
  V1ContainerStatus,
  V1NodeSpec,
  V1NodeStatus,
  V1PersistentVolumeClaimSpec,
  V1PodAffinityTerm,
  V1PodSpec,
  V1PodStatus,
  V1ResourceRequirements,
} from "@kubernetes/client-node";
import { isConditionTrue, isJsonObject } from "../../kube/core/index.ts";
import type { StoredObject } from "../cluster.ts";
import type { AsJson } from "./as_json.ts";

export type ResourceList = AsJson<V1ResourceRequirements>;
export type Container = AsJson<V1Container>;
export type PodAffinityTerm = AsJson<V1PodAffinityTerm>;
export type PodSpec = AsJson<V1PodSpec>;
export type ContainerTermination = AsJson<V1ContainerStateTerminated>;
export type ContainerState = AsJson<V1ContainerState>;
export type ContainerStatus = AsJson<V1ContainerStatus>;
export type PodStatus = AsJson<V1PodStatus>;
export type PodObject = StoredObject & { spec: PodSpec; status?: PodStatus };
export type NodeObject = StoredObject & { spec: AsJson<V1NodeSpec>; status?: AsJson<V1NodeStatus> };
export type ClaimSpec = AsJson<V1PersistentVolumeClaimSpec>;

export function isPod(object: StoredObject | undefined): object is PodObject {
  const spec = object?.["spec"];
  return typeof spec === "object" && spec !== null && "containers" in spec && Array.isArray(spec.containers);
}

export function isNode(object: StoredObject | undefined): object is NodeObject {
  return object !== undefined && isJsonObject(object["spec"]);
}

/** Succeeded or Failed: such a pod holds no resources and never changes by itself again. */
export function isFinished(pod: PodObject): boolean {
  return pod.status?.phase === "Succeeded" || pod.status?.phase === "Failed";
}

export function isPodReady(pod: PodObject): boolean {
  return isConditionTrue(pod.status?.conditions, "Ready");
}

/** Names of the claims that a pod mounts; generic ephemeral volumes are claims named after pod and volume. */
export function claimNames(pod: PodObject): string[] {
  const names: string[] = [];
  for (const volume of pod.spec.volumes ?? []) {
    if (volume.persistentVolumeClaim) names.push(volume.persistentVolumeClaim.claimName);
    else if (volume.ephemeral) names.push(`${pod.metadata.name}-${volume.name}`);
  }
  return names;
}
