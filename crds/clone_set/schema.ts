/** CloneSet in both versions. Spec: cloneset 1 to 3. */

import { workloadTemplates } from "../core_places.ts";
import { defineKind } from "../define_kind.ts";
import {
  conditions,
  dateTime,
  flag,
  int32,
  int64,
  intOrString,
  labelSelector,
  object,
  optional,
  podTemplate,
  preserve,
  type Static,
  strings,
  text,
} from "../dsl.ts";
import { inPlaceUpdateStrategy, lifecycle, priorityStrategy, scatterStrategy } from "../fragments.ts";
import { type KindObject, type PrinterColumn, workloadScale } from "../kind.ts";
import type { Decoded } from "../kind_reader.ts";
import type { PersistentVolumeClaim } from "../pod_template.ts";
import { convertCloneSet } from "./convert.ts";

const common = {
  lifecycle: optional(lifecycle()),
  minReadySeconds: optional(int32("Seconds a pod must be ready to count as available.")),
  progressDeadlineSeconds: optional(
    int32("Seconds without progress until the condition Progressing turns False."),
  ),
  replicas: optional(int32("Wanted number of pods; 1 by default.")),
  revisionHistoryLimit: optional(int32("Revisions kept besides those in use; 10 by default.")),
  selector: labelSelector("Labels that the template carries and that find the pods; cannot be changed."),
  template: podTemplate("The pods to create."),
  volumeClaimTemplates: optional(preserve<PersistentVolumeClaim[]>("Claims created for each pod.")),
};

const scaling = {
  maxUnavailable: optional(
    intOrString("Pods that may be unavailable while scaling out; unlimited by default."),
  ),
  podsToDelete: optional(strings("Pods to remove first; emptied when they are gone.")),
};

const rollout = {
  inPlaceUpdateStrategy: optional(inPlaceUpdateStrategy()),
  maxSurge: optional(intOrString("Pods above the wanted number during an update; 0 by default.")),
  maxUnavailable: optional(intOrString("Pods that may be unavailable during an update; 20% by default.")),
  partition: optional(intOrString("Pods that stay at the old revision; 0 by default.")),
  paused: optional(flag("Hold the update; scaling goes on.")),
  priorityStrategy: optional(priorityStrategy()),
  scatterStrategy: optional(scatterStrategy()),
};

const specV1alpha1 = object(
  {
    ...common,
    scaleStrategy: optional(
      object(
        {
          ...scaling,
          disablePVCReuse: optional(
            flag("Delete claims of vanished pods instead of giving them to new pods."),
          ),
        },
        "How the number of pods is changed.",
      ),
    ),
    updateStrategy: optional(
      object(
        { ...rollout, type: optional(text("ReCreate (default), InPlaceIfPossible or InPlaceOnly.")) },
        "How pods are brought to a new revision.",
      ),
    ),
  },
  "What is wanted.",
);

/** `spec.updateStrategy.rollingUpdate` of the storage version. */
const rollingUpdate = object(
  { ...rollout, podUpdatePolicy: optional(text("ReCreate (default), InPlaceIfPossible or InPlaceOnly.")) },
  "Settings of the type RollingUpdate.",
);

/** Spec of the storage version; UnitedDeployment embeds it. */
export const cloneSetSpec = object(
  {
    ...common,
    scaleStrategy: optional(
      object(
        {
          ...scaling,
          enablePVCReuse: optional(flag("Give claims of vanished pods to new pods.", { default: false })),
          excludePreparingDelete: optional(flag("Do not count pods that are held before their deletion.")),
        },
        "How the number of pods is changed.",
      ),
    ),
    updateStrategy: optional(
      object(
        {
          rollingUpdate: optional(rollingUpdate),
          type: optional(text("RollingUpdate (default) or OnDelete.")),
        },
        "How pods are brought to a new revision.",
      ),
    ),
  },
  "What is wanted.",
);

const status = object(
  {
    availableReplicas: int32("Pods that are ready for minReadySeconds and in state Normal."),
    collisionCount: optional(int32("Counter mixed into revision hashes when two collide.")),
    conditions: optional(
      conditions({ lastUpdateTime: optional(dateTime("When status or reason changed last.")) }),
    ),
    currentRevision: optional(text("Revision from which pods are updated.")),
    expectedUpdatedReplicas: optional(int32("Pods that the partition lets be updated.")),
    labelSelector: optional(text("The selector as text, for the scale subresource.")),
    observedGeneration: optional(int64("Generation that the status is about.")),
    readyReplicas: int32("Pods that are ready."),
    replicas: int32("Pods that exist and are active."),
    updateRevision: optional(text("Revision of the present template.")),
    updatedAvailableReplicas: optional(int32("Available pods at the update revision.")),
    updatedReadyReplicas: int32("Ready pods at the update revision."),
    updatedReplicas: int32("Pods at the update revision."),
  },
  "What is observed.",
);

export type CloneSetSpec = Static<typeof cloneSetSpec>;
export type CloneSetSpecV1alpha1 = Static<typeof specV1alpha1>;
export type CloneSetRollingUpdate = Static<typeof rollingUpdate>;
export type CloneSetStatus = Static<typeof status>;
/** The internal version, which is the storage version v1beta1. */
export type CloneSet = KindObject<CloneSetSpec, CloneSetStatus>;
export type CloneSetV1alpha1 = KindObject<CloneSetSpecV1alpha1, CloneSetStatus>;

const columns: readonly PrinterColumn[] = [
  { name: "DESIRED", type: "integer", jsonPath: ".spec.replicas", description: "Wanted number of pods." },
  {
    name: "UPDATED",
    type: "integer",
    jsonPath: ".status.updatedReplicas",
    description: "Pods at the update revision.",
  },
  {
    name: "UPDATED_READY",
    type: "integer",
    jsonPath: ".status.updatedReadyReplicas",
    description: "Those that are ready.",
  },
  {
    name: "UPDATED_AVAILABLE",
    type: "integer",
    jsonPath: ".status.updatedAvailableReplicas",
    description: "Those that are available.",
  },
  { name: "READY", type: "integer", jsonPath: ".status.readyReplicas", description: "Pods that are ready." },
  { name: "TOTAL", type: "integer", jsonPath: ".status.replicas", description: "Pods that exist." },
  { name: "AGE", type: "date", jsonPath: ".metadata.creationTimestamp", description: "Time since creation." },
  {
    name: "CONTAINERS",
    type: "string",
    priority: 1,
    jsonPath: ".spec.template.spec.containers[*].name",
    description: "Container names.",
  },
  {
    name: "IMAGES",
    type: "string",
    priority: 1,
    jsonPath: ".spec.template.spec.containers[*].image",
    description: "Container images.",
  },
  {
    name: "SELECTOR",
    type: "string",
    priority: 1,
    jsonPath: ".status.labelSelector",
    description: "Label selector of the pods.",
  },
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
