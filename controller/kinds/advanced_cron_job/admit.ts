/** Admission of AdvancedCronJobs, both versions. Spec: jobs A6. */
import {
  advancedCronJob,
  advancedCronJobWarnings,
  defaultAdvancedCronJob,
  type TemplateDefaulting,
  validateAdvancedCronJob,
} from "../../../crds/index.ts";
import { type AdmissionHandler, allowed } from "../../runtime/admission/request.ts";
import {
  defaultingHandler,
  refusedFor,
  templateDefaulting,
  typedHandler,
} from "../../runtime/admission/typed.ts";
import { kindWebhook, type Webhook } from "../../runtime/admission/webhook.ts";

/** The handler of `/mutate-apps-kruise-io-advancedcronjob`. */
export function mutateAdvancedCronJob(options: TemplateDefaulting): AdmissionHandler {
  return defaultingHandler(advancedCronJob.read, (object, old) =>
    defaultAdvancedCronJob(object, { ...options, old }),
  );
}

/** The handler of `/validate-apps-kruise-io-advancedcronjob`. */
export const validateAdvancedCronJobRequest: AdmissionHandler = typedHandler(
  advancedCronJob.read,
  (next, old, { operation }) => {
    const errors = validateAdvancedCronJob(next, old);
    if (errors.length > 0) return refusedFor(errors, 422);
    const warnings = operation === "CREATE" ? advancedCronJobWarnings(next) : [];
    return warnings.length === 0 ? allowed : { allowed: true, warnings };
  },
);

export const advancedCronJobWebhooks: readonly Webhook[] = [
  kindWebhook("mutating", advancedCronJob, {
    handler: ({ options }) => mutateAdvancedCronJob(templateDefaulting(options)),
  }),
  kindWebhook("validating", advancedCronJob, { handler: () => validateAdvancedCronJobRequest }),
];
