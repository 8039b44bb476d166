/** CloneSet in both versions. Spec: cloneset 1 to 3. */

import { ageColumn, containerColumns, integerColumn, wideColumn } from "../columns.ts";
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
  inPlaceUpdateStrategy,
  labelSelectorText,
  lifecycle,
  minReadySeconds,
  podUpdatePolicyWords,
  priorityStrategy,
  revisionHistoryLimit,
  scatterStrategy,
  templateSelector,
  updateRevision,
  updateStrategy,
  wantedReplicas,
} from "../workload_fragments.ts";
import { convertCloneSet } from "./convert.ts";

const common = {
  lifecycle,
  minReadySeconds,
  progressDeadlineSeconds: s.optional(
    s.int32(
      "Seconds without progress after which the condition Progressing turns False; the rollout " +
        "goes on. Without it, and with 2147483647, there is no such condition. To be more than " +
        "minReadySeconds.",
    ),
  ),
  replicas: wantedReplicas,
  revisionHistoryLimit,
  selector: templateSelector,
  template: s.podTemplate(
    "Pods that are created, as a pod template of Kubernetes. A change of it begins a rollout.",
  ),
  volumeClaimTemplates: s.optional(
    s.preserve<PersistentVolumeClaim[]>(
      "PersistentVolumeClaims that are made for each pod. A change reaches claims of new pods only.",
    ),
  ),
};

const scaling = {
  maxUnavailable: s.optional(
    s.intOrString(
      "Most pods that may be unavailable while pods are created: a number, or a percentage of " +
        "replicas rounded up. Without it, all missing pods are created at once.",
    ),
  ),
  podsToDelete: s.optional(
    s.strings(
      "Names of pods to delete, each once; with a lower replicas they are the ones that go, " +
        "else others take their place. Names of pods that are gone are taken out of the list.",
    ),
  ),
};

const rollout = {
  maxSurge: s.optional(
    s.intOrString(
      "Most pods above replicas during an update: a number, or a percentage of replicas rounded " +
        "up; 0 by default, and 0 while paused. Not with InPlaceOnly.",
    ),
  ),
  maxUnavailable: s.optional(
    s.intOrString(
      "Most pods that may be unavailable during an update: a number, or a percentage of " +
        "replicas, rounded up where maxSurge is 0 and down where it is not; 20% by default.",
    ),
  ),
  partition: s.optional(
    s.intOrString(
      "Pods that keep the old revision: a number, or a percentage of replicas rounded up, also " +
        "with a fraction such as 33.3%; 0 by default. A percentage below 100% lets at least one " +
        "of several pods be updated.",
    ),
  ),
  paused: s.optional(s.flag("Update no further pods; scaling goes on. The default is false.")),
  priorityStrategy,
  scatterStrategy,
};

const specV1alpha1 = s.specOf({
  ...common,
  scaleStrategy: s.optionalObject("How the number of pods is changed.", {
    ...scaling,
    disablePVCReuse: s.optional(
      s.flag(
        "Delete the claims of pods that are gone, instead of giving them to the pods that take " +
          "their place; false by default.",
      ),
    ),
  }),
  updateStrategy: s.optionalObject("How pods are brought to a new revision.", {
    ...rollout,
    inPlaceUpdateStrategy: annotatedInPlaceUpdateStrategy,
    type: s.optional(
      s.text(`${podUpdatePolicyWords} OnDelete: a pod gets the new revision when somebody deletes it.`),
    ),
  }),
});

/** `spec.updateStrategy.rollingUpdate` of the storage version. */
const rollingUpdate = s.object("Settings of the type RollingUpdate.", {
  ...rollout,
  inPlaceUpdateStrategy,
  podUpdatePolicy: s.optional(s.text(podUpdatePolicyWords)),
});

/** Spec of the storage version; UnitedDeployment embeds it. */
export const cloneSetSpec = s.specOf({
  ...common,
  scaleStrategy: s.optionalObject("How the number of pods is changed.", {
    ...scaling,
    enablePVCReuse: s.optional(
      s.flag(
        "Give the claims of pods that are gone to the pods that take their place, instead of " +
          "deleting them; false by default.",
        { default: false },
      ),
    ),
    excludePreparingDelete: s.optional(
      s.flag(
        "Do not count pods in the state PreparingDelete as replicas, so that others are created " +
          "while they wait; false by default.",
      ),
    ),
  }),
  updateStrategy: s.optional(updateStrategy(rollingUpdate)),
});

const status = s.statusOf({
  availableReplicas: s.int32(
    "Number of pods that have been ready for minReadySeconds and are in the lifecycle state Normal.",
  ),
  collisionCount,
  conditions: s.conditions("Progressing (with progressDeadlineSeconds), FailedScale or FailedUpdate.", {
    lastUpdateTime: s.optional(s.dateTime("When the status or the reason of the condition changed last.")),
  }),
  currentRevision,
  expectedUpdatedReplicas: s.optional(
    s.int32(
      "Number of pods that should have the update revision: replicas without those that the partition keeps.",
    ),
  ),
  labelSelector: labelSelectorText,
  observedGeneration,
  readyReplicas: s.int32("Number of pods that run and are ready, and are not being updated in place."),
  replicas: s.int32(
    "Number of pods that are there, without those that succeeded, failed or are being deleted.",
  ),
  updateRevision,
  updatedAvailableReplicas: s.optional(s.int32("Number of available pods at the update revision.")),
  updatedReadyReplicas: s.int32("Number of ready pods at the update revision."),
  updatedReplicas: s.int32("Number of pods at the update revision."),
});

export type CloneSetSpec = s.Static<typeof cloneSetSpec>;
export type CloneSetSpecV1alpha1 = s.Static<typeof specV1alpha1>;
export type CloneSetRollingUpdate = s.Static<typeof rollingUpdate>;
export type CloneSetStatus = s.Static<typeof status>;
/** The internal version, which is the storage version v1beta1. */
export type CloneSet = KindObject<CloneSetSpec, CloneSetStatus>;

const columns: readonly PrinterColumn[] = [
  integerColumn("DESIRED", ".spec.replicas", "Wanted number of pods."),
  integerColumn("UPDATED", ".status.updatedReplicas", "Pods at the update revision."),
  integerColumn("UPDATED_READY", ".status.updatedReadyReplicas", "Those that are ready."),
  integerColumn("UPDATED_AVAILABLE", ".status.updatedAvailableReplicas", "Those that are available."),
  integerColumn("READY", ".status.readyReplicas", "Pods that are ready."),
  integerColumn("TOTAL", ".status.replicas", "Pods that exist."),
  ageColumn,
  ...containerColumns,
  wideColumn("SELECTOR", ".status.labelSelector", "Label selector of the pods."),
];

export const cloneSet = defineKind({
  kind: "CloneSet",
  plural: "clonesets",
  shortNames: ["clone"],
  description:
    "Stateless pods that can be updated in place, chosen for deletion, and rolled out in portions.",
  conversion: convertCloneSet,
  corePlaces: workloadTemplates,
  versions: [
    { name: "v1alpha1", storage: false, spec: specV1alpha1, status, columns, scale: workloadScale },
    { name: "v1beta1", storage: true, spec: cloneSetSpec, status, columns, scale: workloadScale },
  ],
});

export type DecodedCloneSet = Decoded<typeof cloneSet>;
