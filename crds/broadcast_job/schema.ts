/** BroadcastJob; both versions are alike. Spec: jobs, BroadcastJob. */

import { ageColumn, integerColumn } from "../columns.ts";
import { workloadTemplates } from "../core_places.ts";
import { defineKind } from "../define_kind.ts";
import {
  conditions,
  dateTime,
  flag,
  int32,
  int64,
  intOrString,
  object,
  optional,
  podTemplate,
  type Static,
  specOf,
  statusOf,
  text,
} from "../dsl.ts";
import { completionTime, startTime } from "../fragments.ts";
import type { KindObject, PrinterColumn } from "../kind.ts";
import type { Decoded } from "../kind_reader.ts";

/** Spec of both versions; AdvancedCronJob embeds it. */
export const broadcastJobSpec = specOf({
  completionPolicy: optional(
    object("When the job is done.", {
      activeDeadlineSeconds: optional(int64("Seconds after which the job fails.")),
      ttlSecondsAfterFinished: optional(int32("Seconds after which the finished job is deleted.")),
      type: optional(text("Always (default): the job ends; Never: it goes on with new nodes.")),
    }),
  ),
  failurePolicy: optional(
    object("What a failed pod means for the job.", {
      restartLimit: optional(int32("Failures until the policy acts.")),
      type: optional(text("FailFast (default), Continue or Pause.")),
    }),
  ),
  parallelism: optional(intOrString("Pods that run at the same time; unlimited by default.")),
  paused: optional(flag("Create no further pods.")),
  template: podTemplate("The pod to run once on each suitable node."),
});

const status = statusOf({
  active: optional(int32("Pods that run.")),
  completionTime,
  conditions: optional(conditions({ lastProbeTime: optional(dateTime("When it was checked last.")) })),
  desired: optional(int32("Nodes on which a pod should run.")),
  failed: optional(int32("Pods that failed.")),
  phase: optional(text("running, paused, completed or failed.")),
  startTime,
  succeeded: optional(int32("Pods that succeeded.")),
});

export type BroadcastJobSpec = Static<typeof broadcastJobSpec>;
export type BroadcastJobStatus = Static<typeof status>;
export type BroadcastJob = KindObject<BroadcastJobSpec, BroadcastJobStatus>;

const columns: readonly PrinterColumn[] = [
  integerColumn("Desired", ".status.desired", "Nodes on which a pod should run."),
  integerColumn("Active", ".status.active", "Pods that run."),
  integerColumn("Succeeded", ".status.succeeded", "Pods that succeeded."),
  integerColumn("Failed", ".status.failed", "Pods that failed."),
  ageColumn,
];

export const broadcastJob = defineKind({
  kind: "BroadcastJob",
  plural: "broadcastjobs",
  shortNames: ["bcj"],
  description: "Runs a pod to its end on each suitable node.",
  conversion: "None",
  corePlaces: workloadTemplates,
  versions: [
    { name: "v1alpha1", storage: false, spec: broadcastJobSpec, status, columns },
    { name: "v1beta1", storage: true, spec: broadcastJobSpec, status, columns },
  ],
});

export type DecodedBroadcastJob = Decoded<typeof broadcastJob>;
