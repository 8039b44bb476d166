/** UnitedDeployment. Spec: uniteddeployment 1 to 3. */
import { cloneSetSpec } from "../clone_set/schema.ts";
import { ageColumn, integerColumn } from "../columns.ts";
import { subsetTemplates } from "../core_places.ts";
import { defineKind } from "../define_kind.ts";
import {
  choice,
  conditions,
  dateTime,
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
  text,
} from "../dsl.ts";
import {
  collisionCount,
  nodeSelectorTerm,
  observedGeneration,
  subsetScheduleStrategy,
  tolerations,
} from "../fragments.ts";
import { type KindObject, type PrinterColumn, workloadScale } from "../kind.ts";
import type { Decoded } from "../kind_reader.ts";
import { statefulSetSpec } from "../stateful_set/schema.ts";
import { convertUnitedDeployment } from "./convert.ts";

const metadata = optional(
  preserve<{ labels?: Record<string, string>; annotations?: Record<string, string> }>(
    "Labels and annotations of the workload.",
  ),
);
const nativeSpec = preserve<Record<string, unknown>>("Spec of the workload.");

const subset = object("One subset.", {
  maxReplicas: optional(intOrString("Most pods the subset gets; unlimited by default.")),
  minReplicas: optional(intOrString("Least pods the subset gets.")),
  name: text("Name of the subset, part of the workload's name."),
  nodeSelectorTerm: optional(nodeSelectorTerm("Nodes of the subset.")),
  patch: optional(preserve<Record<string, unknown>>("Strategic merge patch on the pod template.")),
  replicas: optional(intOrString("Pods of the subset.")),
  tolerations: optional(tolerations("Taints that pods of the subset tolerate.")),
});

const spec = specOf({
  replicas: optional(int32("Wanted number of pods over all subsets; 1 by default.")),
  revisionHistoryLimit: optional(int32("Revisions that are kept; 10 by default.")),
  selector: labelSelector("Labels that the template carries and that find the pods."),
  template: optional(
    object("The workload to create for each subset; exactly one form.", {
      advancedStatefulSetTemplate: optional(
        object("An Advanced StatefulSet.", { metadata, spec: statefulSetSpec }),
      ),
      cloneSetTemplate: optional(object("A CloneSet.", { metadata, spec: cloneSetSpec })),
      deploymentTemplate: optional(object("A Deployment.", { metadata, spec: nativeSpec })),
      statefulSetTemplate: optional(
        object("A StatefulSet of the group apps.", { metadata, spec: nativeSpec }),
      ),
    }),
  ),
  topology: optional(
    object("Where the pods run.", {
      scheduleStrategy: optional(
        subsetScheduleStrategy({
          rescheduleCriticalSeconds: optional(
            int32("Seconds until a pending pod counts as unschedulable; 30 by default."),
          ),
          reserveUnschedulablePods: optional(
            flag("Keep unschedulable pods where they are and add others elsewhere."),
          ),
          unschedulableDuration: optional(int32("Seconds a subset stays closed; 300 by default.")),
        }),
      ),
      subsets: optional(list("Subsets in order of preference.", subset)),
    }),
  ),
  updateStrategy: optional(
    object("How subsets are brought to a new revision.", {
      manualUpdate: optional(
        object("Settings of the type Manual.", {
          partitions: optional(map("Partitions by subset.", int32("Pods that stay at the old revision."))),
        }),
      ),
      type: optional(choice("Manual (default).", ["Manual", ""])),
    }),
  ),
});

const looseCondition = object("One condition.", {
  lastTransitionTime: optional(dateTime("When the status changed last.")),
  message: optional(text("Cause of the last change, for people.")),
  reason: optional(text("Cause of the last change, for programs.")),
  status: optional(text("True, False or Unknown.")),
  type: optional(text("Name of the condition.")),
});

const statusCommon = {
  collisionCount,
  conditions: optional(list("Latest observations of the object's state.", looseCondition)),
  currentRevision: text("Revision from which subsets are updated."),
  labelSelector: optional(text("The selector as text, for the scale subresource.")),
  observedGeneration,
  readyReplicas: optional(int32("Pods that are ready.")),
  replicas: int32("Pods that exist."),
  reservedPods: optional(int32("Pods that are kept although unschedulable.")),
  subsetStatuses: optional(
    objectList("Subsets.", "One subset.", {
      conditions: optional(conditions({})),
      name: optional(text("Subset.")),
      partition: optional(int32("Pods that stay at the old revision.")),
      readyReplicas: optional(int32("Pods that are ready.")),
      replicas: optional(int32("Pods the subset should have.")),
      reservedPods: optional(int32("Pods that are kept although unschedulable.")),
    }),
  ),
  updatedReadyReplicas: optional(int32("Ready pods at the updated revision.")),
  updatedReplicas: int32("Pods at the updated revision."),
};

const statusV1alpha1 = statusOf({
  ...statusCommon,
  subsetReplicas: optional(map("Pods by subset.", int32("Pods the subset should have."))),
  updateStatus: optional(
    object("How far the update is.", {
      currentPartitions: optional(map("Partitions by subset.", int32("Pods that stay at the old revision."))),
      updatedRevision: optional(text("Revision of the present template.")),
    }),
  ),
});

const status = statusOf({
  ...statusCommon,
  updatedRevision: optional(text("Revision of the present template.")),
});

export type UnitedDeploymentSpec = Static<typeof spec>;
export type UnitedDeploymentStatus = Static<typeof status>;
export type UnitedDeployment = KindObject<UnitedDeploymentSpec, UnitedDeploymentStatus>;
export type UnitedDeploymentV1alpha1 = KindObject<UnitedDeploymentSpec, Static<typeof statusV1alpha1>>;

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

export type DecodedUnitedDeployment = Decoded<typeof unitedDeployment>;
