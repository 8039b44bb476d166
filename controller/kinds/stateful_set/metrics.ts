/** What is served of StatefulSets at `/metrics`. */
import type { StatefulSet } from "../../../crds/index.ts";
import {
  conditions,
  count,
  created,
  gauge,
  generation,
  info,
  labels,
  maxUnavailable,
  type ObjectMetrics,
  observedGeneration,
  strategyType,
} from "../../runtime/object_metrics.ts";
import { statefulSetRolloutOf } from "./strategy.ts";

export const statefulSetMetrics: ObjectMetrics<StatefulSet> = {
  table: [
    created,
    generation,
    labels,
    gauge("spec_replicas", "Wanted number of pods.", (set) => statefulSetRolloutOf(set).replicas),
    maxUnavailable((set) => statefulSetRolloutOf(set).maxUnavailable),
    strategyType(({ spec }) => spec.updateStrategy?.type ?? "RollingUpdate"),
    observedGeneration(),
    count("status_replicas", "Pods that exist.", ({ replicas }) => replicas),
    count("status_replicas_ready", "Pods that are ready.", ({ readyReplicas }) => readyReplicas),
    count(
      "status_replicas_available",
      "Pods that are available.",
      ({ availableReplicas }) => availableReplicas,
    ),
    count(
      "status_replicas_current",
      "Pods at the current revision.",
      ({ currentReplicas }) => currentReplicas,
    ),
    count(
      "status_replicas_updated",
      "Pods at the update revision.",
      ({ updatedReplicas }) => updatedReplicas,
    ),
    info(
      "status_current_revision",
      "Revision from which pods are updated; always 1.",
      "revision",
      ({ status }) => status?.currentRevision,
    ),
    info(
      "status_update_revision",
      "Revision of the present template; always 1.",
      "revision",
      ({ status }) => status?.updateRevision,
    ),
    conditions,
  ],
  toUpdate: (set) => {
    const { replicas, onDelete, paused, partition } = statefulSetRolloutOf(set);
    if (onDelete || paused) return 0;
    return Math.max(0, replicas - partition - (set.status?.updatedReplicas ?? 0));
  },
};
