/** EphemeralJob, v1alpha1 only. Spec: containers. */

import { ageColumn, integerColumn, textColumn } from "../columns.ts";
import { defineKind } from "../define_kind.ts";
import * as s from "../dsl.ts";
import { completionTime, startTime } from "../fragments.ts";
import type { KindObject, PrinterColumn } from "../kind.ts";
import type { Container } from "../pod_template.ts";

const spec = s.specOf({
  activeDeadlineSeconds: s.optional(s.int64("Seconds after which the job ends.")),
  parallelism: s.optional(s.int32("Pods that are worked on at the same time; 1 by default.")),
  paused: s.optional(s.flag("Go to no further pods.")),
  replicas: s.optional(s.int32("Number of pods; all that match by default.")),
  selector: s.labelSelector("Pods that get the containers."),
  template: s.object("What runs in each pod.", {
    ephemeralContainers: s.preserve<Container[]>("Ephemeral containers to run."),
  }),
  ttlSecondsAfterFinished: s.optional(s.int32("Seconds after which the finished job is deleted.")),
});

const status = s.statusOf({
  completionTime,
  conditions: s.conditions({ lastProbeTime: s.optional(s.dateTime("When it was checked last.")) }),
  failed: s.optional(s.int32("Pods whose containers failed.")),
  match: s.optional(s.int32("Pods that match.")),
  phase: s.optional(s.text("State of the job.")),
  running: s.optional(s.int32("Pods whose containers run.")),
  startTime,
  succeeded: s.optional(s.int32("Pods whose containers succeeded.")),
  waiting: s.optional(s.int32("Pods whose containers wait.")),
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
