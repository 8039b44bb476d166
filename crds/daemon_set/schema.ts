/** Advanced DaemonSet. Spec: daemonset 1 to 3. */

import { ageColumn, containerColumns, integerColumn } from "../columns.ts";
import { workloadTemplates } from "../core_places.ts";
import { defineKind } from "../define_kind.ts";
import * as s from "../dsl.ts";
import { observedGeneration } from "../fragments.ts";
import type { KindObject, PrinterColumn } from "../kind.ts";
import type { Decoded } from "../kind_reader.ts";
import {
  collisionCount,
  deletionLifecycle,
  minReadySeconds,
  revisionHistoryLimit,
  templateSelector,
  updateStrategy,
} from "../workload_fragments.ts";
import { convertDaemonSet } from "./convert.ts";

const rollingUpdateTypes =
  "Standard (the default): a pod is deleted and made anew. InPlaceIfPossible: a pod is " +
  "changed in place where only images, labels or annotations differ (with feature gate " +
  "InPlaceWorkloadVerticalScaling also resources), else made anew.";

function rollingUpdate(types: string) {
  return s.object("Settings of the type RollingUpdate.", {
    maxSurge: s.optional(
      s.intOrString(
        "Most nodes that run an old and a new pod at the same time during an update: a number, or " +
          "a percentage of the nodes that should run the pod, rounded up; 0 by default. Either this " +
          "or maxUnavailable is more than 0, and with InPlaceIfPossible it is 0.",
      ),
    ),
    maxUnavailable: s.optional(
      s.intOrString(
        "Most nodes whose pod may be unavailable during an update: a number, or a percentage of " +
          "the nodes that should run the pod, rounded up; 1 by default where maxSurge is not set " +
          "either.",
      ),
    ),
    partition: s.optional(
      s.intOrString(
        "Nodes whose pod keeps the old revision, those with the lowest names: a number, or a " +
          "percentage of the nodes that should run the pod, rounded down; 0 by default. A pod that " +
          "is made anew has the new one.",
      ),
    ),
    paused: s.optional(
      s.flag("Update no further pods; pods for new nodes are still created. The default is false."),
    ),
    rollingUpdateType: s.optional(s.text(types)),
    selector: s.optional(
      s.labelSelector("Nodes whose pods are updated, by their labels; all nodes by default."),
    ),
  });
}

const common = {
  burstReplicas: s.optional(
    s.intOrString(
      "Most pods that are created, and most that are deleted or updated in place, in one pass: " +
        "a number, or a percentage of the nodes that should run the pod, rounded down and at " +
        "least 1; 250 by default.",
    ),
  ),
  lifecycle: deletionLifecycle,
  minReadySeconds,
  revisionHistoryLimit,
  selector: templateSelector,
  template: s.podTemplate(
    "Pods that are created, one on each suitable node, as a pod template of Kubernetes. A " +
      "change of it begins a rollout.",
  ),
};

const specV1alpha1 = s.specOf({
  ...common,
  updateStrategy: s.optional(
    updateStrategy(
      rollingUpdate(
        `${rollingUpdateTypes} Surging: stored as Standard, with maxSurge 1 and maxUnavailable 0.`,
      ),
    ),
  ),
});

const spec = s.specOf({
  ...common,
  updateStrategy: s.optional(updateStrategy(rollingUpdate(rollingUpdateTypes))),
  scaleStrategy: s.optionalObject("How pods are created.", {
    partitionedScaling: s.optional(
      s.flag(
        "Let partition hold creations, too: of the nodes without a pod, only as many get one as " +
          "the partition lets have the new revision; false by default.",
      ),
    ),
  }),
});

const statusCommon = {
  collisionCount,
  conditions: s.conditions("Name of the condition; daemon sets write none.", {}),
  currentNumberScheduled: s.int32("Number of nodes that run the pod and should."),
  desiredNumberScheduled: s.int32("Number of nodes that should run the pod."),
  numberAvailable: s.optional(
    s.int32("Number of nodes that should run the pod and whose pod has been ready for minReadySeconds."),
  ),
  numberMisscheduled: s.int32("Number of nodes that run the pod and should not."),
  numberReady: s.int32("Number of nodes that should run the pod and whose pod is ready."),
  numberUnavailable: s.optional(
    s.int32("Number of nodes that should run the pod and have no available one."),
  ),
  observedGeneration,
  updatedNumberScheduled: s.int32(
    "Number of nodes that should run the pod and whose pod is at the update revision.",
  ),
};

const statusV1alpha1 = s.statusOf({
  ...statusCommon,
  daemonSetHash: s.optional(
    s.text("Hash of the present template, as in the label controller-revision-hash of its pods."),
  ),
});

const status = s.statusOf({
  ...statusCommon,
  updateRevision: s.optional(
    s.text("Hash of the present template, as in the label controller-revision-hash of its pods."),
  ),
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
