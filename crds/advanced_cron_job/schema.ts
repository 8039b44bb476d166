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
  broadcastJobTemplate: s.optionalObject(
    "A BroadcastJob, which runs a pod on each suitable node. It cannot be changed.",
    {
      metadata: s.optional(s.objectMetadata("Labels and annotations that each job gets.")),
      spec: s.optional(broadcastJobSpec),
    },
  ),
  jobTemplate: s.optional(
    s.preserve<Record<string, unknown>>(
      "A Job of Kubernetes, as the jobTemplate of a CronJob. It cannot be changed.",
    ),
  ),
};

/** `exception`: what else is said of the default. */
function concurrencyPolicy(exception: string) {
  const words =
    "What happens when the time comes while an earlier job still runs. Allow (the default): " +
    "both run. Forbid: the next one waits until the earlier one has ended, for " +
    "startingDeadlineSeconds at most. Replace: the earlier one is deleted.";
  return s.optional(s.choice(`${words}${exception}`, ["Allow", "Forbid", "Replace"]));
}

const common = {
  failedJobsHistoryLimit: s.optional(
    s.int32("Number of failed jobs that are kept, the latest; 1 by default, 0 keeps none."),
  ),
  paused: s.optional(
    s.flag(
      "Start no further jobs; those that run go on. The latest missed one starts when this " +
        "ends. The default is false.",
    ),
  ),
  schedule: s.text(
    "When to start: the five fields of cron (minute, hour, day of month, month, day of week " +
      "from 0 for Sunday to 6), @hourly, @daily, @weekly, @monthly, @yearly, or @every with a " +
      "duration such as 1h30m.",
    { minLength: 0 },
  ),
  startingDeadlineSeconds: s.optional(
    s.int64(
      "Seconds for which a missed start is made up for; what is later is left out. Without it " +
        "there is no limit.",
    ),
  ),
  successfulJobsHistoryLimit: s.optional(
    s.int32("Number of succeeded jobs that are kept, the latest; 3 by default, 0 keeps none."),
  ),
  timeZone: s.optional(
    s.text(
      "Time zone of the schedule, by its name in the IANA database, such as Europe/Berlin; that " +
        "of the controller by default.",
    ),
  ),
};

const specV1alpha1 = s.specOf({
  ...common,
  concurrencyPolicy: concurrencyPolicy(""),
  template: s.object(
    "Job that is started: exactly one of the fields. It cannot become one of another kind.",
    templateCommon,
  ),
});

const spec = s.specOf({
  ...common,
  concurrencyPolicy: concurrencyPolicy(
    " With imageListPullJobTemplate the default is Replace, and Allow is refused.",
  ),
  template: s.object(
    "Job that is started: exactly one of the fields. It cannot become one of another kind.",
    {
      ...templateCommon,
      imageListPullJobTemplate: s.optionalObject("An ImageListPullJob, which pulls images on nodes.", {
        metadata: s.optional(s.objectMetadata("Labels and annotations that each job gets.")),
        spec: s.optional(imageListPullJobSpec),
      }),
    },
  ),
});

const status = s.statusOf({
  active: s.optional(s.list("Jobs that have not ended.", objectReference("One job."))),
  lastScheduleTime: s.optional(s.dateTime("Latest time of the schedule for which a job was started.")),
  type: s.optional(s.text("Kind of the jobs: Job, BroadcastJob or ImageListPullJob.")),
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
