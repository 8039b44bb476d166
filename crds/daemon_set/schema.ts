/** Advanced DaemonSet. Spec: daemonset 1 to 3. */

import { workloadTemplates } from "../core_places.ts";
import { defineKind } from "../define_kind.ts";
import {
  conditions,
  flag,
  int32,
  int64,
  intOrString,
  labelSelector,
  object,
  optional,
  podTemplate,
  type Static,
  text,
} from "../dsl.ts";
import { lifecycle } from "../fragments.ts";
import type { KindObject, PrinterColumn } from "../kind.ts";
import type { Decoded } from "../kind_reader.ts";
import { convertDaemonSet } from "./convert.ts";

const rollingUpdate = object(
  {
    maxSurge: optional(
      intOrString("Nodes that may run an old and a new pod at the same time; 0 by default."),
    ),
    maxUnavailable: optional(intOrString("Pods that may be unavailable during an update; 1 by default.")),
    partition: optional(intOrString("Pods that stay at the old revision; 0 by default.")),
    paused: optional(flag("Hold the update.")),
    rollingUpdateType: optional(text("Standard (default) or InPlaceIfPossible.")),
    selector: optional(labelSelector("Nodes whose pods are updated; all by default.")),
  },
  "Settings of the type RollingUpdate.",
);

const common = {
  burstReplicas: optional(intOrString("Pods created or deleted in one pass; 250 by default.")),
  lifecycle: optional(lifecycle()),
  minReadySeconds: optional(int32("Seconds a pod must be ready to count as available.")),
  revisionHistoryLimit: optional(int32("Revisions kept besides those in use; 10 by default.")),
  selector: labelSelector("Labels that the template carries and that find the pods; cannot be changed."),
  template: podTemplate("The pods to create, one on each suitable node."),
  updateStrategy: optional(
    object(
      {
        rollingUpdate: optional(rollingUpdate),
        type: optional(text("RollingUpdate (default) or OnDelete.")),
      },
      "How pods are brought to a new revision.",
    ),
  ),
};

const specV1alpha1 = object(common, "What is wanted.");

const spec = object(
  {
    ...common,
    scaleStrategy: optional(
      object(
        { partitionedScaling: optional(flag("Create missing pods in portions, as the partition allows.")) },
        "How pods are created.",
      ),
    ),
  },
  "What is wanted.",
);

const statusCommon = {
  collisionCount: optional(int32("Counter mixed into revision hashes when two collide.")),
  conditions: optional(conditions({})),
  currentNumberScheduled: int32("Nodes that run the pod and should."),
  desiredNumberScheduled: int32("Nodes that should run the pod."),
  numberAvailable: optional(int32("Nodes whose pod is available.")),
  numberMisscheduled: int32("Nodes that run the pod and should not."),
  numberReady: int32("Nodes whose pod is ready."),
  numberUnavailable: optional(int32("Nodes that should have an available pod and have none.")),
  observedGeneration: optional(int64("Generation that the status is about.")),
  updatedNumberScheduled: int32("Nodes that run the pod at the update revision."),
};

const statusV1alpha1 = object(
  { ...statusCommon, daemonSetHash: optional(text("Hash of the present template.")) },
  "What is observed.",
);

const status = object(
  { ...statusCommon, updateRevision: optional(text("Revision of the present template.")) },
  "What is observed.",
);

export type DaemonSetSpec = Static<typeof spec>;
export type DaemonSetStatus = Static<typeof status>;
export type DaemonSet = KindObject<DaemonSetSpec, DaemonSetStatus>;
export type DaemonSetV1alpha1 = KindObject<Static<typeof specV1alpha1>, Static<typeof statusV1alpha1>>;

const columns: readonly PrinterColumn[] = [
  {
    name: "DESIRED",
    type: "integer",
    jsonPath: ".status.desiredNumberScheduled",
    description: "Nodes that should run the pod.",
  },
  {
    name: "CURRENT",
    type: "integer",
    jsonPath: ".status.currentNumberScheduled",
    description: "Nodes that run the pod.",
  },
  {
    name: "READY",
    type: "integer",
    jsonPath: ".status.numberReady",
    description: "Nodes whose pod is ready.",
  },
  {
    name: "UP-TO-DATE",
    type: "integer",
    jsonPath: ".status.updatedNumberScheduled",
    description: "Nodes whose pod is at the update revision.",
  },
  {
    name: "AVAILABLE",
    type: "integer",
    jsonPath: ".status.numberAvailable",
    description: "Nodes whose pod is available.",
  },
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
