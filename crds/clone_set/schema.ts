/** CloneSet in both versions. Spec: cloneset 1 to 3. */

import { ageColumn, containerColumns, integerColumn, wideColumn } from "../columns.ts";
import { workloadTemplates } from "../core_places.ts";
import { defineKind } from "../define_kind.ts";
import * as s from "../dsl.ts";
import {
  collisionCount,
  inPlaceUpdateStrategy,
  lifecycle,
  observedGeneration,
  priorityStrategy,
  revisionHistoryLimit,
  scatterStrategy,
  templateSelector,
  updateStrategy,
} from "../fragments.ts";
import { type KindObject, type PrinterColumn, workloadScale } from "../kind.ts";
import type { Decoded } from "../kind_reader.ts";
import type { PersistentVolumeClaim } from "../pod_template.ts";
import { convertCloneSet } from "./convert.ts";

const common = {
  lifecycle,
  minReadySeconds: s.optional(s.int32("Seconds a pod must be ready to count as available.")),
  progressDeadlineSeconds: s.optional(
    s.int32("Seconds without progress until the condition Progressing turns False."),
  ),
  replicas: s.optional(s.int32("Wanted number of pods; 1 by default.")),
  revisionHistoryLimit,
  selector: templateSelector,
  template: s.podTemplate("The pods to create."),
  volumeClaimTemplates: s.optional(s.preserve<PersistentVolumeClaim[]>("Claims created for each pod.")),
};

const scaling = {
  maxUnavailable: s.optional(
    s.intOrString("Pods that may be unavailable while scaling out; unlimited by default."),
  ),
  podsToDelete: s.optional(s.strings("Pods to remove first; emptied when they are gone.")),
};

const rollout = {
  inPlaceUpdateStrategy,
  maxSurge: s.optional(s.intOrString("Pods above the wanted number during an update; 0 by default.")),
  maxUnavailable: s.optional(s.intOrString("Pods that may be unavailable during an update; 20% by default.")),
  partition: s.optional(s.intOrString("Pods that stay at the old revision; 0 by default.")),
  paused: s.optional(s.flag("Hold the update; scaling goes on.")),
  priorityStrategy,
  scatterStrategy,
};

const specV1alpha1 = s.specOf({
  ...common,
  scaleStrategy: s.optionalObject("How the number of pods is changed.", {
    ...scaling,
    disablePVCReuse: s.optional(s.flag("Delete claims of vanished pods instead of giving them to new pods.")),
  }),
  updateStrategy: s.optionalObject("How pods are brought to a new revision.", {
    ...rollout,
    type: s.optional(s.text("ReCreate (default), InPlaceIfPossible or InPlaceOnly.")),
  }),
});

/** `spec.updateStrategy.rollingUpdate` of the storage version. */
const rollingUpdate = s.object("Settings of the type RollingUpdate.", {
  ...rollout,
  podUpdatePolicy: s.optional(s.text("ReCreate (default), InPlaceIfPossible or InPlaceOnly.")),
});

/** Spec of the storage version; UnitedDeployment embeds it. */
export const cloneSetSpec = s.specOf({
  ...common,
  scaleStrategy: s.optionalObject("How the number of pods is changed.", {
    ...scaling,
    enablePVCReuse: s.optional(s.flag("Give claims of vanished pods to new pods.", { default: false })),
    excludePreparingDelete: s.optional(s.flag("Do not count pods that are held before their deletion.")),
  }),
  updateStrategy: s.optional(updateStrategy(rollingUpdate)),
});

const status = s.statusOf({
  availableReplicas: s.int32("Pods that are ready for minReadySeconds and in state Normal."),
  collisionCount,
  conditions: s.conditions({ lastUpdateTime: s.optional(s.dateTime("When status or reason changed last.")) }),
  currentRevision: s.optional(s.text("Revision from which pods are updated.")),
  expectedUpdatedReplicas: s.optional(s.int32("Pods that the partition lets be updated.")),
  labelSelector: s.optional(s.text("The selector as text, for the scale subresource.")),
  observedGeneration,
  readyReplicas: s.int32("Pods that are ready."),
  replicas: s.int32("Pods that exist and are active."),
  updateRevision: s.optional(s.text("Revision of the present template.")),
  updatedAvailableReplicas: s.optional(s.int32("Available pods at the update revision.")),
  updatedReadyReplicas: s.int32("Ready pods at the update revision."),
  updatedReplicas: s.int32("Pods at the update revision."),
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
