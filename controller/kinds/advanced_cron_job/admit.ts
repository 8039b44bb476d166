/** Admission of AdvancedCronJobs, both versions. Spec: jobs A6. */
import {
  advancedCronJob,
  advancedCronJobWarnings,
  defaultAdvancedCronJob,
  validateAdvancedCronJob,
} from "../../../crds/index.ts";
import { allowed } from "../../runtime/admission/request.ts";
import {
  defaultingHandler,
  refusedFor,
  templateDefaulting,
  typedHandler,
} from "../../runtime/admission/typed.ts";
import { kindWebhook, type Webhook } from "../../runtime/admission/webhook.ts";

const validate = typedHandler(advancedCronJob.read, (next, old, { operation }) => {
  const errors = validateAdvancedCronJob(next, old);
  if (errors.length > 0) return refusedFor(errors, 422);
  const warnings = operation === "CREATE" ? advancedCronJobWarnings(next) : [];
  return warnings.length === 0 ? allowed : { allowed: true, warnings };
});

export const advancedCronJobWebhooks: readonly Webhook[] = [
  kindWebhook("mutating", advancedCronJob, {
    handler: ({ options }) =>
      defaultingHandler(advancedCronJob.read, (object, old) =>
        defaultAdvancedCronJob(object, { ...templateDefaulting(options), old }),
      ),
  }),
  kindWebhook("validating", advancedCronJob, { handler: () => validate }),
];
