/** EphemeralJob, v1alpha1 only. Spec: containers. */

import { ageColumn, integerColumn, textColumn } from "../columns.ts";
import { defineKind } from "../define_kind.ts";
import {
  conditions,
  dateTime,
  flag,
  int32,
  int64,
  labelSelector,
  object,
  optional,
  preserve,
  type Static,
  specOf,
  statusOf,
  text,
} from "../dsl.ts";
import { completionTime, startTime } from "../fragments.ts";
import type { KindObject, PrinterColumn } from "../kind.ts";
import type { Container } from "../pod_template.ts";

const spec = specOf({
  activeDeadlineSeconds: optional(int64("Seconds after which the job ends.")),
  parallelism: optional(int32("Pods that are worked on at the same time; 1 by default.")),
  paused: optional(flag("Go to no further pods.")),
  replicas: optional(int32("Number of pods; all that match by default.")),
  selector: labelSelector("Pods that get the containers."),
  template: object("What runs in each pod.", {
    ephemeralContainers: preserve<Container[]>("Ephemeral containers to run."),
  }),
  ttlSecondsAfterFinished: optional(int32("Seconds after which the finished job is deleted.")),
});

const status = statusOf({
  completionTime,
  conditions: optional(conditions({ lastProbeTime: optional(dateTime("When it was checked last.")) })),
  failed: optional(int32("Pods whose containers failed.")),
  match: optional(int32("Pods that match.")),
  phase: optional(text("State of the job.")),
  running: optional(int32("Pods whose containers run.")),
  startTime,
  succeeded: optional(int32("Pods whose containers succeeded.")),
  waiting: optional(int32("Pods whose containers wait.")),
});

export type EphemeralJobSpec = Static<typeof spec>;
export type EphemeralJobStatus = Static<typeof status>;
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
