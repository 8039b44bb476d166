/** Advanced StatefulSet. Spec: statefulset 1 to 3. */

import { workloadTemplates } from "../core_places.ts";
import { defineKind } from "../define_kind.ts";
import {
  conditions,
  flag,
  int32,
  int64,
  intOrString,
  labelSelector,
  list,
  object,
  optional,
  podTemplate,
  preserve,
  type Static,
  text,
} from "../dsl.ts";
import { inPlaceUpdateStrategy, lifecycle, priorityStrategy } from "../fragments.ts";
import { type KindObject, type PrinterColumn, workloadScale } from "../kind.ts";
import type { Decoded } from "../kind_reader.ts";
import type { PersistentVolumeClaim } from "../pod_template.ts";
import { convertStatefulSet } from "./convert.ts";

const rollingUpdate = object(
  {
    inPlaceUpdateStrategy: optional(inPlaceUpdateStrategy()),
    maxUnavailable: optional(intOrString("Pods that may be unavailable during an update; 1 by default.")),
    minReadySeconds: optional(int32("Seconds a pod must be ready to count as available, 0 to 300.")),
    partition: optional(int32("Number of pods that stay at the old revision; 0 by default.")),
    paused: optional(flag("Hold the update; scaling goes on.")),
    podUpdatePolicy: optional(text("ReCreate (default), InPlaceIfPossible or InPlaceOnly.")),
    unorderedUpdate: optional(
      object({ priorityStrategy: optional(priorityStrategy()) }, "Update by priority instead of by ordinal."),
    ),
  },
  "Settings of the type RollingUpdate.",
);

const common = {
  podManagementPolicy: optional(text("OrderedReady (default) or Parallel; cannot be changed.")),
  replicas: optional(int32("Wanted number of pods; 1 by default.")),
  revisionHistoryLimit: optional(int32("Revisions kept besides those in use; 10 by default.")),
  selector: labelSelector("Labels that the template carries and that find the pods; cannot be changed."),
  serviceName: optional(text("Service that gives the pods their names; cannot be changed.")),
  template: podTemplate("The pods to create."),
  updateStrategy: optional(
    object(
      {
        rollingUpdate: optional(rollingUpdate),
        type: optional(text("RollingUpdate (default) or OnDelete.")),
      },
      "How pods are brought to a new revision.",
    ),
  ),
  volumeClaimTemplates: optional(preserve<PersistentVolumeClaim[]>("Claims kept for each ordinal.")),
};

const specV1alpha1 = object(common, "What is wanted.");

/** Spec of the storage version; UnitedDeployment embeds it. */
export const statefulSetSpec = object(
  {
    ...common,
    lifecycle: optional(lifecycle()),
    ordinals: optional(
      object({ start: optional(int32("First ordinal; 0 by default.")) }, "Numbering of the pods."),
    ),
    persistentVolumeClaimRetentionPolicy: optional(
      object(
        {
          whenDeleted: optional(text("Retain (default) or Delete the claims with the set.")),
          whenScaled: optional(text("Retain (default) or Delete the claims of pods that are scaled in.")),
        },
        "What becomes of the claims.",
      ),
    ),
    reserveOrdinals: optional(
      list(intOrString("A number, or a closed range such as 3-5."), "Ordinals that are left out."),
    ),
    scaleStrategy: optional(
      object(
        {
          maxUnavailable: optional(
            intOrString("Pods that may be unavailable while scaling out; unlimited by default."),
          ),
        },
        "How the number of pods is changed.",
      ),
    ),
    volumeClaimUpdateStrategy: optional(
      object(
        { type: optional(text("OnPodRollingUpdate or OnDelete.")) },
        "When changed claim templates reach claims.",
      ),
    ),
  },
  "What is wanted.",
);

const statusCommon = {
  availableReplicas: int32("Pods that are available."),
  collisionCount: optional(int32("Counter mixed into revision hashes when two collide.")),
  conditions: optional(conditions({})),
  currentReplicas: int32("Pods at the current revision."),
  currentRevision: optional(text("Revision from which pods are updated.")),
  labelSelector: optional(text("The selector as text, for the scale subresource.")),
  observedGeneration: optional(int64("Generation that the status is about.")),
  readyReplicas: int32("Pods that are ready."),
  replicas: int32("Pods that exist."),
  updateRevision: optional(text("Revision of the present template.")),
  updatedReplicas: int32("Pods at the update revision."),
};

const statusV1alpha1 = object(statusCommon, "What is observed.");

const status = object(
  {
    ...statusCommon,
    updatedAvailableReplicas: optional(int32("Available pods at the update revision.")),
    updatedReadyReplicas: optional(int32("Ready pods at the update revision.")),
    volumeClaims: optional(
      list(
        object(
          {
            compatibleReadyReplicas: int32("Claims that match the template and have their size."),
            compatibleReplicas: int32("Claims that match the template."),
            volumeClaimName: text("Name of the claim template."),
          },
          "One claim template.",
        ),
        "How far claims match their templates.",
      ),
    ),
  },
  "What is observed.",
);

export type StatefulSetSpec = Static<typeof statefulSetSpec>;
export type StatefulSetStatus = Static<typeof status>;
export type StatefulSet = KindObject<StatefulSetSpec, StatefulSetStatus>;
export type StatefulSetV1alpha1 = KindObject<Static<typeof specV1alpha1>, Static<typeof statusV1alpha1>>;

const columns: readonly PrinterColumn[] = [
  { name: "DESIRED", type: "integer", jsonPath: ".spec.replicas", description: "Wanted number of pods." },
  { name: "CURRENT", type: "integer", jsonPath: ".status.replicas", description: "Pods that exist." },
  {
    name: "UPDATED",
    type: "integer",
    jsonPath: ".status.updatedReplicas",
    description: "Pods at the update revision.",
  },
  { name: "READY", type: "integer", jsonPath: ".status.readyReplicas", description: "Pods that are ready." },
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
