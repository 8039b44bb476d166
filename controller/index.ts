/** The controller: workloads planned as pure functions, carried out by patches; admission for pods and kinds. Grouped by floor. */

// What would be done of any kind.
export { type DryRun, dryRunFor, dryRunKinds } from "./dry_run.ts";

// kinds: plans, and what `refit why` and `refit plan` tell with them.
export {
  CronJobChildren,
  observeAdvancedCronJob,
  planAdvancedCronJob,
} from "./kinds/advanced_cron_job/index.ts";
export {
  broadcastJobOptions,
  broadcastJobState,
  observeBroadcastJob,
  planBroadcastJob,
} from "./kinds/broadcast_job/index.ts";
export {
  cloneSetOptions,
  cloneSetState,
  observeCloneSet,
  planCloneSet,
} from "./kinds/clone_set/index.ts";
export {
  daemonSetOptions,
  daemonSetState,
  observeDaemonSet,
  planDaemonSet,
} from "./kinds/daemon_set/index.ts";
export type { PodState as EphemeralPodState } from "./kinds/ephemeral_job/model.ts";
export { targetsOf as ephemeralTargetsOf } from "./kinds/ephemeral_job/targets.ts";
export { nodeProbeName } from "./kinds/pod_probe_marker/model.ts";
export { relatedBudget } from "./kinds/pod_unavailable_budget/pod_facts.ts";
export {
  copiesOf,
  copyResources,
  type NamespacePlan,
  observeResourceDistribution,
  type ParsedDistribution,
  parseDistribution,
  planNamespace,
} from "./kinds/resource_distribution/index.ts";
export {
  observeSidecarSet,
  planSidecarSet,
  rolloutOf,
  type SidecarSetObserved,
  selectedIndex,
  sidecarSetState,
  type UnmanagedReason,
  unmanagedReason,
} from "./kinds/sidecar_set/index.ts";
export {
  observeStatefulSet,
  planStatefulSet,
  statefulSetOptions,
  statefulSetState,
} from "./kinds/stateful_set/index.ts";
export {
  REVISION_LABEL as unitedRevisionLabel,
  SUBSET_LABEL as subsetLabel,
} from "./kinds/united_deployment/names.ts";
export {
  observeUnitedDeployment,
  unitedIndex,
  unitedPodSelection,
} from "./kinds/united_deployment/observe.ts";
export { planUnitedDeployment, type UnitedPlan } from "./kinds/united_deployment/plan.ts";
export { subsetWorkloads } from "./kinds/united_deployment/subset_workloads.ts";
export type { SubsetWorkload } from "./kinds/united_deployment/workload.ts";
export { capOf as spreadCapOf } from "./kinds/workload_spread/caps.ts";
export { deletionCostAnnotation, hasCosts as hasSpreadCosts } from "./kinds/workload_spread/costs.ts";
export { matchOf as spreadMatchOf } from "./kinds/workload_spread/inject.ts";
export { record as recordInSpread } from "./kinds/workload_spread/ledger.ts";
export { listTarget as listSpreadTarget } from "./kinds/workload_spread/listed_target.ts";
export { observeWorkloadSpread, workloadSpreadInput } from "./kinds/workload_spread/observe.ts";
export { planWorkloadSpread, type SpreadPlan } from "./kinds/workload_spread/plan.ts";
export { CLOSED_MS as CLOSED_SUBSET_MS } from "./kinds/workload_spread/status.ts";
export type { SpreadWorkload } from "./kinds/workload_spread/target_workload.ts";
export { versionIgnored } from "./kinds/workload_spread/versions.ts";
export { Whitelist as SpreadWhitelist } from "./kinds/workload_spread/whitelist.ts";

// The list of kinds.
export { controllers, kinds, objectMetricDescriptions } from "./kinds.ts";

// native: what others own.
export { observedPod } from "./native/observed_pod.ts";
export { wholePodResource } from "./native/whole_pod.ts";

// plan: the vocabulary.
export { type PolicyRule, policyRule, readVerbs } from "./plan/access.ts";
export type { KindEffect } from "./plan/effects.ts";
export { ownerKeyOf } from "./plan/owners.ts";
export { imagePullJobResource, nodeImageResource } from "./plan/resources.ts";

// rollout: pure mechanisms.
export type { ObservedPullJob } from "./rollout/images/image_wait.ts";
export { currentStatus as currentPullStatus } from "./rollout/images/node_image.ts";
export { imageName } from "./rollout/in_place/running_image.ts";
export {
  GRACE_ANNOTATION as inPlaceGraceAnnotation,
  OLD_GRACE_ANNOTATION as oldInPlaceGraceAnnotation,
} from "./rollout/in_place/state.ts";
export { STATE_LABEL as lifecycleStateLabel } from "./rollout/lifecycle/lifecycle.ts";
export { isActive as isActivePod } from "./rollout/pods/pod_state.ts";
export type {
  Action,
  OtherAction,
  Plan,
  PodAction,
  PodPatchAction,
  RolloutEffect,
  Waiting,
} from "./rollout/writes/actions.ts";

// runtime: what carries plans out, and answers the API server.
export { generateCertificates } from "./runtime/admission/certificates/generate.ts";
export { answerConversion } from "./runtime/admission/conversion.ts";
export type { Refusal } from "./runtime/admission/refusals.ts";
export type { AdmissionHandler } from "./runtime/admission/request.ts";
export { decodeReview, encodeReview } from "./runtime/admission/review.ts";
export { type WebhookSettings, webhookSettings } from "./runtime/admission/settings.ts";
export { pathOf, webhookConfigurations } from "./runtime/admission/webhook_configurations.ts";
export {
  type FeatureGate,
  FeatureGateError,
  type FeatureGates,
  featureGateDefaults,
  featureGateNames,
  parseFeatureGates,
} from "./runtime/feature_gates.ts";
export { SharedWatches } from "./runtime/informers.ts";
export type { ServerFeatures } from "./runtime/kind.ts";
export { type ListedCluster, listedCluster } from "./runtime/listed_cluster.ts";
export { listedReads } from "./runtime/listed_deps.ts";
export { type ControllerOptions, controllerOptions } from "./runtime/options.ts";
export { shardOf, wholeCluster } from "./runtime/shard.ts";

// What starts a process.
export { type Controllers, startControllers } from "./start.ts";
export {
  type Admission,
  type AdmissionDeps,
  admission,
  admissionHandlers,
  admissionWebhooks,
  type Handlers,
} from "./start_admission.ts";
