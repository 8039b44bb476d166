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
  completionPolicy: s.optionalObject("When the job is done, and what becomes of it.", {
    activeDeadlineSeconds: s.optional(
      s.int64(
        "Seconds from the start of the job after which its pods are deleted and it has failed; " +
          "without it there is no limit. With type Always only.",
      ),
    ),
    ttlSecondsAfterFinished: s.optional(
      s.int32(
        "Seconds after its end until the job and its pods are deleted, 0 for at once; without it " +
          "they stay. With type Always only.",
      ),
    ),
    type: s.optional(
      s.text(
        "Always (the default): the job ends when every node's pod has ended. Never: it does not " +
          "end, and nodes that join get a pod.",
      ),
    ),
  }),
  failurePolicy: s.optionalObject("What a failed pod means for the job.", {
    restartLimit: s.optional(
      s.int32(
        "Restarts of the containers of one pod, all together, beyond which the pod counts as " +
          "failed; 0 by default. For restartPolicy OnFailure.",
      ),
    ),
    type: s.optional(
      s.text(
        "FailFast (the default): the other pods are deleted and the job has failed. Continue: the " +
          "job goes on. Pause: no further pods are created, and those that run go on.",
      ),
    ),
  }),
  parallelism: s.optional(
    s.intOrString(
      "Most pods that run at the same time: a number, or a percentage of the nodes that get a " +
        "pod, rounded up; 2147483647 by default, which is no limit. With 0 nothing is started.",
    ),
  ),
  paused: s.optional(s.flag("Create no further pods; those that run go on. The default is false.")),
  template: s.podTemplate(
    "Pod that runs once on each suitable node, as a pod template of Kubernetes with " +
      "restartPolicy Never or OnFailure. A change reaches pods that are created later.",
  ),
});

const status = s.statusOf({
  active: s.optional(s.int32("Number of pods that have not ended.")),
  completionTime,
  conditions: s.conditions("Complete or Failed.", {
    lastProbeTime: s.optional(s.dateTime("When the condition was checked last.")),
  }),
  desired: s.optional(s.int32("Number of nodes on which a pod should run.")),
  failed: s.optional(s.int32("Number of pods that failed.")),
  phase: s.optional(s.text("State of the job: running, paused, completed or failed.")),
  startTime,
  succeeded: s.optional(s.int32("Number of pods that succeeded.")),
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
