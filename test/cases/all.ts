/** The register of suites, in the order in which they are listed and started. */

import { suite as definitions } from "./01_crds_and_columns.ts";
import { suite as failover } from "./03_leader_failover.ts";
import { suite as certificates } from "./04_webhook_certificates.ts";
import { suite as create } from "./06_cloneset_create.ts";
import { suite as recreate } from "./07_cloneset_recreate.ts";
import { suite as inPlaceImage } from "./08_cloneset_inplace_image.ts";
import { suite as inPlaceOnly } from "./09_cloneset_inplace_only.ts";
import { suite as claims } from "./10_cloneset_claims.ts";
import { suite as selectiveDelete } from "./11_cloneset_selective_delete.ts";
import { suite as partition } from "./12_cloneset_partition.ts";
import { suite as pause } from "./13_cloneset_pause.ts";
import { suite as budgets } from "./14_cloneset_budgets.ts";
import { suite as metadata } from "./15_cloneset_metadata_env.ts";
import { suite as scale } from "./16_scale_and_hpa.ts";
import { suite as rolloutCommands } from "./17_rollout_commands.ts";
import { suite as ownerTree, otherSuite as ownerTreesOfOthers } from "./18_owner_tree.ts";
import { suite as takeOver } from "./19_asts_from_native.ts";
import { suite as setsAtOnce } from "./20_asts_max_unavailable.ts";
import { suite as setPartition } from "./21_asts_partition.ts";
import { suite as setInPlace } from "./22_asts_inplace.ts";
import { changed as graceChanged, whole as graceWhole } from "./23_asts_inplace_grace.ts";
import { suite as setPaused } from "./24_asts_paused.ts";
import { suite as reservedOrdinals } from "./25_asts_reserve_ordinals.ts";
import { suite as scaleLimit } from "./26_asts_scale_limit.ts";
import { suite as setPriority } from "./27_asts_priority_update.ts";
import { suite as orderedSets } from "./28_asts_order_and_ondelete.ts";
import { suite as daemonNodeSelector } from "./29_ads_standard_and_node_selector.ts";
import { suite as daemonPartition } from "./30_ads_partition_paused_ondelete.ts";
import { suite as daemonInPlace } from "./31_ads_inplace.ts";
import { suite as daemonSurge } from "./32_ads_surging.ts";
import { suite as daemonNodes } from "./33_ads_nodes.ts";
import { suite as jobRun } from "./34_bcj_run.ts";
import { suite as jobCompletion } from "./35_bcj_completion.ts";
import { suite as jobFailure } from "./36_bcj_failure_policy.ts";
import { suite as cronBroadcast } from "./37_acj_broadcast.ts";
import { suite as cronJobs } from "./38_acj_job_template.ts";
import {
  following as cronFollowing,
  overlapping as cronOverlapping,
  pausing as cronPausing,
  replacing as cronReplacing,
  zones as cronZones,
} from "./39_acj_concurrency_pause_zone.ts";
import { suite as sidecarInjection } from "./40_sidecarset_inject.ts";
import { suite as sidecarUpdate } from "./41_sidecarset_update.ts";
import { suite as hotUpgrade } from "./42_sidecarset_hot_upgrade.ts";
import { suite as unitedSubsets } from "./43_ud_subsets.ts";
import { suite as unitedPartitions } from "./44_ud_partitions.ts";
import { suite as workloadSpread } from "./45_workloadspread.ts";
import { suite as launchOrder } from "./46_launch_priority.ts";
import { suite as containerRecreate } from "./47_container_recreate.ts";
import { suite as imagePull } from "./48_image_pull.ts";
import { suite as preDownload } from "./49_image_pre_download.ts";
import { suite as deletionProtection } from "./50_deletion_protection.ts";
import { suite as budget, updateSuite as updateBudget } from "./51_pod_unavailable_budget.ts";
import { suite as probeMarkers } from "./52_pod_probe_marker.ts";
import { nativeSuite as nativePersistentState, suite as persistentState } from "./53_persistent_pod_state.ts";
import { suite as resourceDistribution } from "./54_resource_distribution.ts";
import { suite as ephemeralJobs } from "./55_ephemeral_job.ts";
import { suite as agentOnNodes } from "./a01_agent_on_nodes.ts";
import { suite as agentFaults } from "./a02_agent_faults.ts";
import { suite as jobNodes } from "./b34_bcj_nodes.ts";
import { suite as claimReuse } from "./c07_claim_reuse.ts";
import { suite as specifiedDelete } from "./c08_specified_delete.ts";
import { suite as lifecycleHooks } from "./c10_lifecycle_hooks.ts";
import { suite as progress } from "./c13_progress_condition.ts";
import { suite as onDelete } from "./c16_on_delete.ts";
import { suite as claimTemplateGate } from "./c17_claim_template_gate.ts";
import { suite as updateOrder } from "./c20_update_order.ts";
import { suite as daemonFromNative } from "./d07_daemon_from_native.ts";
import { suite as daemonHooks } from "./d10_daemon_hooks.ts";
import { suite as daemonPortions } from "./d15_daemon_portions.ts";
import { suite as daemonCommands } from "./d17_daemon_commands.ts";
import { suite as daemonPreDownload } from "./d19_daemon_pre_download.ts";
import { suite as sidecarCommands } from "./d40_sidecarset_commands.ts";
import { suite as daemonPrune } from "./d56_daemon_prune.ts";
import { suite as cronImages } from "./e39_acj_image_list.ts";
import { inPlaceSuite as killsInPlace, recreateSuite as killsRecreating } from "./f01_random_kills.ts";
import { suite as shards } from "./f02_shards.ts";
import { suite as waitingContainers } from "./f05_containers_and_kills.ts";
import { suite as gatedKinds } from "./g06_gated_kinds.ts";
import { suite as hotUpgradeTraffic } from "./h42_hot_upgrade_traffic.ts";
import { suite as hotUpgradeKills } from "./h43_hot_upgrade_agent_kills.ts";
import { suite as launchPriority } from "./i05_launch_priority_batches.ts";
import { suite as gracePeriod } from "./i08_grace_period.ts";
import { suite as verticalScaling } from "./i12_vertical_scaling.ts";
import { suite as changedMind } from "./i17_changed_mind.ts";
import { suite as environmentRestarts } from "./i18_environment_restarts.ts";
import { suite as sidecarHistory } from "./k09_sidecarset_history.ts";
import { suite as sidecarSources } from "./k09_sidecarset_injection.ts";
import { suite as sidecarReleases } from "./k09_sidecarset_rollouts.ts";
import { suite as probeHandlers } from "./m01_probe_handlers.ts";
import { suite as serverlessProbes } from "./m02_serverless_probes.ts";
import { suite as enhancedLiveness } from "./m03_enhanced_liveness.ts";
import { suite as isolation } from "./n01_isolation.ts";
import { suite as recreateHooks } from "./r03_recreate_hooks.ts";
import { suite as recreateGate } from "./r07_recreate_gate.ts";
import { suite as replacedPods } from "./s16_replaced_pods.ts";
import { suite as startOrdinal } from "./s18_start_ordinal.ts";
import { suite as claimGrowth } from "./s19_claim_growth.ts";
import { suite as addedClaims } from "./s21_new_claim_templates.ts";
import type { Suite } from "./suite.ts";
import { suite as sidecarTerminator } from "./t01_sidecar_terminator.ts";
import { suite as livePage } from "./u01_live_page.ts";
import { suite as unitedWorkloads } from "./u05_ud_workloads.ts";
import { suite as unitedRescheduling } from "./u12_ud_rescheduling.ts";
import { suite as sidecarAdmission } from "./v40_sidecarset_admission.ts";
import { suite as twoAddresses } from "./w01_two_addresses.ts";
import { suite as spreadKinds } from "./w08_workloadspread_kinds.ts";
import { suite as situations } from "./y01_situations.ts";

/** The longest first, so that none of them is left alone at the end. */
export const suites: readonly Suite[] = [
  situations,
  spreadKinds,
  isolation,
  definitions,
  cronJobs,
  unitedRescheduling,
  changedMind,
  ephemeralJobs,
  imagePull,
  containerRecreate,
  updateBudget,
  preDownload,
  hotUpgradeTraffic,
  sidecarReleases,
  sidecarSources,
  cronBroadcast,
  cronOverlapping,
  cronFollowing,
  cronReplacing,
  cronPausing,
  cronZones,
  scaleLimit,
  orderedSets,
  graceChanged,
  graceWhole,
  budgets,
  lifecycleHooks,
  rolloutCommands,
  updateOrder,
  create,
  recreate,
  inPlaceImage,
  inPlaceOnly,
  claims,
  selectiveDelete,
  partition,
  pause,
  metadata,
  scale,
  ownerTree,
  ownerTreesOfOthers,
  takeOver,
  setsAtOnce,
  setPartition,
  setInPlace,
  setPaused,
  reservedOrdinals,
  setPriority,
  daemonNodeSelector,
  daemonPartition,
  daemonInPlace,
  daemonSurge,
  daemonFromNative,
  daemonHooks,
  daemonPortions,
  daemonCommands,
  daemonPreDownload,
  daemonPrune,
  claimReuse,
  specifiedDelete,
  progress,
  onDelete,
  launchPriority,
  gracePeriod,
  claimTemplateGate,
  verticalScaling,
  replacedPods,
  environmentRestarts,
  startOrdinal,
  claimGrowth,
  addedClaims,
  sidecarUpdate,
  hotUpgrade,
  hotUpgradeKills,
  sidecarInjection,
  sidecarCommands,
  sidecarHistory,
  unitedSubsets,
  unitedPartitions,
  unitedWorkloads,
  launchOrder,
  recreateHooks,
  recreateGate,
  cronImages,
  jobRun,
  jobCompletion,
  jobFailure,
  jobNodes,
  probeMarkers,
  resourceDistribution,
  gatedKinds,
  sidecarTerminator,
  sidecarAdmission,
  probeHandlers,
  serverlessProbes,
  enhancedLiveness,
  agentOnNodes,
  budget,
  persistentState,
  nativePersistentState,
  workloadSpread,
  failover,
  twoAddresses,
  deletionProtection,
  certificates,
  shards,
  killsInPlace,
  killsRecreating,
  waitingContainers,
  agentFaults,
  daemonNodes,
  livePage,
];

/**
 * Each of the chosen suites in one of its versions, in turn over the register: `first` says which its first suite takes.
 * With 0 and with 1 a suite runs in both, whatever else is chosen.
 */
export function oneVersionEach(chosen: readonly Suite[], first: 0 | 1): Suite[] {
  return chosen.map((suite) => {
    const versions = suite.versions ?? (["v1alpha1", "v1beta1"] as const);
    return { ...suite, versions: [versions[(suites.indexOf(suite) + first) % versions.length] ?? "v1beta1"] };
  });
}

/** The suite of each kind's first acceptance case. A kind that is served without one fails `first_cases_1_test.ts`. */
export const firstCases: Readonly<Record<string, Suite>> = {
  CloneSet: create,
  StatefulSet: takeOver,
  DaemonSet: daemonNodeSelector,
  BroadcastJob: jobRun,
  AdvancedCronJob: cronBroadcast,
  UnitedDeployment: unitedSubsets,
  ContainerRecreateRequest: containerRecreate,
  ImagePullJob: imagePull,
  ImageListPullJob: cronImages,
  NodeImage: imagePull,
  SidecarSet: sidecarInjection,
  PodUnavailableBudget: budget,
  PodProbeMarker: probeMarkers,
  NodePodProbe: probeMarkers,
  PersistentPodState: persistentState,
  ResourceDistribution: resourceDistribution,
  WorkloadSpread: workloadSpread,
  EphemeralJob: ephemeralJobs,
};

/** Files that share suites out, so that they run side by side. */
type File =
  | "first"
  | "cloneset"
  | "statefulset"
  | "daemonset"
  | "gated"
  | "fault"
  | "own controller"
  | "other";

function fileOf(suite: Suite): File {
  const { title, needs, gates } = suite;
  if (Object.values(firstCases).includes(suite)) return "first";
  if (needs.includes("own-controller")) return title.startsWith("Fault: ") ? "fault" : "own controller";
  if (gates !== undefined) return "gated";
  if (title.startsWith("CloneSet: ")) return "cloneset";
  if (title.startsWith("Advanced StatefulSet: ")) return "statefulset";
  return title.startsWith("Advanced DaemonSet: ") ? "daemonset" : "other";
}

/** What a test file takes. `share`: its number and how many files share the suites, where one would take too long. */
export function suitesFor(file: File, share: readonly [number: number, of: number] = [1, 1]): Suite[] {
  const [number, of] = share;
  return suites.filter((suite) => fileOf(suite) === file).filter((_, index) => index % of === number - 1);
}
