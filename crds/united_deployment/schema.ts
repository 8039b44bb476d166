/** UnitedDeployment. Spec: uniteddeployment 1 to 3. */
import { cloneSetSpec } from "../clone_set/schema.ts";
import { subsetTemplates } from "../core_places.ts";
import { defineKind } from "../define_kind.ts";
import {
  choice,
  conditions,
  dateTime,
  flag,
  int32,
  int64,
  intOrString,
  labelSelector,
  list,
  map,
  object,
  optional,
  preserve,
  type Static,
  text,
} from "../dsl.ts";
import { nodeSelectorTerm, subsetScheduleStrategy, tolerations } from "../fragments.ts";
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

const subset = object(
  {
    maxReplicas: optional(intOrString("Most pods the subset gets; unlimited by default.")),
    minReplicas: optional(intOrString("Least pods the subset gets.")),
    name: text("Name of the subset, part of the workload's name."),
    nodeSelectorTerm: optional(nodeSelectorTerm("Nodes of the subset.")),
    patch: optional(preserve<Record<string, unknown>>("Strategic merge patch on the pod template.")),
    replicas: optional(intOrString("Pods of the subset.")),
    tolerations: optional(tolerations("Taints that pods of the subset tolerate.")),
  },
  "One subset.",
);

const spec = object(
  {
    replicas: optional(int32("Wanted number of pods over all subsets; 1 by default.")),
    revisionHistoryLimit: optional(int32("Revisions that are kept; 10 by default.")),
    selector: labelSelector("Labels that the template carries and that find the pods."),
    template: optional(
      object(
        {
          advancedStatefulSetTemplate: optional(
            object({ metadata, spec: statefulSetSpec }, "An Advanced StatefulSet."),
          ),
          cloneSetTemplate: optional(object({ metadata, spec: cloneSetSpec }, "A CloneSet.")),
          deploymentTemplate: optional(object({ metadata, spec: nativeSpec }, "A Deployment.")),
          statefulSetTemplate: optional(
            object({ metadata, spec: nativeSpec }, "A StatefulSet of the group apps."),
          ),
        },
        "The workload to create for each subset; exactly one form.",
      ),
    ),
    topology: optional(
      object(
        {
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
          subsets: optional(list(subset, "Subsets in order of preference.")),
        },
        "Where the pods run.",
      ),
    ),
    updateStrategy: optional(
      object(
        {
          manualUpdate: optional(
            object(
              {
                partitions: optional(
                  map(int32("Pods that stay at the old revision."), "Partitions by subset."),
                ),
              },
              "Settings of the type Manual.",
            ),
          ),
          type: optional(choice(["Manual", ""], "Manual (default).")),
        },
        "How subsets are brought to a new revision.",
      ),
    ),
  },
  "What is wanted.",
);

const looseCondition = object(
  {
    lastTransitionTime: optional(dateTime("When the status changed last.")),
    message: optional(text("Cause of the last change, for people.")),
    reason: optional(text("Cause of the last change, for programs.")),
    status: optional(text("True, False or Unknown.")),
    type: optional(text("Name of the condition.")),
  },
  "One condition.",
);

const statusCommon = {
  collisionCount: optional(int32("Counter mixed into revision hashes when two collide.")),
  conditions: optional(list(looseCondition, "Latest observations of the object's state.")),
  currentRevision: text("Revision from which subsets are updated."),
  labelSelector: optional(text("The selector as text, for the scale subresource.")),
  observedGeneration: optional(int64("Generation that the status is about.")),
  readyReplicas: optional(int32("Pods that are ready.")),
  replicas: int32("Pods that exist."),
  reservedPods: optional(int32("Pods that are kept although unschedulable.")),
  subsetStatuses: optional(
    list(
      object(
        {
          conditions: optional(conditions({})),
          name: optional(text("Subset.")),
          partition: optional(int32("Pods that stay at the old revision.")),
          readyReplicas: optional(int32("Pods that are ready.")),
          replicas: optional(int32("Pods the subset should have.")),
          reservedPods: optional(int32("Pods that are kept although unschedulable.")),
        },
        "One subset.",
      ),
      "Subsets.",
    ),
  ),
  updatedReadyReplicas: optional(int32("Ready pods at the updated revision.")),
  updatedReplicas: int32("Pods at the updated revision."),
};

const statusV1alpha1 = object(
  {
    ...statusCommon,
    subsetReplicas: optional(map(int32("Pods the subset should have."), "Pods by subset.")),
    updateStatus: optional(
      object(
        {
          currentPartitions: optional(
            map(int32("Pods that stay at the old revision."), "Partitions by subset."),
          ),
          updatedRevision: optional(text("Revision of the present template.")),
        },
        "How far the update is.",
      ),
    ),
  },
  "What is observed.",
);

const status = object(
  { ...statusCommon, updatedRevision: optional(text("Revision of the present template.")) },
  "What is observed.",
);

export type UnitedDeploymentSpec = Static<typeof spec>;
export type UnitedDeploymentStatus = Static<typeof status>;
export type UnitedDeployment = KindObject<UnitedDeploymentSpec, UnitedDeploymentStatus>;
export type UnitedDeploymentV1alpha1 = KindObject<UnitedDeploymentSpec, Static<typeof statusV1alpha1>>;

const columns: readonly PrinterColumn[] = [
  { name: "DESIRED", type: "integer", jsonPath: ".spec.replicas", description: "Wanted number of pods." },
  { name: "CURRENT", type: "integer", jsonPath: ".status.replicas", description: "Pods that exist." },
  {
    name: "UPDATED",
    type: "integer",
    jsonPath: ".status.updatedReplicas",
    description: "Pods at the updated revision.",
  },
  { name: "READY", type: "integer", jsonPath: ".status.readyReplicas", description: "Pods that are ready." },
  { name: "AGE", type: "date", jsonPath: ".metadata.creationTimestamp", description: "Time since creation." },
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
