/** BroadcastJob; both versions are alike. Spec: jobs, BroadcastJob. */

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
  text,
} from "../dsl.ts";
import type { KindObject, PrinterColumn } from "../kind.ts";
import type { Decoded } from "../kind_reader.ts";

/** Spec of both versions; AdvancedCronJob embeds it. */
export const broadcastJobSpec = object(
  {
    completionPolicy: optional(
      object(
        {
          activeDeadlineSeconds: optional(int64("Seconds after which the job fails.")),
          ttlSecondsAfterFinished: optional(int32("Seconds after which the finished job is deleted.")),
          type: optional(text("Always (default): the job ends; Never: it goes on with new nodes.")),
        },
        "When the job is done.",
      ),
    ),
    failurePolicy: optional(
      object(
        {
          restartLimit: optional(int32("Failures until the policy acts.")),
          type: optional(text("FailFast (default), Continue or Pause.")),
        },
        "What a failed pod means for the job.",
      ),
    ),
    parallelism: optional(intOrString("Pods that run at the same time; unlimited by default.")),
    paused: optional(flag("Create no further pods.")),
    template: podTemplate("The pod to run once on each suitable node."),
  },
  "What is wanted.",
);

const status = object(
  {
    active: optional(int32("Pods that run.")),
    completionTime: optional(dateTime("When the job ended.")),
    conditions: optional(conditions({ lastProbeTime: optional(dateTime("When it was checked last.")) })),
    desired: optional(int32("Nodes on which a pod should run.")),
    failed: optional(int32("Pods that failed.")),
    phase: optional(text("running, paused, completed or failed.")),
    startTime: optional(dateTime("When the job began.")),
    succeeded: optional(int32("Pods that succeeded.")),
  },
  "What is observed.",
);

export type BroadcastJobSpec = Static<typeof broadcastJobSpec>;
export type BroadcastJobStatus = Static<typeof status>;
export type BroadcastJob = KindObject<BroadcastJobSpec, BroadcastJobStatus>;

const columns: readonly PrinterColumn[] = [
  {
    name: "Desired",
    type: "integer",
    jsonPath: ".status.desired",
    description: "Nodes on which a pod should run.",
  },
  { name: "Active", type: "integer", jsonPath: ".status.active", description: "Pods that run." },
  { name: "Succeeded", type: "integer", jsonPath: ".status.succeeded", description: "Pods that succeeded." },
  { name: "Failed", type: "integer", jsonPath: ".status.failed", description: "Pods that failed." },
  { name: "AGE", type: "date", jsonPath: ".metadata.creationTimestamp", description: "Time since creation." },
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
