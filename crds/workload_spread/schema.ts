/** WorkloadSpread. Spec: workloadspread 1 to 3. */

import { dateColumn, textColumn } from "../columns.ts";
import { defineKind } from "../define_kind.ts";
import * as s from "../dsl.ts";
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

const preferredTerms = s.objectList("Nodes that pods of the subset prefer.", "One preference.", {
  preference: nodeSelectorTerm("Nodes."),
  weight: s.int32("1 to 100."),
});
const requiredTerm = nodeSelectorTerm("Nodes that pods of the subset need.");

const subsetCommon = {
  maxReplicas: s.optional(s.intOrString("Most pods the subset gets; unlimited by default.")),
  name: s.text("Name of the subset."),
  patch: s.optional(s.preserve<Record<string, unknown>>("Strategic merge patch on the pod.")),
  tolerations: s.optional(tolerations("Taints that pods of the subset tolerate.")),
};

const subsetV1alpha1 = s.object("One subset.", {
  ...subsetCommon,
  preferredNodeSelectorTerms: s.optional(preferredTerms),
  requiredNodeSelectorTerm: s.optional(requiredTerm),
});

const subset = s.object("One subset.", {
  ...subsetCommon,
  preferredNodeSelector: s.optional(preferredTerms),
  requiredNodeSelector: s.optional(requiredTerm),
});

const common = {
  scheduleStrategy: s.optional(
    subsetScheduleStrategy({
      disableSimulationSchedule: s.optional(s.flag("Accepted and without effect.")),
      rescheduleCriticalSeconds: s.optional(
        s.int32("Seconds until a pending pod is moved to the next subset; never by default."),
      ),
    }),
  ),
  targetFilter: s.optionalObject("Part of the workload that is meant.", {
    replicasPathList: s.optional(s.strings("Paths of the numbers that add up to the workload's size.")),
    selector: s.optional(s.labelSelector("Pods of the workload that are spread.")),
  }),
  targetRef: targetReference("Workload whose pods are spread."),
};

const specV1alpha1 = s.specOf({
  ...common,
  subsets: s.list("Subsets in order of preference.", subsetV1alpha1),
});
const spec = s.specOf({ ...common, subsets: s.list("Subsets in order of preference.", subset) });

const subsetStatusCommon = {
  creatingPods: s.optional(timesByName("Pods that were admitted and not seen yet.")),
  deletingPods: s.optional(timesByName("Pods whose deletion was admitted and that are still seen.")),
  missingReplicas: s.int32("Pods the subset still takes; -1 for unlimited."),
  name: s.text("Subset."),
  replicas: s.int32("Active pods of the subset."),
};

const subsetStatusesV1alpha1 = s.objectList("Subsets over all versions of the pods.", "One subset.", {
  ...subsetStatusCommon,
  conditions: s.conditions({}),
});

const subsetStatuses = s.objectList("Subsets over all versions of the pods.", "One subset.", {
  ...subsetStatusCommon,
  conditions: s.strictConditions(),
});

const byVersion = "Subsets by version of the pods.";

const statusV1alpha1 = s.statusOf({
  observedGeneration,
  subsetStatuses: s.optional(subsetStatusesV1alpha1),
  versionedSubsetStatuses: s.optional(s.map(byVersion, subsetStatusesV1alpha1)),
});

const status = s.statusOf({
  observedGeneration,
  subsetStatuses: s.optional(subsetStatuses),
  versionedSubsetStatuses: s.optional(s.map(byVersion, subsetStatuses)),
});

export type WorkloadSpreadSpec = s.Static<typeof spec>;
export type WorkloadSpreadSubset = WorkloadSpreadSpec["subsets"][number];
export type WorkloadSpreadSubsetStatus = s.Static<typeof subsetStatuses>[number];
export type WorkloadSpreadStatus = s.Static<typeof status>;
export type WorkloadSpread = KindObject<WorkloadSpreadSpec, WorkloadSpreadStatus>;

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
