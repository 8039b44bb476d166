/** What admission refuses in an AdvancedCronJob, in the API's words. Spec: jobs A6. */

import { type FieldError, forbidden, invalid, isJsonObject, required } from "../../kube/core/index.ts";
import { ScheduleError } from "../errors.ts";
import { jobNameErrors } from "../job_name.ts";
import { jobTemplateErrors } from "../pod_templates.ts";
import { ratcheted } from "../ratchet.ts";
import { nonNegative } from "../rules.ts";
import { sameAsTyped } from "../typed_equality.ts";
import { parseSchedule, zoneComplaint } from "./schedule.ts";
import type { AdvancedCronJobSpec, DecodedAdvancedCronJob } from "./schema.ts";
import { validatePullTemplate } from "./validate_pull_template.ts";

const mutableFields = [
  "imageListPullJobTemplate",
  "schedule",
  "concurrencyPolicy",
  "successfulJobsHistoryLimit",
  "failedJobsHistoryLimit",
  "startingDeadlineSeconds",
  "timeZone",
  "paused",
] as const;
const immutableWords = `updates to advancedcronjob spec for fields other than ${mutableFields
  .slice(0, -1)
  .map((name) => `'${name}'`)
  .join(", ")} and 'paused' are forbidden`;
const templateWords =
  "either JobTemplate or BroadcastJobTemplate or ImageListPullJobTemplate should be provided";

/** All errors of a defaulted object, and, on an update, of the change from `old`, which must be of the same version. */
export function validateAdvancedCronJob(
  next: DecodedAdvancedCronJob,
  old?: DecodedAdvancedCronJob,
): FieldError[] {
  const errors = newErrors(next, old);
  return errors.length > 0 || old === undefined ? errors : hiddenTemplateErrors(next);
}

const newErrors = ratcheted(errorsOf);

/**
 * v1alpha1 does not show imageListPullJobTemplate: an object without a template may have one, which this update would drop. That
 * the one before shows none either is no excuse; only what is being deleted needs it no more.
 */
function hiddenTemplateErrors({ version, object: { metadata, spec } }: DecodedAdvancedCronJob): FieldError[] {
  const isLeaving = (metadata.deletionTimestamp ?? undefined) !== undefined;
  if (version !== "v1alpha1" || isLeaving || !isJsonObject(spec)) return [];
  return templatesOf(spec).length > 0 ? [] : [noTemplate()];
}

function errorsOf(next: DecodedAdvancedCronJob, old?: DecodedAdvancedCronJob): FieldError[] {
  const { metadata, spec } = next.object;
  const errors = jobNameErrors("AdvancedCronJob", metadata);
  if (!isJsonObject(spec)) return [...errors, required("spec")];
  const before = old?.object.spec;
  errors.push(...validateSchedule(spec), ...validateTemplates(spec), ...validateNumbers(spec));
  // The content of imageListPullJobTemplate may change, that of other templates not.
  if (before !== undefined && !sameAsTyped(spec.template, before.template, "CronJobTemplates")) {
    errors.push(forbidden("spec", immutableWords));
  }
  return errors;
}

function validateNumbers(spec: AdvancedCronJobSpec): FieldError[] {
  const names = ["startingDeadlineSeconds", "successfulJobsHistoryLimit", "failedJobsHistoryLimit"] as const;
  return names.flatMap((name) => nonNegative(`spec.${name}`, spec[name]));
}

function validateSchedule(spec: AdvancedCronJobSpec): FieldError[] {
  const path = "spec.schedule";
  const schedule = spec.schedule ?? "";
  const zone = spec.timeZone ?? undefined;
  if (schedule === "") {
    return [invalid(path, schedule, "schedule cannot be empty, please provide valid cron schedule.")];
  }
  const errors: FieldError[] = [];
  if (zone !== undefined && schedule.includes("TZ")) {
    const words = "cannot use both timeZone field and TZ or CRON_TZ in schedule";
    errors.push(invalid(path, schedule, words));
  }
  if (zone !== undefined) errors.push(...validateZone(zone));
  try {
    parseSchedule(schedule);
  } catch (error) {
    if (!(error instanceof ScheduleError)) throw error;
    errors.push(invalid(path, schedule, error.message));
  }
  return errors;
}

function validateZone(zone: string): FieldError[] {
  const path = "spec.timeZone";
  if (zone === "") return [invalid(path, zone, "timeZone must be nil or non-empty string")];
  if (zone.toLowerCase() === "local") {
    const words = "timeZone must be an explicit time zone as defined in https://www.iana.org/time-zones";
    return [invalid(path, zone, words)];
  }
  const complaint = zoneComplaint(zone);
  return complaint === undefined ? [] : [invalid(path, zone, complaint)];
}

const templatePath = "spec.template";
const noTemplate = () => forbidden(templatePath, `spec must have one template, ${templateWords}`);

function templatesOf({ template }: AdvancedCronJobSpec) {
  const { jobTemplate, broadcastJobTemplate, imageListPullJobTemplate } = template ?? {};
  return [jobTemplate, broadcastJobTemplate, imageListPullJobTemplate].filter(isJsonObject);
}

function validateTemplates(spec: AdvancedCronJobSpec): FieldError[] {
  const path = templatePath;
  const { jobTemplate, broadcastJobTemplate, imageListPullJobTemplate } = spec.template ?? {};
  const given = templatesOf(spec);
  if (given.length === 0) return [noTemplate()];
  const errors: FieldError[] = [];
  if (given.length > 1) errors.push(forbidden(path, `spec can have only one template, ${templateWords}`));
  for (const [name, template] of Object.entries({ jobTemplate, broadcastJobTemplate })) {
    if (isJsonObject(template)) errors.push(...validatePods(template["spec"], `${path}.${name}.spec`));
  }
  if (isJsonObject(imageListPullJobTemplate)) {
    errors.push(
      ...validatePullTemplate(imageListPullJobTemplate.spec, `${path}.imageListPullJobTemplate.spec`),
    );
    const policy = spec.concurrencyPolicy ?? "";
    if (policy !== "Replace" && policy !== "Forbid") {
      const words = `concurrencyPolicy should be Replace or Forbid, but current value is: ${policy}`;
      errors.push(invalid("spec.spec.concurrencyPolicy", policy, words));
    }
  }
  return errors;
}

/** Only the pods: the rest is checked when a job is made from it. */
function validatePods(job: unknown, path: string): FieldError[] {
  const template = isJsonObject(job) ? job["template"] : undefined;
  return isJsonObject(template)
    ? jobTemplateErrors(template, `${path}.template`)
    : [required(`${path}.template`)];
}
