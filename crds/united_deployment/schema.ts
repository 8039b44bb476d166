/** UnitedDeployment. Spec: uniteddeployment 1 to 3. */
import { cloneSetSpec } from "../clone_set/schema.ts";
import { ageColumn, integerColumn } from "../columns.ts";
import { subsetTemplates } from "../core_places.ts";
import { defineKind } from "../define_kind.ts";
import * as s from "../dsl.ts";
import {
  collisionCount,
  nodeSelectorTerm,
  observedGeneration,
  subsetScheduleStrategy,
  tolerations,
} from "../fragments.ts";
import { type KindObject, type PrinterColumn, workloadScale } from "../kind.ts";
import { statefulSetSpec } from "../stateful_set/schema.ts";
import { convertUnitedDeployment } from "./convert.ts";

const metadata = s.optional(
  s.preserve<{ labels?: Record<string, string>; annotations?: Record<string, string> }>(
    "Labels and annotations of the workload.",
  ),
);
const nativeSpec = s.preserve<Record<string, unknown>>("Spec of the workload.");

const subset = s.object("One subset.", {
  maxReplicas: s.optional(s.intOrString("Most pods the subset gets; unlimited by default.")),
  minReplicas: s.optional(s.intOrString("Least pods the subset gets.")),
  name: s.text("Name of the subset, part of the workload's name."),
  nodeSelectorTerm: s.optional(nodeSelectorTerm("Nodes of the subset.")),
  patch: s.optional(s.preserve<Record<string, unknown>>("Strategic merge patch on the pod template.")),
  replicas: s.optional(s.intOrString("Pods of the subset.")),
  tolerations: s.optional(tolerations("Taints that pods of the subset tolerate.")),
});

const spec = s.specOf({
  replicas: s.optional(s.int32("Wanted number of pods over all subsets; 1 by default.")),
  revisionHistoryLimit: s.optional(s.int32("Revisions that are kept; 10 by default.")),
  selector: s.labelSelector("Labels that the template carries and that find the pods."),
  template: s.optionalObject("The workload to create for each subset; exactly one form.", {
    advancedStatefulSetTemplate: s.optionalObject("An Advanced StatefulSet.", {
      metadata,
      spec: statefulSetSpec,
    }),
    cloneSetTemplate: s.optionalObject("A CloneSet.", { metadata, spec: cloneSetSpec }),
    deploymentTemplate: s.optionalObject("A Deployment.", { metadata, spec: nativeSpec }),
    statefulSetTemplate: s.optionalObject("A StatefulSet of the group apps.", { metadata, spec: nativeSpec }),
  }),
  topology: s.optionalObject("Where the pods run.", {
    scheduleStrategy: s.optional(
      subsetScheduleStrategy({
        rescheduleCriticalSeconds: s.optional(
          s.int32("Seconds until a pending pod counts as unschedulable; 30 by default."),
        ),
        reserveUnschedulablePods: s.optional(
          s.flag("Keep unschedulable pods where they are and add others elsewhere."),
        ),
        unschedulableDuration: s.optional(s.int32("Seconds a subset stays closed; 300 by default.")),
      }),
    ),
    subsets: s.optional(s.list("Subsets in order of preference.", subset)),
  }),
  updateStrategy: s.optionalObject("How subsets are brought to a new revision.", {
    manualUpdate: s.optionalObject("Settings of the type Manual.", {
      partitions: s.optional(s.map("Partitions by subset.", s.int32("Pods that stay at the old revision."))),
    }),
    type: s.optional(s.choice("Manual (default).", ["Manual", ""])),
  }),
});

const looseCondition = s.object("One condition.", {
  lastTransitionTime: s.optional(s.dateTime("When the status changed last.")),
  message: s.optional(s.text("Cause of the last change, for people.")),
  reason: s.optional(s.text("Cause of the last change, for programs.")),
  status: s.optional(s.text("True, False or Unknown.")),
  type: s.optional(s.text("Name of the condition.")),
});

const statusCommon = {
  collisionCount,
  conditions: s.optional(s.list("Latest observations of the object's state.", looseCondition)),
  currentRevision: s.text("Revision from which subsets are updated."),
  labelSelector: s.optional(s.text("The selector as text, for the scale subresource.")),
  observedGeneration,
  readyReplicas: s.optional(s.int32("Pods that are ready.")),
  replicas: s.int32("Pods that exist."),
  reservedPods: s.optional(s.int32("Pods that are kept although unschedulable.")),
  subsetStatuses: s.optionalObjectList("Subsets.", "One subset.", {
    conditions: s.conditions({}),
    name: s.optional(s.text("Subset.")),
    partition: s.optional(s.int32("Pods that stay at the old revision.")),
    readyReplicas: s.optional(s.int32("Pods that are ready.")),
    replicas: s.optional(s.int32("Pods the subset should have.")),
    reservedPods: s.optional(s.int32("Pods that are kept although unschedulable.")),
  }),
  updatedReadyReplicas: s.optional(s.int32("Ready pods at the updated revision.")),
  updatedReplicas: s.int32("Pods at the updated revision."),
};

const statusV1alpha1 = s.statusOf({
  ...statusCommon,
  subsetReplicas: s.optional(s.map("Pods by subset.", s.int32("Pods the subset should have."))),
  updateStatus: s.optionalObject("How far the update is.", {
    currentPartitions: s.optional(
      s.map("Partitions by subset.", s.int32("Pods that stay at the old revision.")),
    ),
    updatedRevision: s.optional(s.text("Revision of the present template.")),
  }),
});

const status = s.statusOf({
  ...statusCommon,
  updatedRevision: s.optional(s.text("Revision of the present template.")),
});

export type UnitedDeploymentSpec = s.Static<typeof spec>;
export type UnitedDeploymentStatus = s.Static<typeof status>;
export type UnitedDeployment = KindObject<UnitedDeploymentSpec, UnitedDeploymentStatus>;

const columns: readonly PrinterColumn[] = [
  integerColumn("DESIRED", ".spec.replicas", "Wanted number of pods."),
  integerColumn("CURRENT", ".status.replicas", "Pods that exist."),
  integerColumn("UPDATED", ".status.updatedReplicas", "Pods at the updated revision."),
  integerColumn("READY", ".status.readyReplicas", "Pods that are ready."),
  ageColumn,
];

export const unitedDeployment = defineKind({
  kind: "UnitedDeployment",
  plural: "uniteddeployments",
  shortNames: ["ud"],
  description: "Spreads pods over groups of nodes, with one workload for each group.",
  conversion: convertUnitedDeployment,
  corePlaces: subsetTemplates,
  versions: [
    { name: "v1alpha1", storage: false, spec, status: statusV1alpha1, columns, scale: workloadScale },
    { name: "v1beta1", storage: true, spec, status, columns, scale: workloadScale },
  ],
});
