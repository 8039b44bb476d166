/** WorkloadSpread. Spec: workloadspread 1 to 3. */

import { dateColumn, textColumn } from "../columns.ts";
import { defineKind } from "../define_kind.ts";
import {
  conditions,
  flag,
  int32,
  intOrString,
  labelSelector,
  list,
  map,
  object,
  objectList,
  optional,
  preserve,
  type Static,
  specOf,
  statusOf,
  strictConditions,
  strings,
  text,
} from "../dsl.ts";
import {
  nodeSelectorTerm,
  observedGeneration,
  subsetScheduleStrategy,
  targetReference,
  timesByName,
  tolerations,
} from "../fragments.ts";
import type { KindObject, PrinterColumn } from "../kind.ts";
import { convertWorkloadSpread } from "./convert.ts";

const preferredTerms = objectList("Nodes that pods of the subset prefer.", "One preference.", {
  preference: nodeSelectorTerm("Nodes."),
  weight: int32("1 to 100."),
});
const requiredTerm = nodeSelectorTerm("Nodes that pods of the subset need.");

const subsetCommon = {
  maxReplicas: optional(intOrString("Most pods the subset gets; unlimited by default.")),
  name: text("Name of the subset."),
  patch: optional(preserve<Record<string, unknown>>("Strategic merge patch on the pod.")),
  tolerations: optional(tolerations("Taints that pods of the subset tolerate.")),
};

const subsetV1alpha1 = object("One subset.", {
  ...subsetCommon,
  preferredNodeSelectorTerms: optional(preferredTerms),
  requiredNodeSelectorTerm: optional(requiredTerm),
});

const subset = object("One subset.", {
  ...subsetCommon,
  preferredNodeSelector: optional(preferredTerms),
  requiredNodeSelector: optional(requiredTerm),
});

const common = {
  scheduleStrategy: optional(
    subsetScheduleStrategy({
      disableSimulationSchedule: optional(flag("Accepted and without effect.")),
      rescheduleCriticalSeconds: optional(
        int32("Seconds until a pending pod is moved to the next subset; never by default."),
      ),
    }),
  ),
  targetFilter: optional(
    object("Part of the workload that is meant.", {
      replicasPathList: optional(strings("Paths of the numbers that add up to the workload's size.")),
      selector: optional(labelSelector("Pods of the workload that are spread.")),
    }),
  ),
  targetRef: targetReference("Workload whose pods are spread."),
};

const specV1alpha1 = specOf({ ...common, subsets: list("Subsets in order of preference.", subsetV1alpha1) });
const spec = specOf({ ...common, subsets: list("Subsets in order of preference.", subset) });

const subsetStatusCommon = {
  creatingPods: optional(timesByName("Pods that were admitted and not seen yet.")),
  deletingPods: optional(timesByName("Pods whose deletion was admitted and that are still seen.")),
  missingReplicas: int32("Pods the subset still takes; -1 for unlimited."),
  name: text("Subset."),
  replicas: int32("Active pods of the subset."),
};

const subsetStatusesV1alpha1 = objectList("Subsets over all versions of the pods.", "One subset.", {
  ...subsetStatusCommon,
  conditions: optional(conditions({})),
});

const subsetStatuses = objectList("Subsets over all versions of the pods.", "One subset.", {
  ...subsetStatusCommon,
  conditions: optional(strictConditions()),
});

const byVersion = "Subsets by version of the pods.";

const statusV1alpha1 = statusOf({
  observedGeneration,
  subsetStatuses: optional(subsetStatusesV1alpha1),
  versionedSubsetStatuses: optional(map(byVersion, subsetStatusesV1alpha1)),
});

const status = statusOf({
  observedGeneration,
  subsetStatuses: optional(subsetStatuses),
  versionedSubsetStatuses: optional(map(byVersion, subsetStatuses)),
});

export type WorkloadSpreadSpec = Static<typeof spec>;
export type WorkloadSpreadSubset = WorkloadSpreadSpec["subsets"][number];
export type WorkloadSpreadSubsetStatus = Static<typeof subsetStatuses>[number];
export type WorkloadSpreadStatus = Static<typeof status>;
export type WorkloadSpread = KindObject<WorkloadSpreadSpec, WorkloadSpreadStatus>;
export type WorkloadSpreadV1alpha1 = KindObject<Static<typeof specV1alpha1>, Static<typeof statusV1alpha1>>;

const columns: readonly PrinterColumn[] = [
  textColumn("WorkloadName", ".spec.targetRef.name", "Name of the workload."),
  textColumn("WorkloadKind", ".spec.targetRef.kind", "Kind of the workload."),
  {
    name: "Adaptive",
    type: "boolean",
    jsonPath: '.spec.scheduleStrategy.type[?(@ == "Adaptive")]',
    description: "Whether pods move on from subsets that cannot take them.",
  },
  dateColumn("Age", ".metadata.creationTimestamp", "Time since creation."),
];

export const workloadSpread = defineKind({
  kind: "WorkloadSpread",
  plural: "workloadspreads",
  shortNames: ["ws"],
  description: "Gives the pods of a workload to groups of nodes, in order and number.",
  conversion: convertWorkloadSpread,
  versions: [
    { name: "v1alpha1", storage: false, spec: specV1alpha1, status: statusV1alpha1, columns },
    { name: "v1beta1", storage: true, spec, status, columns },
  ],
});
