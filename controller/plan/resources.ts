/**
 * How the kinds of the API are read and written, each in its storage version. A kind has one resource object, because
 * shared informers are found by it.
 */
import {
  advancedCronJob,
  broadcastJob,
  cloneSet,
  containerRecreateRequest,
  daemonSet,
  ephemeralJob,
  imageListPullJob,
  imagePullJob,
  type KindDefinition,
  type KindVersion,
  nodeImage,
  nodePodProbe,
  persistentPodState,
  podProbeMarker,
  podUnavailableBudget,
  resourceDistribution,
  type StoredObject,
  sidecarSet,
  statefulSet,
  storageVersion,
  unitedDeployment,
  withoutNullsOf,
  workloadSpread,
} from "../../crds/index.ts";
import { jsonResource, type Resource } from "../../kube/index.ts";

/** Of the workloads; budgets are in another. */
export const GROUP = "apps.kruise.io";

function resourceOf<Version extends KindVersion>(
  definition: KindDefinition<Version>,
): Resource<StoredObject<Version>> {
  const { group, kind, plural, scope } = definition;
  const { name: version } = storageVersion(definition);
  return jsonResource({ group, version, plural, kind, namespaced: scope === "Namespaced" }, (object) =>
    withoutNullsOf(definition, object),
  );
}

export const advancedCronJobResource = resourceOf(advancedCronJob);
export const broadcastJobResource = resourceOf(broadcastJob);
export const cloneSetResource = resourceOf(cloneSet);
export const containerRecreateRequestResource = resourceOf(containerRecreateRequest);
export const daemonSetResource = resourceOf(daemonSet);
export const ephemeralJobResource = resourceOf(ephemeralJob);
export const imageListPullJobResource = resourceOf(imageListPullJob);
export const imagePullJobResource = resourceOf(imagePullJob);
export const nodeImageResource = resourceOf(nodeImage);
export const nodePodProbeResource = resourceOf(nodePodProbe);
export const persistentPodStateResource = resourceOf(persistentPodState);
export const podProbeMarkerResource = resourceOf(podProbeMarker);
export const podUnavailableBudgetResource = resourceOf(podUnavailableBudget);
export const resourceDistributionResource = resourceOf(resourceDistribution);
export const sidecarSetResource = resourceOf(sidecarSet);
export const statefulSetResource = resourceOf(statefulSet);
export const unitedDeploymentResource = resourceOf(unitedDeployment);
export const workloadSpreadResource = resourceOf(workloadSpread);

/** `apiVersion` of the objects of a resource. */
export function groupVersionOf({ group, version }: Pick<Resource<unknown>, "group" | "version">): string {
  return group === "" ? version : `${group}/${version}`;
}
