/** UnitedDeployment. Spec: uniteddeployment 1 to 3. */
import { cloneSetSpec } from "../clone_set/schema.ts";
import { ageColumn, integerColumn } from "../columns.ts";
import { subsetTemplates } from "../core_places.ts";
import { defineKind } from "../define_kind.ts";
import * as s from "../dsl.ts";
import { nodeSelectorTerm, observedGeneration, subsetScheduleStrategy, tolerations } from "../fragments.ts";
import { type KindObject, type PrinterColumn, workloadScale } from "../kind.ts";
import { statefulSetSpec } from "../stateful_set/schema.ts";
import { collisionCount, labelSelectorText } from "../workload_fragments.ts";
import { convertUnitedDeployment } from "./convert.ts";

const metadata = s.optional(
  s.preserve<{ labels?: Record<string, string>; annotations?: Record<string, string> }>(
    "Labels and annotations that each workload gets.",
  ),
);
const nativeSpec = s.preserve<Record<string, unknown>>("Spec of the workload, as Kubernetes defines it.");

const subset = s.object("One subset.", {
  maxReplicas: s.optional(
    s.intOrString(
      "Most pods that the subset gets: a number, or a percentage of replicas rounded to the " +
        "nearest, half up. Without it there is no limit, which at least one subset needs. Not " +
        "where any subset has replicas.",
    ),
  ),
  minReplicas: s.optional(
    s.intOrString(
      "Least pods that the subset gets before others get more: a number, or a percentage of " +
        "replicas rounded to the nearest, half up; 0 by default. Not where any subset has " +
        "replicas.",
    ),
  ),
  name: s.text("Name of the subset, a DNS label that no other has; it is part of the workload's name."),
  nodeSelectorTerm: s.optional(
    nodeSelectorTerm(
      "Nodes that pods of the subset need. It cannot be changed while the subset keeps its name.",
      "Accepted and without effect.",
    ),
  ),
  patch: s.optional(
    s.preserve<Record<string, unknown>>(
      "Strategic merge patch that the pod template of the subset gets, with metadata and spec " +
        "of the template at its top.",
    ),
  ),
  replicas: s.optional(
    s.intOrString(
      "Pods of the subset: a number, or a percentage of replicas rounded to the nearest, half " +
        "up. Subsets without it share the rest evenly. Not with type Adaptive, and not where any " +
        "subset has minReplicas or maxReplicas.",
    ),
  ),
  tolerations: s.optional(
    tolerations(
      "Taints that pods of the subset tolerate, beside those of the template. They cannot be " +
        "changed while the subset keeps its name.",
    ),
  ),
});

const spec = s.specOf({
  replicas: s.optional(s.int32("Number of pods that are wanted over all subsets, 0 or more; 1 by default.")),
  revisionHistoryLimit: s.optional(
    s.int32("Number of old revisions that are kept, beside those in use; 10 by default."),
  ),
  selector: s.labelSelector(
    "Workloads and pods of the object, by their labels. The template and its pods must carry " +
      "these labels. It cannot be empty.",
  ),
  template: s.optionalObject("Workload that is created for each subset: exactly one of the fields.", {
    advancedStatefulSetTemplate: s.optionalObject(
      "A StatefulSet of the group apps.kruise.io, in version v1beta1. Of its spec only template " +
        "and updateStrategy can be changed.",
      {
        metadata,
        spec: statefulSetSpec,
      },
    ),
    cloneSetTemplate: s.optionalObject("A CloneSet, in version v1beta1.", { metadata, spec: cloneSetSpec }),
    deploymentTemplate: s.optionalObject("A Deployment of Kubernetes. Partitions have no effect on it.", {
      metadata,
      spec: nativeSpec,
    }),
    statefulSetTemplate: s.optionalObject("A StatefulSet of Kubernetes, of the group apps.", {
      metadata,
      spec: nativeSpec,
    }),
  }),
  topology: s.optionalObject("Into which subsets the pods are divided.", {
    scheduleStrategy: s.optional(
      subsetScheduleStrategy({
        rescheduleCriticalSeconds: s.optional(
          s.int32(
            "Seconds after its creation until a pod that no node takes counts as unschedulable, and " +
              "others are made elsewhere; 30 by default.",
          ),
        ),
        reserveUnschedulablePods: s.optional(
          s.flag(
            "Keep pods that no node takes, and add others elsewhere until they run; false by default: " +
              "they go. Not with a StatefulSet of either kind.",
          ),
        ),
        unschedulableDuration: s.optional(
          s.int32(
            "Seconds for which a subset gets no further pods after one was unschedulable or, with " +
              "reserveUnschedulablePods, for which a kept pod must be ready until its substitute goes; " +
              "300 by default.",
          ),
        ),
      }),
    ),
    subsets: s.optional(
      s.list(
        "Subsets. With minReplicas or maxReplicas, and with type Adaptive, the first ones are filled first.",
        subset,
      ),
    ),
  }),
  updateStrategy: s.optionalObject("How subsets are brought to a new revision.", {
    manualUpdate: s.optionalObject("Settings of the type Manual.", {
      partitions: s.optional(
        s.map(
          "Partitions by name of the subset; a subset that is not named has 0.",
          s.int32("Number of pods of the subset that keep the old revision."),
        ),
      ),
    }),
    type: s.optional(
      s.choice("Manual (the default): subsets are updated as manualUpdate says. There is no other.", [
        "Manual",
        "",
      ]),
    ),
  }),
});

const looseCondition = s.object("One condition.", {
  lastTransitionTime: s.optional(s.dateTime("When the status of the condition changed last.")),
  message: s.optional(s.text("Cause of the last change in a sentence, for people.")),
  reason: s.optional(s.text("Cause of the last change in one word, for programs.")),
  status: s.optional(s.text("True, False or Unknown.")),
  type: s.optional(s.text("UnitedDeploymentUpdated, SubsetProvisioned or SubsetUpdated.")),
});

const statusCommon = {
  collisionCount,
  conditions: s.optional(s.list("What is observed of the object's state, one entry a type.", looseCondition)),
  currentRevision: s.text(
    "Name of the ControllerRevision that subsets are updated from; the newest one after a rollout.",
  ),
  labelSelector: labelSelectorText,
  observedGeneration,
  readyReplicas: s.optional(s.int32("Number of ready pods over all subsets.")),
  replicas: s.int32("Number of pods over all subsets, without those that are kept although unschedulable."),
  reservedPods: s.optional(s.int32("Number of pods that are kept although unschedulable.")),
  subsetStatuses: s.optionalObjectList("How far each subset is.", "One subset.", {
    conditions: s.conditions("Schedulable: whether the subset takes further pods.", {}),
    name: s.optional(s.text("Name of the subset.")),
    partition: s.optional(s.int32("Number of pods of the subset that keep the old revision.")),
    readyReplicas: s.optional(s.int32("Number of ready pods of the subset.")),
    replicas: s.optional(s.int32("Number of pods that the subset should have.")),
    reservedPods: s.optional(s.int32("Number of pods of the subset that are kept although unschedulable.")),
  }),
  updatedReadyReplicas: s.optional(s.int32("Number of ready pods at the newest revision.")),
  updatedReplicas: s.int32("Number of pods at the newest revision."),
};

const statusV1alpha1 = s.statusOf({
  ...statusCommon,
  subsetReplicas: s.optional(
    s.map("Sizes by name of the subset.", s.int32("Number of pods that the subset should have.")),
  ),
  updateStatus: s.optionalObject("What the update is about.", {
    currentPartitions: s.optional(
      s.map(
        "Partitions by name of the subset, as they are carried out.",
        s.int32("Number of pods of the subset that keep the old revision."),
      ),
    ),
    updatedRevision: s.optional(s.text("Name of the ControllerRevision of the present template.")),
  }),
});

const status = s.statusOf({
  ...statusCommon,
  updatedRevision: s.optional(s.text("Name of the ControllerRevision of the present template.")),
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
