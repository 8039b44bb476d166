/** What admission refuses in a BroadcastJob, in the API's words. Spec: jobs B6. */

import { type FieldError, invalid, isJsonObject, required, scaledValue } from "../../kube/core/index.ts";
import { jobNameErrors } from "../job_name.ts";
import { jobTemplateErrors } from "../pod_templates.ts";
import { ratcheted } from "../ratchet.ts";
import { nonNegative } from "../rules.ts";
import type { BroadcastJobSpec, DecodedBroadcastJob } from "./schema.ts";

/** Labels by which the pods of a job are found. */
export const broadcastJobNameLabel = "broadcastjob-name";
export const broadcastJobUidLabel = "broadcastjob-controller-uid";

/** All errors of a defaulted object; what `old` had already and no rule of the API forbids stays acceptable. */
export const validateBroadcastJob = ratcheted(errorsOf);

function errorsOf(next: DecodedBroadcastJob): FieldError[] {
  const { metadata, spec } = next.object;
  const errors = jobNameErrors("BroadcastJob", metadata);
  if (!isJsonObject(spec)) return [...errors, required("spec")];
  return [
    ...errors,
    ...validateTemplate(spec),
    ...validateCompletion(spec),
    ...validateNumbers(spec),
    ...parallelismErrors(spec.parallelism),
  ];
}

function validateTemplate(spec: BroadcastJobSpec): FieldError[] {
  const path = "spec.template";
  const template: unknown = spec.template;
  if (!isJsonObject(template)) return [required(path)];
  const errors = jobTemplateErrors(template, path);
  const restart = isJsonObject(template["spec"]) ? template["spec"]["restartPolicy"] : undefined;
  if (restart !== "Never" && restart !== "OnFailure") {
    const words = "pod restartPolicy can only be Never or OnFailure";
    errors.push(invalid(`${path}.spec.restartPolicy`, restart ?? "", words));
  }
  const labels = spec.template.metadata?.labels ?? {};
  if (broadcastJobNameLabel in labels || broadcastJobUidLabel in labels) {
    const words = `"${broadcastJobNameLabel}" and "${broadcastJobUidLabel}" are not allowed to preset in pod labels`;
    errors.push(invalid(`${path}.metadata.labels`, labels, words));
  }
  return errors;
}

function validateCompletion({ completionPolicy }: BroadcastJobSpec): FieldError[] {
  if (completionPolicy?.type !== "Never") return [];
  return (["ttlSecondsAfterFinished", "activeDeadlineSeconds"] as const).flatMap((field) => {
    const value = completionPolicy[field];
    if (value === undefined || value === null) return [];
    const words = `${field} can just work with Always CompletionPolicyType`;
    return [invalid(`spec.completionPolicy.${field}`, value, words)];
  });
}

/** Negative numbers mean nothing; those that are stored are read as 0. */
function validateNumbers({ completionPolicy, failurePolicy }: BroadcastJobSpec): FieldError[] {
  return [
    ...nonNegative(
      "spec.completionPolicy.ttlSecondsAfterFinished",
      completionPolicy?.ttlSecondsAfterFinished,
    ),
    ...nonNegative("spec.completionPolicy.activeDeadlineSeconds", completionPolicy?.activeDeadlineSeconds),
    ...nonNegative("spec.failurePolicy.restartLimit", failurePolicy?.restartLimit),
  ];
}

/** Text without `%` counts as a percentage, too; text without a number stands for nothing. */
function parallelismErrors(value: BroadcastJobSpec["parallelism"]): FieldError[] {
  const path = "spec.parallelism";
  if (value === undefined || value === null) return [];
  try {
    return nonNegative(path, parallelismOf(value, 100)).map((error) => ({ ...error, value }));
  } catch (error) {
    return [invalid(path, value, error instanceof Error ? error.message : String(error))];
  }
}

/** Pods active at a time on `desired` nodes; percentages are rounded up. Throws ParseError for text without a number. */
export function parallelismOf(value: NonNullable<BroadcastJobSpec["parallelism"]>, desired: number): number {
  if (typeof value === "number") return value;
  return scaledValue(value.endsWith("%") ? value : `${value}%`, desired, true);
}
