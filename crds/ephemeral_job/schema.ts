/** EphemeralJob, v1alpha1 only. Spec: containers. */

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
  text,
} from "../dsl.ts";
import type { KindObject, PrinterColumn } from "../kind.ts";
import type { Container } from "../pod_template.ts";

const spec = object(
  {
    activeDeadlineSeconds: optional(int64("Seconds after which the job ends.")),
    parallelism: optional(int32("Pods that are worked on at the same time; 1 by default.")),
    paused: optional(flag("Go to no further pods.")),
    replicas: optional(int32("Number of pods; all that match by default.")),
    selector: labelSelector("Pods that get the containers."),
    template: object(
      { ephemeralContainers: preserve<Container[]>("Ephemeral containers to run.") },
      "What runs in each pod.",
    ),
    ttlSecondsAfterFinished: optional(int32("Seconds after which the finished job is deleted.")),
  },
  "What is wanted.",
);

const status = object(
  {
    completionTime: optional(dateTime("When the job ended.")),
    conditions: optional(conditions({ lastProbeTime: optional(dateTime("When it was checked last.")) })),
    failed: optional(int32("Pods whose containers failed.")),
    match: optional(int32("Pods that match.")),
    phase: optional(text("State of the job.")),
    running: optional(int32("Pods whose containers run.")),
    startTime: optional(dateTime("When the job began.")),
    succeeded: optional(int32("Pods whose containers succeeded.")),
    waiting: optional(int32("Pods whose containers wait.")),
  },
  "What is observed.",
);

export type EphemeralJobSpec = Static<typeof spec>;
export type EphemeralJobStatus = Static<typeof status>;
export type EphemeralJob = KindObject<EphemeralJobSpec, EphemeralJobStatus>;

const columns: readonly PrinterColumn[] = [
  { name: "STATUS", type: "string", jsonPath: ".status.phase", description: "State of the job." },
  { name: "MATCH", type: "integer", jsonPath: ".status.match", description: "Pods that match." },
  {
    name: "SUCCEED",
    type: "integer",
    jsonPath: ".status.succeeded",
    description: "Pods whose containers succeeded.",
  },
  {
    name: "FAILED",
    type: "integer",
    jsonPath: ".status.failed",
    description: "Pods whose containers failed.",
  },
  {
    name: "RUNNING",
    type: "integer",
    jsonPath: ".status.running",
    description: "Pods whose containers run.",
  },
  {
    name: "WAITING",
    type: "integer",
    jsonPath: ".status.waiting",
    description: "Pods whose containers wait.",
  },
  { name: "AGE", type: "date", jsonPath: ".metadata.creationTimestamp", description: "Time since creation." },
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
