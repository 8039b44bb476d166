/** What is served of CloneSets at `/metrics`. */
import type { CloneSet } from "../../../crds/index.ts";
import {
  conditions,
  count,
  created,
  gauge,
  generation,
  labels,
  maxUnavailable,
  type ObjectMetrics,
  observedGeneration,
  partition,
  strategyType,
} from "../../runtime/object_metrics.ts";
import { cloneSetRolloutOf } from "./strategy.ts";

export const cloneSetMetrics: ObjectMetrics<CloneSet> = {
  table: [
    created,
    generation,
    labels,
    gauge("spec_replicas", "Wanted number of pods.", (set) => cloneSetRolloutOf(set).limits.replicas),
    maxUnavailable((set) => cloneSetRolloutOf(set).limits.maxUnavailable),
    gauge(
      "spec_strategy_rollingupdate_max_surge",
      "Pods above the wanted number during an update.",
      (set) => cloneSetRolloutOf(set).limits.maxSurge,
    ),
    partition(
      ({ spec }) => spec.updateStrategy?.rollingUpdate?.partition,
      (set) => cloneSetRolloutOf(set).limits.partition,
    ),
    strategyType(({ spec }) =>
      spec.updateStrategy?.type === "OnDelete"
        ? "OnDelete"
        : (spec.updateStrategy?.rollingUpdate?.podUpdatePolicy ?? "ReCreate"),
    ),
    observedGeneration(),
    count("status_replicas", "Pods that exist.", ({ replicas }) => replicas),
    count("status_replicas_ready", "Pods that are ready.", ({ readyReplicas }) => readyReplicas),
    count(
      "status_replicas_available",
      "Pods that are available.",
      ({ availableReplicas }) => availableReplicas,
    ),
    count(
      "status_replicas_updated",
      "Pods at the update revision.",
      ({ updatedReplicas }) => updatedReplicas,
    ),
    count(
      "status_replicas_updated_ready",
      "Ready pods at the update revision.",
      ({ updatedReadyReplicas }) => updatedReadyReplicas,
    ),
    conditions,
  ],
  toUpdate: (set) => {
    const { limits, onDelete, paused } = cloneSetRolloutOf(set);
    if (onDelete || paused) return 0;
    return Math.max(0, limits.replicas - limits.partition - (set.status?.updatedReplicas ?? 0));
  },
};
