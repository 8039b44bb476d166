/** What admission refuses in the image list of an AdvancedCronJob. Spec: jobs A6. */
import { type FieldError, forbidden, invalid, required } from "../../kube/core/index.ts";
import { imageListPullJobSpecComplaints } from "../image_list_pull_job/admission.ts";
import type { ImageListPullJobSpec } from "../image_list_pull_job/schema.ts";
import { defaultPullTimeoutSeconds } from "../image_pull_settings.ts";

/** A run must be over before the next day's. */
const longestDeadlineSeconds = 86_400;

export function validatePullTemplate(
  spec: Partial<ImageListPullJobSpec> | undefined,
  path: string,
): FieldError[] {
  if (spec === undefined || spec === null) return [required(path)];
  const completion = validateCompletion(spec, path);
  if (completion.length > 0) return completion;
  const [complaint] = imageListPullJobSpecComplaints(spec);
  return complaint === undefined ? [] : [forbidden(path, complaint)];
}

function validateCompletion(
  { completionPolicy, pullPolicy }: Partial<ImageListPullJobSpec>,
  path: string,
): FieldError[] {
  const at = `${path}.completionPolicy`;
  const { type, activeDeadlineSeconds, ttlSecondsAfterFinished } = completionPolicy ?? {};
  const errors: FieldError[] = [];
  if (type !== "Always") {
    errors.push(invalid(`${at}.type`, type ?? "", "completionPolicy.type must be Always in advancedCronJob"));
  }
  if (activeDeadlineSeconds !== undefined && activeDeadlineSeconds !== null) {
    const timeout = pullPolicy?.timeoutSeconds ?? defaultPullTimeoutSeconds;
    const name = `${at}.activeDeadlineSeconds`;
    if (activeDeadlineSeconds > longestDeadlineSeconds) {
      const words = `activeDeadlineSeconds must be less than or equal to ${longestDeadlineSeconds}`;
      errors.push(invalid(name, activeDeadlineSeconds, words));
    }
    if (activeDeadlineSeconds < timeout) {
      const words = `completionPolicy.activeDeadlineSeconds must be greater than pullPolicy.timeoutSeconds(default ${defaultPullTimeoutSeconds})`;
      errors.push(invalid(name, activeDeadlineSeconds, words));
    }
  }
  if (ttlSecondsAfterFinished !== undefined && ttlSecondsAfterFinished !== null) {
    const words = "ttlSecondsAfterFinished is not supported in advancedCronJob";
    errors.push(invalid(`${at}.ttlSecondsAfterFinished`, ttlSecondsAfterFinished, words));
  }
  return errors;
}
