/** Advanced DaemonSet. Spec: daemonset 1 to 3. */

import { ageColumn, containerColumns, integerColumn } from "../columns.ts";
import { workloadTemplates } from "../core_places.ts";
import { defineKind } from "../define_kind.ts";
import * as s from "../dsl.ts";
import {
  collisionCount,
  lifecycle,
  observedGeneration,
  revisionHistoryLimit,
  templateSelector,
  updateStrategy,
} from "../fragments.ts";
import type { KindObject, PrinterColumn } from "../kind.ts";
import type { Decoded } from "../kind_reader.ts";
import { convertDaemonSet } from "./convert.ts";

const rollingUpdate = s.object("Settings of the type RollingUpdate.", {
  maxSurge: s.optional(
    s.intOrString("Nodes that may run an old and a new pod at the same time; 0 by default."),
  ),
  maxUnavailable: s.optional(s.intOrString("Pods that may be unavailable during an update; 1 by default.")),
  partition: s.optional(s.intOrString("Pods that stay at the old revision; 0 by default.")),
  paused: s.optional(s.flag("Hold the update.")),
  rollingUpdateType: s.optional(s.text("Standard (default) or InPlaceIfPossible.")),
  selector: s.optional(s.labelSelector("Nodes whose pods are updated; all by default.")),
});

const common = {
  burstReplicas: s.optional(s.intOrString("Pods created or deleted in one pass; 250 by default.")),
  lifecycle,
  minReadySeconds: s.optional(s.int32("Seconds a pod must be ready to count as available.")),
  revisionHistoryLimit,
  selector: templateSelector,
  template: s.podTemplate("The pods to create, one on each suitable node."),
  updateStrategy: s.optional(updateStrategy(rollingUpdate)),
};

const specV1alpha1 = s.specOf(common);

const spec = s.specOf({
  ...common,
  scaleStrategy: s.optionalObject("How pods are created.", {
    partitionedScaling: s.optional(s.flag("Create missing pods in portions, as the partition allows.")),
  }),
});

const statusCommon = {
  collisionCount,
  conditions: s.conditions({}),
  currentNumberScheduled: s.int32("Nodes that run the pod and should."),
  desiredNumberScheduled: s.int32("Nodes that should run the pod."),
  numberAvailable: s.optional(s.int32("Nodes whose pod is available.")),
  numberMisscheduled: s.int32("Nodes that run the pod and should not."),
  numberReady: s.int32("Nodes whose pod is ready."),
  numberUnavailable: s.optional(s.int32("Nodes that should have an available pod and have none.")),
  observedGeneration,
  updatedNumberScheduled: s.int32("Nodes that run the pod at the update revision."),
};

const statusV1alpha1 = s.statusOf({
  ...statusCommon,
  daemonSetHash: s.optional(s.text("Hash of the present template.")),
});

const status = s.statusOf({
  ...statusCommon,
  updateRevision: s.optional(s.text("Revision of the present template.")),
});

export type DaemonSetSpec = s.Static<typeof spec>;
export type DaemonSetStatus = s.Static<typeof status>;
export type DaemonSet = KindObject<DaemonSetSpec, DaemonSetStatus>;

const columns: readonly PrinterColumn[] = [
  integerColumn("DESIRED", ".status.desiredNumberScheduled", "Nodes that should run the pod."),
  integerColumn("CURRENT", ".status.currentNumberScheduled", "Nodes that run the pod."),
  integerColumn("READY", ".status.numberReady", "Nodes whose pod is ready."),
  integerColumn("UP-TO-DATE", ".status.updatedNumberScheduled", "Nodes whose pod is at the update revision."),
  integerColumn("AVAILABLE", ".status.numberAvailable", "Nodes whose pod is available."),
  ageColumn,
  ...containerColumns,
];

export const daemonSet = defineKind({
  kind: "DaemonSet",
  plural: "daemonsets",
  shortNames: ["daemon", "ads"],
  description:
    "One pod on each suitable node, updated in portions, in place or with a second pod for the change.",
  conversion: convertDaemonSet,
  corePlaces: workloadTemplates,
  versions: [
    { name: "v1alpha1", storage: false, spec: specV1alpha1, status: statusV1alpha1, columns },
    { name: "v1beta1", storage: true, spec, status, columns },
  ],
});

export type DecodedDaemonSet = Decoded<typeof daemonSet>;
