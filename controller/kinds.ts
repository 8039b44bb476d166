/** The list of kinds that the controller carries out: everything that asks for all kinds asks here. */
import type { KubeObject } from "../kube/core/index.ts";
import type { MetricDescription } from "../kube/index.ts";
import { advancedCronJobKind } from "./kinds/advanced_cron_job/index.ts";
import { broadcastJobKind } from "./kinds/broadcast_job/index.ts";
import { cloneSetKind } from "./kinds/clone_set/index.ts";
import { launchPriorityController } from "./kinds/container_launch_priority/index.ts";
import { containerRecreateRequestKind } from "./kinds/container_recreate_request/index.ts";
import { daemonSetKind } from "./kinds/daemon_set/index.ts";
import { ephemeralJobKind } from "./kinds/ephemeral_job/index.ts";
import { imageListPullJobKind } from "./kinds/image_list_pull_job/index.ts";
import { imagePullJobKind } from "./kinds/image_pull_job/index.ts";
import { nodeImageKind } from "./kinds/node_image/index.ts";
import { persistentPodStateKind } from "./kinds/persistent_pod_state/index.ts";
import { nodePodProbeKind, podProbeMarkerKind } from "./kinds/pod_probe_marker/index.ts";
import { podReadinessController } from "./kinds/pod_readiness/index.ts";
import { podUnavailableBudgetKind } from "./kinds/pod_unavailable_budget/index.ts";
import { resourceDistributionKind } from "./kinds/resource_distribution/index.ts";
import { sidecarSetKind } from "./kinds/sidecar_set/index.ts";
import { sidecarTerminatorController } from "./kinds/sidecar_terminator/index.ts";
import { statefulSetKind } from "./kinds/stateful_set/index.ts";
import { unitedDeploymentKind } from "./kinds/united_deployment/index.ts";
import { workloadSpreadKind } from "./kinds/workload_spread/index.ts";
import type { AnyKind, Controller, Kind, PlainController } from "./runtime/kind.ts";
import { describeObjectMetrics } from "./runtime/object_metrics.ts";

/** What `visit` makes of each kind. A visitor instead of a list: each kind keeps its own object type. */
export function mapKinds<R>(visit: <T extends KubeObject>(kind: Kind<T>) => R): R[] {
  return [
    visit(cloneSetKind),
    visit(statefulSetKind),
    visit(daemonSetKind),
    visit(broadcastJobKind),
    visit(advancedCronJobKind),
    visit(sidecarSetKind),
    visit(workloadSpreadKind),
    visit(unitedDeploymentKind),
    visit(podUnavailableBudgetKind),
    visit(persistentPodStateKind),
    visit(containerRecreateRequestKind),
    visit(imagePullJobKind),
    visit(imageListPullJobKind),
    visit(nodeImageKind),
    visit(resourceDistributionKind),
    visit(ephemeralJobKind),
    visit(podProbeMarkerKind),
    visit(nodePodProbeKind),
  ];
}

export const kinds = mapKinds<AnyKind>((kind) => kind);

/** Controllers that work on objects of others, pods above all. */
export const plainControllers: readonly PlainController[] = [
  launchPriorityController,
  podReadinessController,
  sidecarTerminatorController,
];

export const controllers: readonly Controller[] = [...kinds, ...plainControllers];

/** What is served of objects at `/metrics`, for documents: each name once. */
export function objectMetricDescriptions(): MetricDescription[] {
  const described = mapKinds((kind) => describeObjectMetrics(kind)).flat();
  return [...new Map(described.map((metric) => [metric.name, metric])).values()];
}
