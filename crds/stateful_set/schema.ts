/** Advanced StatefulSet. Spec: statefulset 1 to 3. */

import { ageColumn, containerColumns, integerColumn } from "../columns.ts";
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
  templateSelector,
  updateStrategy,
} from "../fragments.ts";
import { type KindObject, type PrinterColumn, workloadScale } from "../kind.ts";
import type { Decoded } from "../kind_reader.ts";
import type { PersistentVolumeClaim } from "../pod_template.ts";
import { convertStatefulSet } from "./convert.ts";

const rollingUpdate = s.object("Settings of the type RollingUpdate.", {
  inPlaceUpdateStrategy,
  maxUnavailable: s.optional(s.intOrString("Pods that may be unavailable during an update; 1 by default.")),
  minReadySeconds: s.optional(s.int32("Seconds a pod must be ready to count as available, 0 to 300.")),
  partition: s.optional(s.int32("Number of pods that stay at the old revision; 0 by default.")),
  paused: s.optional(s.flag("Hold the update; scaling goes on.")),
  podUpdatePolicy: s.optional(s.text("ReCreate (default), InPlaceIfPossible or InPlaceOnly.")),
  unorderedUpdate: s.optionalObject("Update by priority instead of by ordinal.", {
    priorityStrategy,
  }),
});

const common = {
  podManagementPolicy: s.optional(s.text("OrderedReady (default) or Parallel; cannot be changed.")),
  replicas: s.optional(s.int32("Wanted number of pods; 1 by default.")),
  revisionHistoryLimit,
  selector: templateSelector,
  serviceName: s.optional(s.text("Service that gives the pods their names; cannot be changed.")),
  template: s.podTemplate("The pods to create."),
  updateStrategy: s.optional(updateStrategy(rollingUpdate)),
  volumeClaimTemplates: s.optional(s.preserve<PersistentVolumeClaim[]>("Claims kept for each ordinal.")),
};

const specV1alpha1 = s.specOf(common);

/** Spec of the storage version; UnitedDeployment embeds it. */
export const statefulSetSpec = s.specOf({
  ...common,
  lifecycle,
  ordinals: s.optionalObject("Numbering of the pods.", {
    start: s.optional(s.int32("First ordinal; 0 by default.")),
  }),
  persistentVolumeClaimRetentionPolicy: s.optionalObject("What becomes of the claims.", {
    whenDeleted: s.optional(s.text("Retain (default) or Delete the claims with the set.")),
    whenScaled: s.optional(s.text("Retain (default) or Delete the claims of pods that are scaled in.")),
  }),
  reserveOrdinals: s.optional(
    s.list("Ordinals that are left out.", s.intOrString("A number, or a closed range such as 3-5.")),
  ),
  scaleStrategy: s.optionalObject("How the number of pods is changed.", {
    maxUnavailable: s.optional(
      s.intOrString("Pods that may be unavailable while scaling out; unlimited by default."),
    ),
  }),
  volumeClaimUpdateStrategy: s.optionalObject("When changed claim templates reach claims.", {
    type: s.optional(s.text("OnPodRollingUpdate or OnDelete.")),
  }),
});

const statusCommon = {
  availableReplicas: s.int32("Pods that are available."),
  collisionCount,
  conditions: s.conditions({}),
  currentReplicas: s.int32("Pods at the current revision."),
  currentRevision: s.optional(s.text("Revision from which pods are updated.")),
  labelSelector: s.optional(s.text("The selector as text, for the scale subresource.")),
  observedGeneration,
  readyReplicas: s.int32("Pods that are ready."),
  replicas: s.int32("Pods that exist."),
  updateRevision: s.optional(s.text("Revision of the present template.")),
  updatedReplicas: s.int32("Pods at the update revision."),
};

const statusV1alpha1 = s.statusOf(statusCommon);

const status = s.statusOf({
  ...statusCommon,
  updatedAvailableReplicas: s.optional(s.int32("Available pods at the update revision.")),
  updatedReadyReplicas: s.optional(s.int32("Ready pods at the update revision.")),
  volumeClaims: s.optionalObjectList("How far claims match their templates.", "One claim template.", {
    compatibleReadyReplicas: s.int32("Claims that match the template and have their size."),
    compatibleReplicas: s.int32("Claims that match the template."),
    volumeClaimName: s.text("Name of the claim template."),
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
