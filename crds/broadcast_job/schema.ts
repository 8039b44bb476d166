/** BroadcastJob; both versions are alike. Spec: jobs, BroadcastJob. */

import { ageColumn, integerColumn } from "../columns.ts";
import { workloadTemplates } from "../core_places.ts";
import { defineKind } from "../define_kind.ts";
import * as s from "../dsl.ts";
import { completionTime, startTime } from "../fragments.ts";
import type { KindObject, PrinterColumn } from "../kind.ts";
import type { Decoded } from "../kind_reader.ts";

/** Spec of both versions; AdvancedCronJob embeds it. */
export const broadcastJobSpec = s.specOf({
  completionPolicy: s.optionalObject("When the job is done.", {
    activeDeadlineSeconds: s.optional(s.int64("Seconds after which the job fails.")),
    ttlSecondsAfterFinished: s.optional(s.int32("Seconds after which the finished job is deleted.")),
    type: s.optional(s.text("Always (default): the job ends; Never: it goes on with new nodes.")),
  }),
  failurePolicy: s.optionalObject("What a failed pod means for the job.", {
    restartLimit: s.optional(s.int32("Failures until the policy acts.")),
    type: s.optional(s.text("FailFast (default), Continue or Pause.")),
  }),
  parallelism: s.optional(s.intOrString("Pods that run at the same time; unlimited by default.")),
  paused: s.optional(s.flag("Create no further pods.")),
  template: s.podTemplate("The pod to run once on each suitable node."),
});

const status = s.statusOf({
  active: s.optional(s.int32("Pods that run.")),
  completionTime,
  conditions: s.conditions({ lastProbeTime: s.optional(s.dateTime("When it was checked last.")) }),
  desired: s.optional(s.int32("Nodes on which a pod should run.")),
  failed: s.optional(s.int32("Pods that failed.")),
  phase: s.optional(s.text("running, paused, completed or failed.")),
  startTime,
  succeeded: s.optional(s.int32("Pods that succeeded.")),
});

export type BroadcastJobSpec = s.Static<typeof broadcastJobSpec>;
export type BroadcastJobStatus = s.Static<typeof status>;
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
