/** AdvancedCronJob. Spec: jobs, AdvancedCronJob. */
import { broadcastJobSpec } from "../broadcast_job/schema.ts";
import { ageColumn, dateColumn, textColumn } from "../columns.ts";
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
  specOf,
  statusOf,
  text,
} from "../dsl.ts";
import { objectReference } from "../fragments.ts";
import { imageListPullJobSpec } from "../image_list_pull_job/schema.ts";
import type { KindObject, PrinterColumn } from "../kind.ts";
import type { Decoded } from "../kind_reader.ts";

const templateCommon = {
  broadcastJobTemplate: optional(
    object("A BroadcastJob.", {
      metadata: optional(objectMetadata("Labels and annotations of the created object.")),
      spec: optional(broadcastJobSpec),
    }),
  ),
  jobTemplate: optional(preserve<Record<string, unknown>>("A Job of the group batch.")),
};

const common = {
  concurrencyPolicy: optional(
    choice("What happens while an earlier job still runs.", ["Allow", "Forbid", "Replace"]),
  ),
  failedJobsHistoryLimit: optional(int32("Failed jobs that are kept.")),
  paused: optional(flag("Start no further jobs.")),
  schedule: text("When to start, in cron's form.", { minLength: 0 }),
  startingDeadlineSeconds: optional(int64("Seconds a missed start may be late.")),
  successfulJobsHistoryLimit: optional(int32("Succeeded jobs that are kept.")),
  timeZone: optional(text("Time zone of the schedule; that of the controller by default.")),
};

const specV1alpha1 = specOf({
  ...common,
  template: object("The job to start; exactly one form.", templateCommon),
});

const spec = specOf({
  ...common,
  template: object("The job to start; exactly one form.", {
    ...templateCommon,
    imageListPullJobTemplate: optional(
      object("An ImageListPullJob.", {
        metadata: optional(objectMetadata("Labels and annotations of the created object.")),
        spec: optional(imageListPullJobSpec),
      }),
    ),
  }),
});

const status = statusOf({
  active: optional(list("Jobs that run.", objectReference("One job."))),
  lastScheduleTime: optional(dateTime("When a job was started last.")),
  type: optional(text("Kind of job that is started.")),
});

export type AdvancedCronJobSpec = Static<typeof spec>;
export type AdvancedCronJobStatus = Static<typeof status>;
export type AdvancedCronJob = KindObject<AdvancedCronJobSpec, AdvancedCronJobStatus>;

const columns: readonly PrinterColumn[] = [
  textColumn("Schedule", ".spec.schedule", "When to start."),
  textColumn("Type", ".status.type", "Kind of job that is started."),
  dateColumn("LastScheduleTime", ".status.lastScheduleTime", "When a job was started last."),
  ageColumn,
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
