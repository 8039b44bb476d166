/** The controller: workloads planned as pure functions, carried out by patches; admission for pods and kinds. */

export { type PolicyRule, policyRule, readVerbs } from "./access.ts";
export * from "./admission/index.ts";
export {
  type CronJobChild,
  childOfBroadcastJob,
  childOfImageListPullJob,
  childOfJob,
  controllingCronJob,
  planAdvancedCronJob,
} from "./advanced_cron_job/index.ts";
export {
  broadcastJobEligibility,
  broadcastJobOptions,
  broadcastJobPass,
  broadcastJobStrategy,
  planBroadcastJob,
  TaskIndex,
} from "./broadcast_job/index.ts";
export { broadcastJobResource } from "./broadcast_job/resource.ts";
export * from "./clone_set/index.ts";
export { cloneSetResource } from "./clone_set/resource.ts";
export {
  availabilityOf,
  DaemonIndex,
  type DaemonSetOptions,
  type DaemonSetSeen,
  daemonSetOptions,
  daemonSetPass,
  nodeEligibility,
  planDaemonSet,
} from "./daemon_set/index.ts";
export type { PodState as EphemeralPodState } from "./ephemeral_job/model.ts";
export { targetsOf as ephemeralTargetsOf } from "./ephemeral_job/targets.ts";
export {
  type FeatureGate,
  FeatureGateError,
  type FeatureGates,
  featureGateDefaults,
  featureGateNames,
  parseFeatureGates,
} from "./feature_gates.ts";
export { imageListPullJobResource } from "./image_list_pull_job/resource.ts";
export { controllers, kinds } from "./kinds.ts";
export { currentStatus as currentPullStatus } from "./node_image/model.ts";
export { type ObservedPod, observedPod } from "./observed_pod.ts";
export { type ControllerOptions, controllerOptions } from "./options.ts";
export { nodeProbeName } from "./pod_probe_marker/model.ts";
export { relatedBudget } from "./pod_unavailable_budget/pod_facts.ts";
export {
  type Copy,
  copyResources,
  type PlacePlan,
  planPlace,
  type Wanted,
  wantedOf,
} from "./resource_distribution/index.ts";
export { type SeenPullJob, WAIT_FOR_IMAGE_ANNOTATION } from "./rollout/images/image_wait.ts";
export { isActive as isActivePod } from "./rollout/pods/pod_state.ts";
export { byNumber } from "./rollout/revisions/revisions.ts";
export type { Action, Plan, Waiting } from "./rollout/writes/actions.ts";
export { PendingPods } from "./rollout/writes/pending_pods.ts";
export { type Shard, shardOf, wholeCluster } from "./shard.ts";
export {
  matchedNamespaces,
  planSidecarSet,
  rolloutOf,
  SidecarIndex,
  type SidecarSetSeen,
  sidecarSetPass,
  type UnmanagedReason,
  unmanagedReason,
} from "./sidecar_set/index.ts";
export { type Controllers, type ControllersDeps, startControllers } from "./start.ts";
export { type Admission, type AdmissionDeps, admission, admissionWebhooks } from "./start_admission.ts";
export {
  planStatefulSet,
  StatefulSetIndex,
  type StatefulSetOptions,
  type StatefulSetSeen,
  statefulSetOptions,
  statefulSetPass,
} from "./stateful_set/index.ts";
export { UnitedIndex } from "./united_deployment/classify.ts";
export {
  REVISION_LABEL as unitedRevisionLabel,
  SUBSET_LABEL as subsetLabel,
} from "./united_deployment/names.ts";
export { planUnitedDeployment, type UnitedPlan } from "./united_deployment/plan.ts";
export { type SubsetWorkload, workloadOf as subsetWorkloadOf } from "./united_deployment/workload.ts";
export { workloadKinds as subsetWorkloadKinds } from "./united_deployment/workloads.ts";
export { adoptedPods } from "./workload_spread/adopt.ts";
export { capOf as spreadCapOf } from "./workload_spread/caps.ts";
export { deletionCostAnnotation, hasCosts as hasSpreadCosts } from "./workload_spread/costs.ts";
export { matchOf as spreadMatchOf } from "./workload_spread/inject.ts";
export { record as recordInSpread } from "./workload_spread/ledger.ts";
export { listTarget as listSpreadTarget } from "./workload_spread/listed_target.ts";
export { planWorkloadSpread, type SpreadPlan } from "./workload_spread/plan.ts";
export { CLOSED_MS as CLOSED_SUBSET_MS } from "./workload_spread/status.ts";
export { podsOfWorkload as podsOfSpread, type SpreadWorkload } from "./workload_spread/target_workload.ts";
export { versionIgnored } from "./workload_spread/versions.ts";
export { Whitelist as SpreadWhitelist } from "./workload_spread/whitelist.ts";
export { wholePodResource } from "./workload_spread/whole_pod.ts";
