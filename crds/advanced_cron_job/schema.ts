/** AdvancedCronJob. Spec: jobs, AdvancedCronJob. */
import { broadcastJobSpec } from "../broadcast_job/schema.ts";
import { cronJobTemplates } from "../core_places.ts";
import { defineKind } from "../define_kind.ts";
import {
  choice,
  dateTime,
  flag,
  int32,
  int64,
  list,
  object,
  objectMetadata,
  optional,
  preserve,
  type Static,
  text,
} from "../dsl.ts";
import { objectReference } from "../fragments.ts";
import { imageListPullJobSpec } from "../image_list_pull_job/schema.ts";
import type { KindObject, PrinterColumn } from "../kind.ts";
import type { Decoded } from "../kind_reader.ts";

const templateCommon = {
  broadcastJobTemplate: optional(
    object(
      {
        metadata: optional(objectMetadata("Labels and annotations of the created object.")),
        spec: optional(broadcastJobSpec),
      },
      "A BroadcastJob.",
    ),
  ),
  jobTemplate: optional(preserve<Record<string, unknown>>("A Job of the group batch.")),
};

const common = {
  concurrencyPolicy: optional(
    choice(["Allow", "Forbid", "Replace"], "What happens while an earlier job still runs."),
  ),
  failedJobsHistoryLimit: optional(int32("Failed jobs that are kept.")),
  paused: optional(flag("Start no further jobs.")),
  schedule: text("When to start, in cron's form.", { minLength: 0 }),
  startingDeadlineSeconds: optional(int64("Seconds a missed start may be late.")),
  successfulJobsHistoryLimit: optional(int32("Succeeded jobs that are kept.")),
  timeZone: optional(text("Time zone of the schedule; that of the controller by default.")),
};

const specV1alpha1 = object(
  { ...common, template: object(templateCommon, "The job to start; exactly one form.") },
  "What is wanted.",
);

const spec = object(
  {
    ...common,
    template: object(
      {
        ...templateCommon,
        imageListPullJobTemplate: optional(
          object(
            {
              metadata: optional(objectMetadata("Labels and annotations of the created object.")),
              spec: optional(imageListPullJobSpec),
            },
            "An ImageListPullJob.",
          ),
        ),
      },
      "The job to start; exactly one form.",
    ),
  },
  "What is wanted.",
);

const status = object(
  {
    active: optional(list(objectReference("One job."), "Jobs that run.")),
    lastScheduleTime: optional(dateTime("When a job was started last.")),
    type: optional(text("Kind of job that is started.")),
  },
  "What is observed.",
);

export type AdvancedCronJobSpec = Static<typeof spec>;
export type AdvancedCronJobStatus = Static<typeof status>;
export type AdvancedCronJob = KindObject<AdvancedCronJobSpec, AdvancedCronJobStatus>;

const columns: readonly PrinterColumn[] = [
  { name: "Schedule", type: "string", jsonPath: ".spec.schedule", description: "When to start." },
  { name: "Type", type: "string", jsonPath: ".status.type", description: "Kind of job that is started." },
  {
    name: "LastScheduleTime",
    type: "date",
    jsonPath: ".status.lastScheduleTime",
    description: "When a job was started last.",
  },
  { name: "AGE", type: "date", jsonPath: ".metadata.creationTimestamp", description: "Time since creation." },
];

export const advancedCronJob = defineKind({
  kind: "AdvancedCronJob",
  plural: "advancedcronjobs",
  shortNames: ["acj"],
  description: "Starts jobs of several kinds by the clock.",
  conversion: "None",
  corePlaces: cronJobTemplates,
  versions: [
    { name: "v1alpha1", storage: false, spec: specV1alpha1, status, columns },
    { name: "v1beta1", storage: true, spec, status, columns },
  ],
});

export type DecodedAdvancedCronJob = Decoded<typeof advancedCronJob>;
