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

const preferredTerms = s.objectList(
  "Nodes that pods of the subset prefer; they run on others when these are full.",
  "One preference.",
  {
    preference: nodeSelectorTerm("Nodes that are preferred."),
    weight: s.int32("Weight of the preference among others, 1 to 100."),
  },
);
const requiredTerm = nodeSelectorTerm(
  "Nodes that pods of the subset need, beside what the pod itself asks for.",
);

const subsetCommon = {
  maxReplicas: s.optional(
    s.intOrString(
      "Most pods that the subset gets: a number, or a percentage of the workload's replicas " +
        "rounded up, but in all subsets the same form, and of a StatefulSet a number. Percentages are " +
        "100% together at most. Without it there is no limit.",
    ),
  ),
  name: s.text("Name of the subset, which no other has."),
  patch: s.optional(
    s.preserve<Record<string, unknown>>(
      "Strategic merge patch that new pods of the subset get, with metadata and spec of the pod at its top.",
    ),
  ),
  tolerations: s.optional(
    tolerations("Taints that pods of the subset tolerate, beside those of the pod itself."),
  ),
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
      disableSimulationSchedule: s.optional(s.flag("Accepted and without effect; false by default.")),
      rescheduleCriticalSeconds: s.optional(
        s.int32(
          "Seconds after its creation until a pod that no node takes is deleted, so that its " +
            "successor goes to a later subset; never by default, and with 0. At most 295, and less " +
            "with more than two subsets.",
        ),
      ),
    }),
  ),
  targetFilter: s.optionalObject("Part of the workload that is meant; all of it by default.", {
    replicasPathList: s.optional(
      s.strings(
        "Paths in the workload of numbers that add up to its size, such as spec.roles.1.replicas; " +
          "spec.replicas by default.",
      ),
    ),
    selector: s.optional(
      s.labelSelector(
        "Pods of the workload that are spread, by their labels. A filter needs it: without it new " +
          "pods go to no subset.",
      ),
    ),
  }),
  targetRef: targetReference("Workload whose pods are spread. It cannot be changed, but for its version."),
};

const specV1alpha1 = s.specOf({
  ...common,
  subsets: s.list("Subsets in order: the first ones are filled first and emptied last.", subsetV1alpha1),
});
const spec = s.specOf({
  ...common,
  subsets: s.list("Subsets in order: the first ones are filled first and emptied last.", subset),
});

const schedulableWords = "Schedulable: whether the subset takes further pods.";

const subsetStatusCommon = {
  creatingPods: s.optional(
    timesByName(
      "Pods that admission let be created and that are not there yet, by name, or by a generated name.",
    ),
  ),
  deletingPods: s.optional(
    timesByName("Pods that admission let be deleted and that are still there, by name."),
  ),
  missingReplicas: s.int32("Number of pods that the subset still takes; -1 where it has no limit."),
  name: s.text("Name of the subset."),
  replicas: s.int32(
    "Number of pods of the subset, without those that succeeded, failed or are being deleted.",
  ),
};

const subsetStatusesV1alpha1 = s.objectList(
  "How full each subset is, over all versions of the pods.",
  "One subset.",
  {
    ...subsetStatusCommon,
    conditions: s.conditions(schedulableWords, {}),
  },
);

const subsetStatuses = s.objectList(
  "How full each subset is, over all versions of the pods.",
  "One subset.",
  {
    ...subsetStatusCommon,
    conditions: s.strictConditions(schedulableWords),
  },
);

const byVersion =
  "How full each subset is, by version of the pods: of a Deployment by the hash of its " +
  "template, of others under versionIgnored.";

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
