/** AdvancedCronJob. Spec: jobs, AdvancedCronJob. */
import { broadcastJobSpec } from "../broadcast_job/schema.ts";
import { ageColumn, dateColumn, textColumn } from "../columns.ts";
import { cronJobTemplates } from "../core_places.ts";
import { defineKind } from "../define_kind.ts";
import * as s from "../dsl.ts";
import { objectReference } from "../fragments.ts";
import { imageListPullJobSpec } from "../image_list_pull_job/schema.ts";
import type { KindObject, PrinterColumn } from "../kind.ts";
import type { Decoded } from "../kind_reader.ts";

const templateCommon = {
  broadcastJobTemplate: s.optionalObject("A BroadcastJob.", {
    metadata: s.optional(s.objectMetadata("Labels and annotations of the created object.")),
    spec: s.optional(broadcastJobSpec),
  }),
  jobTemplate: s.optional(s.preserve<Record<string, unknown>>("A Job of the group batch.")),
};

const common = {
  concurrencyPolicy: s.optional(
    s.choice("What happens while an earlier job still runs.", ["Allow", "Forbid", "Replace"]),
  ),
  failedJobsHistoryLimit: s.optional(s.int32("Failed jobs that are kept.")),
  paused: s.optional(s.flag("Start no further jobs.")),
  schedule: s.text("When to start, in cron's form.", { minLength: 0 }),
  startingDeadlineSeconds: s.optional(s.int64("Seconds a missed start may be late.")),
  successfulJobsHistoryLimit: s.optional(s.int32("Succeeded jobs that are kept.")),
  timeZone: s.optional(s.text("Time zone of the schedule; that of the controller by default.")),
};

const specV1alpha1 = s.specOf({
  ...common,
  template: s.object("The job to start; exactly one form.", templateCommon),
});

const spec = s.specOf({
  ...common,
  template: s.object("The job to start; exactly one form.", {
    ...templateCommon,
    imageListPullJobTemplate: s.optionalObject("An ImageListPullJob.", {
      metadata: s.optional(s.objectMetadata("Labels and annotations of the created object.")),
      spec: s.optional(imageListPullJobSpec),
    }),
  }),
});

const status = s.statusOf({
  active: s.optional(s.list("Jobs that run.", objectReference("One job."))),
  lastScheduleTime: s.optional(s.dateTime("When a job was started last.")),
  type: s.optional(s.text("Kind of job that is started.")),
});

export type AdvancedCronJobSpec = s.Static<typeof spec>;
export type AdvancedCronJobStatus = s.Static<typeof status>;
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
