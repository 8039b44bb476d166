/** The registry of kinds that the controller carries out. */
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
import { jsonEqual, type KubeObject } from "../kube/core/index.ts";
import { advancedCronJobShell } from "./advanced_cron_job/index.ts";
import { broadcastJobShell } from "./broadcast_job/index.ts";
import { cloneSetShell } from "./clone_set/index.ts";
import { launchPriorityController } from "./container_launch_priority/index.ts";
import { containerRecreateRequestShell } from "./container_recreate_request/index.ts";
import { daemonSetShell } from "./daemon_set/index.ts";
import { ephemeralJobShell } from "./ephemeral_job/index.ts";
import { imageListPullJobShell } from "./image_list_pull_job/index.ts";
import { imagePullJobShell } from "./image_pull_job/index.ts";
import type { Kind, PlainController } from "./kind.ts";
import { nodeImageShell } from "./node_image/index.ts";
import { persistentPodStateShell } from "./persistent_pod_state/index.ts";
import { nodePodProbeShell, podProbeMarkerShell } from "./pod_probe_marker/index.ts";
import { podReadinessController } from "./pod_readiness/index.ts";
import { podUnavailableBudgetShell } from "./pod_unavailable_budget/index.ts";
import {
  advancedCronJobResource,
  broadcastJobResource,
  cloneSetResource,
  containerRecreateRequestResource,
  daemonSetResource,
  ephemeralJobResource,
  imageListPullJobResource,
  imagePullJobResource,
  nodeImageResource,
  nodePodProbeResource,
  persistentPodStateResource,
  podProbeMarkerResource,
  podUnavailableBudgetResource,
  statefulSetResource,
} from "./resources.ts";
import { sidecarTerminatorController } from "./sidecar_terminator/index.ts";
import { statefulSetShell } from "./stateful_set/index.ts";

const cloneSetKind: Kind<CloneSet> = {
  kind: cloneSet.kind,
  controllerName: "cloneset-controller",
  resource: cloneSetResource,
  sharded: true,
  shell: cloneSetShell,
  statusMatters: (before, after) => before.status?.currentRevision !== after.status?.currentRevision,
};

const statefulSetKind: Kind<StatefulSet> = {
  kind: statefulSet.kind,
  controllerName: "statefulset-controller",
  resource: statefulSetResource,
  sharded: true,
  shell: statefulSetShell,
  statusMatters: (before, after) => before.status?.currentRevision !== after.status?.currentRevision,
};

const daemonSetKind: Kind<DaemonSet> = {
  kind: daemonSet.kind,
  controllerName: "daemonset-controller",
  resource: daemonSetResource,
  sharded: true,
  shell: daemonSetShell,
  statusMatters: () => false,
};

const persistentPodStateKind: Kind<PersistentPodState> = {
  kind: persistentPodState.kind,
  controllerName: "persistentpodstate-controller",
  resource: persistentPodStateResource,
  shell: persistentPodStateShell,
  statusMatters: () => false,
};

const containerRecreateRequestKind: Kind<ContainerRecreateRequest> = {
  kind: containerRecreateRequest.kind,
  controllerName: "containerrecreaterequest-controller",
  resource: containerRecreateRequestResource,
  enabled: (gates) => gates.KruiseDaemon,
  shell: containerRecreateRequestShell,
  statusMatters: (before, after) =>
    before.status?.phase !== after.status?.phase ||
    !jsonEqual(before.status?.containerRecreateStates, after.status?.containerRecreateStates),
};

const advancedCronJobKind: Kind<AdvancedCronJob> = {
  kind: advancedCronJob.kind,
  sharded: true,
  controllerName: "advancedcronjob-controller",
  resource: advancedCronJobResource,
  shell: advancedCronJobShell,
  statusMatters: (before, after) => before.status?.lastScheduleTime !== after.status?.lastScheduleTime,
};

const broadcastJobKind: Kind<BroadcastJob> = {
  kind: broadcastJob.kind,
  controllerName: "broadcastjob-controller",
  resource: broadcastJobResource,
  sharded: true,
  shell: broadcastJobShell,
  statusMatters: (before, after) => before.status?.phase !== after.status?.phase,
};

const podProbeMarkerKind: Kind<PodProbeMarker> = {
  kind: podProbeMarker.kind,
  controllerName: "PodProbeMarker-controller",
  resource: podProbeMarkerResource,
  enabled: (gates) => gates.PodProbeMarkerGate,
  shell: podProbeMarkerShell,
  statusMatters: () => false,
};

const nodePodProbeKind: Kind<NodePodProbe> = {
  kind: nodePodProbe.kind,
  controllerName: "NodePodProbe-controller",
  resource: nodePodProbeResource,
  enabled: (gates) => gates.KruiseDaemon,
  shell: nodePodProbeShell,
  // Results of the node's agent.
  statusMatters: (before, after) => !jsonEqual(before.status, after.status),
};

const ephemeralJobKind: Kind<EphemeralJob> = {
  kind: ephemeralJob.kind,
  controllerName: "ephemeraljob-controller",
  resource: ephemeralJobResource,
  shell: ephemeralJobShell,
  statusMatters: () => false,
};

const nodeImageKind: Kind<NodeImage> = {
  kind: nodeImage.kind,
  controllerName: "nodeimage-controller",
  resource: nodeImageResource,
  enabled: (gates) => gates.KruiseDaemon,
  shell: nodeImageShell,
  statusMatters: (before, after) => !jsonEqual(before.status, after.status),
};

const imagePullJobKind: Kind<ImagePullJob> = {
  kind: imagePullJob.kind,
  controllerName: "imagepulljob-controller",
  resource: imagePullJobResource,
  enabled: (gates) => gates.KruiseDaemon && gates.ImagePullJobGate,
  shell: imagePullJobShell,
  statusMatters: (before, after) => before.status?.completionTime !== after.status?.completionTime,
};

const imageListPullJobKind: Kind<ImageListPullJob> = {
  kind: imageListPullJob.kind,
  controllerName: "imagelistpulljob-controller",
  resource: imageListPullJobResource,
  enabled: (gates) => gates.KruiseDaemon && gates.ImagePullJobGate,
  shell: imageListPullJobShell,
  statusMatters: (before, after) => before.status?.completionTime !== after.status?.completionTime,
};

const podUnavailableBudgetKind: Kind<PodUnavailableBudget> = {
  kind: podUnavailableBudget.kind,
  controllerName: "podunavailablebudget-controller",
  resource: podUnavailableBudgetResource,
  enabled: (gates) => gates.PodUnavailableBudgetDeleteGate || gates.PodUnavailableBudgetUpdateGate,
  shell: podUnavailableBudgetShell,
  // Admission writes it, too: what it records is taken out again after a while.
  statusMatters: (before, after) => recorded(before) !== recorded(after),
};

function recorded({ status }: PodUnavailableBudget): string {
  return JSON.stringify([status?.unavailableAllowed, status?.disruptedPods, status?.unavailablePods]);
}

/** Calls `visit` for each kind. A visitor instead of a list: each kind keeps its own object type. */
export function visitKinds(visit: <T extends KubeObject>(kind: Kind<T>) => void): void {
  visit(cloneSetKind);
  visit(statefulSetKind);
  visit(daemonSetKind);
  visit(persistentPodStateKind);
  visit(podUnavailableBudgetKind);
  visit(podProbeMarkerKind);
  visit(nodePodProbeKind);
  visit(ephemeralJobKind);
  visit(containerRecreateRequestKind);
  visit(broadcastJobKind);
  visit(nodeImageKind);
  visit(imagePullJobKind);
  visit(imageListPullJobKind);
  visit(advancedCronJobKind);
}

/** Controllers that work on objects of others, pods above all. */
export const plainControllers: readonly PlainController[] = [
  launchPriorityController,
  podReadinessController,
  sidecarTerminatorController,
];

/** Kinds whose objects are spread over shards. */
export function shardedKinds(): ReadonlySet<string> {
  const names = new Set<string>();
  visitKinds((kind) => {
    if (kind.sharded) names.add(kind.kind);
  });
  return names;
}
