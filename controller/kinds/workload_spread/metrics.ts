/** What is served of WorkloadSpreads at `/metrics`. */
import type { WorkloadSpread, WorkloadSpreadSubsetStatus } from "../../../crds/index.ts";
import {
  created,
  generation,
  info,
  labels,
  type ObjectMetric,
  type ObjectMetrics,
} from "../../runtime/object_metrics.ts";

function ofSubsets(
  name: string,
  help: string,
  read: (subset: WorkloadSpreadSubsetStatus) => number,
): ObjectMetric<WorkloadSpread> {
  return {
    name,
    help,
    labels: ["subset"],
    samples: ({ status }) =>
      (status?.subsetStatuses ?? []).map((subset) => ({
        labels: { subset: subset.name },
        value: read(subset),
      })),
  };
}

export const workloadSpreadMetrics: ObjectMetrics<WorkloadSpread> = {
  table: [
    created,
    generation,
    labels,
    {
      name: "spec_subsets_max_replicas",
      help: "Most pods that a subset gets; absent where that is unlimited or a percentage.",
      labels: ["subset"],
      samples: ({ spec }) =>
        spec.subsets.flatMap(({ name, maxReplicas }) =>
          typeof maxReplicas === "number" ? [{ labels: { subset: name }, value: maxReplicas }] : [],
        ),
    },
    info(
      "spec_strategy_type",
      "How pods are spread; always 1.",
      "strategy_type",
      ({ spec }) => spec.scheduleStrategy?.type ?? "Fixed",
    ),
    ofSubsets("status_subset_replicas", "Active pods of a subset.", ({ replicas }) => replicas),
    ofSubsets(
      "status_subset_replicas_missing",
      "Pods that a subset still takes; -1 for unlimited.",
      ({ missingReplicas }) => missingReplicas,
    ),
  ],
};
