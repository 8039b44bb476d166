/** Advanced StatefulSet. Spec: statefulset 1 to 3. */

import { ageColumn, containerColumns, integerColumn } from "../columns.ts";
import { workloadTemplates } from "../core_places.ts";
import { defineKind } from "../define_kind.ts";
import {
  conditions,
  flag,
  int32,
  intOrString,
  list,
  object,
  objectList,
  optional,
  podTemplate,
  preserve,
  type Static,
  specOf,
  statusOf,
  text,
} from "../dsl.ts";
import {
  collisionCount,
  inPlaceUpdateStrategy,
  lifecycle,
  observedGeneration,
  priorityStrategy,
  revisionHistoryLimit,
  templateSelector,
  updateStrategy,
} from "../fragments.ts";
import { type KindObject, type PrinterColumn, workloadScale } from "../kind.ts";
import type { Decoded } from "../kind_reader.ts";
import type { PersistentVolumeClaim } from "../pod_template.ts";
import { convertStatefulSet } from "./convert.ts";

const rollingUpdate = object("Settings of the type RollingUpdate.", {
  inPlaceUpdateStrategy: optional(inPlaceUpdateStrategy()),
  maxUnavailable: optional(intOrString("Pods that may be unavailable during an update; 1 by default.")),
  minReadySeconds: optional(int32("Seconds a pod must be ready to count as available, 0 to 300.")),
  partition: optional(int32("Number of pods that stay at the old revision; 0 by default.")),
  paused: optional(flag("Hold the update; scaling goes on.")),
  podUpdatePolicy: optional(text("ReCreate (default), InPlaceIfPossible or InPlaceOnly.")),
  unorderedUpdate: optional(
    object("Update by priority instead of by ordinal.", { priorityStrategy: optional(priorityStrategy()) }),
  ),
});

const common = {
  podManagementPolicy: optional(text("OrderedReady (default) or Parallel; cannot be changed.")),
  replicas: optional(int32("Wanted number of pods; 1 by default.")),
  revisionHistoryLimit,
  selector: templateSelector,
  serviceName: optional(text("Service that gives the pods their names; cannot be changed.")),
  template: podTemplate("The pods to create."),
  updateStrategy: optional(updateStrategy(rollingUpdate)),
  volumeClaimTemplates: optional(preserve<PersistentVolumeClaim[]>("Claims kept for each ordinal.")),
};

const specV1alpha1 = specOf(common);

/** Spec of the storage version; UnitedDeployment embeds it. */
export const statefulSetSpec = specOf({
  ...common,
  lifecycle: optional(lifecycle()),
  ordinals: optional(
    object("Numbering of the pods.", { start: optional(int32("First ordinal; 0 by default.")) }),
  ),
  persistentVolumeClaimRetentionPolicy: optional(
    object("What becomes of the claims.", {
      whenDeleted: optional(text("Retain (default) or Delete the claims with the set.")),
      whenScaled: optional(text("Retain (default) or Delete the claims of pods that are scaled in.")),
    }),
  ),
  reserveOrdinals: optional(
    list("Ordinals that are left out.", intOrString("A number, or a closed range such as 3-5.")),
  ),
  scaleStrategy: optional(
    object("How the number of pods is changed.", {
      maxUnavailable: optional(
        intOrString("Pods that may be unavailable while scaling out; unlimited by default."),
      ),
    }),
  ),
  volumeClaimUpdateStrategy: optional(
    object("When changed claim templates reach claims.", {
      type: optional(text("OnPodRollingUpdate or OnDelete.")),
    }),
  ),
});

const statusCommon = {
  availableReplicas: int32("Pods that are available."),
  collisionCount,
  conditions: optional(conditions({})),
  currentReplicas: int32("Pods at the current revision."),
  currentRevision: optional(text("Revision from which pods are updated.")),
  labelSelector: optional(text("The selector as text, for the scale subresource.")),
  observedGeneration,
  readyReplicas: int32("Pods that are ready."),
  replicas: int32("Pods that exist."),
  updateRevision: optional(text("Revision of the present template.")),
  updatedReplicas: int32("Pods at the update revision."),
};

const statusV1alpha1 = statusOf(statusCommon);

const status = statusOf({
  ...statusCommon,
  updatedAvailableReplicas: optional(int32("Available pods at the update revision.")),
  updatedReadyReplicas: optional(int32("Ready pods at the update revision.")),
  volumeClaims: optional(
    objectList("How far claims match their templates.", "One claim template.", {
      compatibleReadyReplicas: int32("Claims that match the template and have their size."),
      compatibleReplicas: int32("Claims that match the template."),
      volumeClaimName: text("Name of the claim template."),
    }),
  ),
});

export type StatefulSetSpec = Static<typeof statefulSetSpec>;
export type StatefulSetStatus = Static<typeof status>;
export type StatefulSet = KindObject<StatefulSetSpec, StatefulSetStatus>;
export type StatefulSetV1alpha1 = KindObject<Static<typeof specV1alpha1>, Static<typeof statusV1alpha1>>;

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
