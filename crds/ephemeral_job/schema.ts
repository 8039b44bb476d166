/** EphemeralJob, v1alpha1 only. Spec: containers. */

import { ageColumn, integerColumn, textColumn } from "../columns.ts";
import { defineKind } from "../define_kind.ts";
import * as s from "../dsl.ts";
import { completionTime, startTime } from "../fragments.ts";
import type { KindObject, PrinterColumn } from "../kind.ts";
import type { Container } from "../pod_template.ts";

const spec = s.specOf({
  activeDeadlineSeconds: s.optional(
    s.int64(
      "Seconds from the start of the job after which it ends as failed; without it there is no " +
        "limit. Containers that run go on.",
    ),
  ),
  parallelism: s.optional(s.int32("Number of pods in which containers run at the same time; 1 by default.")),
  paused: s.optional(s.flag("Go to no further pods; containers that run go on. The default is false.")),
  replicas: s.optional(
    s.int32("Most pods that get the containers, the oldest first; all that match by default."),
  ),
  selector: s.labelSelector("Pods that get the containers, by their labels, in the namespace of the job."),
  template: s.object("What runs in each pod.", {
    ephemeralContainers: s.preserve<Container[]>(
      "Ephemeral containers that each pod gets, as in the pod API. They can never be taken out " +
        "of a pod again.",
    ),
  }),
  ttlSecondsAfterFinished: s.optional(
    s.int32("Seconds after its end until the job is deleted, 0 for at once; 1800 by default."),
  ),
});

const status = s.statusOf({
  completionTime,
  conditions: s.conditions("Initialized, MatchedEmpty, JobSucceeded, JobFailed or JobError.", {
    lastProbeTime: s.optional(s.dateTime("When the condition was checked last.")),
  }),
  failed: s.optional(s.int32("Number of pods in which a container ended with an error.")),
  match: s.optional(s.int32("Number of pods that match.")),
  phase: s.optional(
    s.text("State of the job: Waiting, Running, Paused, Succeeded, Failed, Error or Unknown."),
  ),
  running: s.optional(s.int32("Number of pods in which containers run.")),
  startTime,
  succeeded: s.optional(s.int32("Number of pods in which all containers ended without an error.")),
  waiting: s.optional(s.int32("Number of pods in which containers wait to start.")),
});

export type EphemeralJobSpec = s.Static<typeof spec>;
export type EphemeralJobStatus = s.Static<typeof status>;
export type EphemeralJob = KindObject<EphemeralJobSpec, EphemeralJobStatus>;

const columns: readonly PrinterColumn[] = [
  textColumn("STATUS", ".status.phase", "State of the job."),
  integerColumn("MATCH", ".status.match", "Pods that match."),
  integerColumn("SUCCEED", ".status.succeeded", "Pods whose containers succeeded."),
  integerColumn("FAILED", ".status.failed", "Pods whose containers failed."),
  integerColumn("RUNNING", ".status.running", "Pods whose containers run."),
  integerColumn("WAITING", ".status.waiting", "Pods whose containers wait."),
  ageColumn,
];

export const ephemeralJob = defineKind({
  kind: "EphemeralJob",
  plural: "ephemeraljobs",
  shortNames: ["ejob"],
  description: "Runs ephemeral containers in chosen pods.",
  conversion: "None",
  complete: true,
  versions: [{ name: "v1alpha1", storage: true, spec, status, columns }],
});
