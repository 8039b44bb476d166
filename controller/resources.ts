/**
 * How the kinds of the API are read and written: in their storage version, one resource object each. Shared informers
 * are found by it.
 */
import {
  type AdvancedCronJob,
  advancedCronJob,
  type BroadcastJob,
  broadcastJob,
  type CloneSet,
  type ContainerRecreateRequest,
  cloneSet,
  containerRecreateRequest,
  type DaemonSet,
  daemonSet,
  type EphemeralJob,
  ephemeralJob,
  type ImageListPullJob,
  type ImagePullJob,
  imageListPullJob,
  imagePullJob,
  type KindDefinition,
  type NodeImage,
  type NodePodProbe,
  nodeImage,
  nodePodProbe,
  type PersistentPodState,
  type PodProbeMarker,
  type PodUnavailableBudget,
  persistentPodState,
  podProbeMarker,
  podUnavailableBudget,
  type StatefulSet,
  statefulSet,
} from "../crds/index.ts";
import type { KubeObject } from "../kube/core/index.ts";
import { jsonResource, type Resource } from "../kube/index.ts";

export const advancedCronJobResource = resourceOf<AdvancedCronJob>(advancedCronJob);
export const broadcastJobResource = resourceOf<BroadcastJob>(broadcastJob);
export const cloneSetResource = resourceOf<CloneSet>(cloneSet);
export const containerRecreateRequestResource =
  resourceOf<ContainerRecreateRequest>(containerRecreateRequest);
export const daemonSetResource = resourceOf<DaemonSet>(daemonSet);
export const ephemeralJobResource = resourceOf<EphemeralJob>(ephemeralJob);
export const imageListPullJobResource = resourceOf<ImageListPullJob>(imageListPullJob);
export const imagePullJobResource = resourceOf<ImagePullJob>(imagePullJob);
export const nodeImageResource = resourceOf<NodeImage>(nodeImage);
export const nodePodProbeResource = resourceOf<NodePodProbe>(nodePodProbe);
export const persistentPodStateResource = resourceOf<PersistentPodState>(persistentPodState);
export const podProbeMarkerResource = resourceOf<PodProbeMarker>(podProbeMarker);
export const podUnavailableBudgetResource = resourceOf<PodUnavailableBudget>(podUnavailableBudget);
export const statefulSetResource = resourceOf<StatefulSet>(statefulSet);

function resourceOf<T extends KubeObject>(definition: KindDefinition): Resource<T> {
  const { group, kind, plural, scope, versions } = definition;
  const stored = versions.find((version) => version.storage);
  if (stored === undefined) throw new Error(`${kind} has no storage version`);
  return jsonResource<T>({ group, version: stored.name, plural, kind, namespaced: scope === "Namespaced" });
}
