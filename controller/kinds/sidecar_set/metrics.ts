/** What is served of SidecarSets at `/metrics`. */
import type { SidecarSet } from "../../../crds/index.ts";
import {
  count,
  created,
  gauge,
  generation,
  info,
  labels,
  type ObjectMetrics,
  observedGeneration,
  partition,
} from "../../runtime/object_metrics.ts";
import { keptByPartition, mostUnavailable } from "./numbers.ts";
import { sidecarSetStrategyOf } from "./rollout.ts";

const matched = ({ status }: SidecarSet): number => status?.matchedPods ?? 0;

const kept = (set: SidecarSet): number => keptByPartition(sidecarSetStrategyOf(set).partition, matched(set));

export const sidecarSetMetrics: ObjectMetrics<SidecarSet> = {
  table: [
    created,
    { ...generation, name: "spec_metadata_generation" },
    labels,
    gauge(
      "spec_strategy_rollingupdate_max_unavailable",
      "Pods that may be unavailable during an update.",
      (set) => mostUnavailable(sidecarSetStrategyOf(set).maxUnavailable, matched(set)),
    ),
    partition(({ spec }) => spec.updateStrategy?.partition, kept),
    info(
      "spec_strategy_type",
      "How pods are updated; always 1.",
      "strategy_type",
      ({ spec }) => spec.updateStrategy?.type ?? "RollingUpdate",
    ),
    observedGeneration(),
    count("status_replicas_matched", "Pods that match.", ({ matchedPods }) => matchedPods),
    count("status_replicas_ready", "Pods that match and are ready.", ({ readyPods }) => readyPods),
    count(
      "status_replicas_updated",
      "Pods that match and have the present sidecars.",
      ({ updatedPods }) => updatedPods,
    ),
    count(
      "status_replicas_updated_ready",
      "Pods that match, are ready and have the present sidecars.",
      ({ updatedReadyPods }) => updatedReadyPods,
    ),
  ],
  toUpdate: (set) => {
    const { notUpdated, paused } = sidecarSetStrategyOf(set);
    if (notUpdated || paused) return 0;
    // How many of the pods that it takes are up to date, the status does not say.
    if (set.spec.updateStrategy?.selector) return undefined;
    return Math.max(0, matched(set) - kept(set) - (set.status?.updatedPods ?? 0));
  },
};
