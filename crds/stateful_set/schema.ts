/** Advanced StatefulSet. Spec: statefulset 1 to 3. */

import { ageColumn, containerColumns, integerColumn } from "../columns.ts";
import { workloadTemplates } from "../core_places.ts";
import { defineKind } from "../define_kind.ts";
import * as s from "../dsl.ts";
import { observedGeneration } from "../fragments.ts";
import { type KindObject, type PrinterColumn, workloadScale } from "../kind.ts";
import type { Decoded } from "../kind_reader.ts";
import type { PersistentVolumeClaim } from "../pod_template.ts";
import {
  annotatedInPlaceUpdateStrategy,
  collisionCount,
  currentRevision,
  labelSelectorText,
  lifecycle,
  podUpdatePolicyWords,
  priorityStrategy,
  revisionHistoryLimit,
  templateSelector,
  updateRevision,
  updateStrategy,
  wantedReplicas,
} from "../workload_fragments.ts";
import { convertStatefulSet } from "./convert.ts";

const rollingUpdate = s.object("Settings of the type RollingUpdate.", {
  inPlaceUpdateStrategy: annotatedInPlaceUpdateStrategy,
  maxUnavailable: s.optional(
    s.intOrString(
      "Most pods that may be unavailable during an update: a number, or a percentage of " +
        "replicas rounded down and at least 1; 1 by default. More than 1 needs " +
        "podManagementPolicy Parallel.",
    ),
  ),
  minReadySeconds: s.optional(
    s.int32(
      "Seconds for which a new pod must be ready before it counts as available, while updating " +
        "and while scaling: 0 to 300; 0 by default.",
    ),
  ),
  partition: s.optional(
    s.int32(
      "Number of pods that keep the old revision, those with the lowest ordinals unless " +
        "unorderedUpdate is set; 0 by default. It counts pods and is no ordinal.",
    ),
  ),
  paused: s.optional(s.flag("Update no further pods; scaling goes on. The default is false.")),
  podUpdatePolicy: s.optional(
    s.text(
      `${podUpdatePolicyWords} The last two need the readiness gate InPlaceUpdateReady in the template.`,
    ),
  ),
  unorderedUpdate: s.optionalObject(
    "Update pods by priority, instead of from the highest ordinal down. Needs podManagementPolicy Parallel.",
    {
      priorityStrategy,
    },
  ),
});

const common = {
  podManagementPolicy: s.optional(
    s.text(
      "OrderedReady (the default): pods are created from the lowest ordinal up and deleted from " +
        "the highest down, one at a time, each when the one before is available. Parallel: all at " +
        "once. It cannot be changed.",
    ),
  ),
  replicas: wantedReplicas,
  revisionHistoryLimit,
  selector: templateSelector,
  serviceName: s.optional(
    s.text(
      "Name of the headless Service that gives each pod its name in the DNS. It must be made " +
        "apart, and cannot be changed.",
    ),
  ),
  template: s.podTemplate(
    "Pods that are created, as a pod template of Kubernetes. A change of it begins a rollout.",
  ),
  updateStrategy: s.optional(updateStrategy(rollingUpdate)),
};

const claimTemplateWords =
  "PersistentVolumeClaims that are made for each ordinal, and stay when its pod is made anew.";

const claimTemplates = (change: string) =>
  s.optional(s.preserve<PersistentVolumeClaim[]>(`${claimTemplateWords} ${change}`));

const specV1alpha1 = s.specOf({
  ...common,
  volumeClaimTemplates: claimTemplates("A change reaches new claims only."),
});

/** Spec of the storage version; UnitedDeployment embeds it. */
export const statefulSetSpec = s.specOf({
  ...common,
  lifecycle,
  ordinals: s.optionalObject("Numbering of the pods.", {
    start: s.optional(
      s.int32(
        "Ordinal of the first pod; 0 by default. Needs feature gate StatefulSetStartOrdinal, and " +
          "has no effect without it.",
      ),
    ),
  }),
  persistentVolumeClaimRetentionPolicy: s.optionalObject(
    "What becomes of the claims. Needs feature gate StatefulSetAutoDeletePVC.",
    {
      whenDeleted: s.optional(
        s.text(
          "When the set is deleted: Retain (the default) keeps its claims, Delete deletes them with it.",
        ),
      ),
      whenScaled: s.optional(
        s.text(
          "When the set is scaled in: Retain (the default) keeps the claims of the pods that go, " +
            "Delete deletes them.",
        ),
      ),
    },
  ),
  reserveOrdinals: s.optional(
    s.list(
      "Ordinals that no pod gets. A pod that has one goes, and the next free ordinal takes its " +
        "place: replicas counts without them.",
      s.intOrString("An ordinal as a number, or a range as text such as 3-5, both ends included."),
    ),
  ),
  scaleStrategy: s.optionalObject("How the number of pods is changed.", {
    maxUnavailable: s.optional(
      s.intOrString(
        "Most pods that may be unavailable while pods are created: a number, or a percentage of " +
          "replicas rounded down and at least 1. Without it, all missing pods are created at once. " +
          "Needs podManagementPolicy Parallel.",
      ),
    ),
  }),
  volumeClaimTemplates: claimTemplates(
    "A change reaches new claims only, unless volumeClaimUpdateStrategy says otherwise.",
  ),
  volumeClaimUpdateStrategy: s.optionalObject(
    "When a change of volumeClaimTemplates reaches claims that exist. Needs feature gate " +
      "StatefulSetAutoResizePVCGate.",
    {
      type: s.optional(
        s.text(
          "OnDelete (the default): when a claim is deleted and made anew. OnPodRollingUpdate: a " +
            "claim whose size grew is grown before its pod is updated.",
        ),
      ),
    },
  ),
});

const statusCommon = {
  availableReplicas: s.int32("Number of pods that have been ready for minReadySeconds."),
  collisionCount,
  conditions: s.conditions("FailedCreatePod or FailedUpdatePod.", {}),
  currentReplicas: s.int32("Number of pods at the current revision, without those that are being deleted."),
  currentRevision,
  labelSelector: labelSelectorText,
  observedGeneration,
  readyReplicas: s.int32("Number of pods that run and are ready."),
  replicas: s.int32("Number of pods that are there, those that are being deleted included."),
  updateRevision,
  updatedReplicas: s.int32("Number of pods at the update revision, without those that are being deleted."),
};

const statusV1alpha1 = s.statusOf(statusCommon);

const status = s.statusOf({
  ...statusCommon,
  updatedAvailableReplicas: s.optional(s.int32("Number of available pods at the update revision.")),
  updatedReadyReplicas: s.optional(s.int32("Number of ready pods at the update revision.")),
  volumeClaims: s.optionalObjectList("How far claims match their templates.", "One claim template.", {
    compatibleReadyReplicas: s.int32(
      "Number of compatible claims whose volume has the size that they ask for.",
    ),
    compatibleReplicas: s.int32(
      "Number of claims of pods that ask for at least the size of the template, with its class " +
        "and access modes.",
    ),
    volumeClaimName: s.text("Name of the claim in volumeClaimTemplates."),
  }),
});

export type StatefulSetSpec = s.Static<typeof statefulSetSpec>;
export type StatefulSetStatus = s.Static<typeof status>;
export type StatefulSet = KindObject<StatefulSetSpec, StatefulSetStatus>;

const columns: readonly PrinterColumn[] = [
  integerColumn("DESIRED", ".spec.replicas", "Wanted number of pods."),
  integerColumn("CURRENT", ".status.replicas", "Pods that exist."),
  integerColumn("UPDATED", ".status.updatedReplicas", "Pods at the update revision."),
  integerColumn("READY", ".status.readyReplicas", "Pods that are ready."),
  ageColumn,
  ...containerColumns,
];

export const statefulSet = defineKind({
  kind: "StatefulSet",
  plural: "statefulsets",
  shortNames: ["sts", "asts"],
  description: "Pods with stable names and claims that can be updated in place and several at once.",
  conversion: convertStatefulSet,
  corePlaces: workloadTemplates,
  versions: [
    {
      name: "v1alpha1",
      storage: false,
      spec: specV1alpha1,
      status: statusV1alpha1,
      columns,
      scale: workloadScale,
    },
    { name: "v1beta1", storage: true, spec: statefulSetSpec, status, columns, scale: workloadScale },
  ],
});

export type DecodedStatefulSet = Decoded<typeof statefulSet>;
