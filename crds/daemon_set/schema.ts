/** Advanced DaemonSet. Spec: daemonset 1 to 3. */

import { ageColumn, containerColumns, integerColumn } from "../columns.ts";
import { workloadTemplates } from "../core_places.ts";
import { defineKind } from "../define_kind.ts";
import {
  conditions,
  flag,
  int32,
  intOrString,
  labelSelector,
  object,
  optional,
  podTemplate,
  type Static,
  specOf,
  statusOf,
  text,
} from "../dsl.ts";
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

const rollingUpdate = object("Settings of the type RollingUpdate.", {
  maxSurge: optional(intOrString("Nodes that may run an old and a new pod at the same time; 0 by default.")),
  maxUnavailable: optional(intOrString("Pods that may be unavailable during an update; 1 by default.")),
  partition: optional(intOrString("Pods that stay at the old revision; 0 by default.")),
  paused: optional(flag("Hold the update.")),
  rollingUpdateType: optional(text("Standard (default) or InPlaceIfPossible.")),
  selector: optional(labelSelector("Nodes whose pods are updated; all by default.")),
});

const common = {
  burstReplicas: optional(intOrString("Pods created or deleted in one pass; 250 by default.")),
  lifecycle: optional(lifecycle()),
  minReadySeconds: optional(int32("Seconds a pod must be ready to count as available.")),
  revisionHistoryLimit,
  selector: templateSelector,
  template: podTemplate("The pods to create, one on each suitable node."),
  updateStrategy: optional(updateStrategy(rollingUpdate)),
};

const specV1alpha1 = specOf(common);

const spec = specOf({
  ...common,
  scaleStrategy: optional(
    object("How pods are created.", {
      partitionedScaling: optional(flag("Create missing pods in portions, as the partition allows.")),
    }),
  ),
});

const statusCommon = {
  collisionCount,
  conditions: optional(conditions({})),
  currentNumberScheduled: int32("Nodes that run the pod and should."),
  desiredNumberScheduled: int32("Nodes that should run the pod."),
  numberAvailable: optional(int32("Nodes whose pod is available.")),
  numberMisscheduled: int32("Nodes that run the pod and should not."),
  numberReady: int32("Nodes whose pod is ready."),
  numberUnavailable: optional(int32("Nodes that should have an available pod and have none.")),
  observedGeneration,
  updatedNumberScheduled: int32("Nodes that run the pod at the update revision."),
};

const statusV1alpha1 = statusOf({
  ...statusCommon,
  daemonSetHash: optional(text("Hash of the present template.")),
});

const status = statusOf({
  ...statusCommon,
  updateRevision: optional(text("Revision of the present template.")),
});

export type DaemonSetSpec = Static<typeof spec>;
export type DaemonSetStatus = Static<typeof status>;
export type DaemonSet = KindObject<DaemonSetSpec, DaemonSetStatus>;
export type DaemonSetV1alpha1 = KindObject<Static<typeof specV1alpha1>, Static<typeof statusV1alpha1>>;

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
