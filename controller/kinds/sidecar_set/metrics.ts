/** What is served of SidecarSets at `/metrics`. */
import type { SidecarSet } from "../../../crds/index.ts";
import {
  count,
  created,
  generation,
  labels,
  maxUnavailable,
  type ObjectMetrics,
  observedGeneration,
  partition,
  strategyType,
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
    maxUnavailable((set) => mostUnavailable(sidecarSetStrategyOf(set).maxUnavailable, matched(set))),
    partition(({ spec }) => spec.updateStrategy?.partition, kept),
    strategyType(({ spec }) => spec.updateStrategy?.type ?? "RollingUpdate"),
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
