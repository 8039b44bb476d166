/** Admission of BroadcastJobs, both versions. Spec: jobs B6. */
import {
  broadcastJob,
  defaultBroadcastJob,
  type TemplateDefaulting,
  validateBroadcastJob,
} from "../../../crds/index.ts";
import type { AdmissionHandler } from "../../runtime/admission/request.ts";
import {
  defaultingHandler,
  refusedFor,
  templateDefaulting,
  typedHandler,
} from "../../runtime/admission/typed.ts";
import { kindWebhook, type Webhook } from "../../runtime/admission/webhook.ts";

/** The handler of `/mutate-apps-kruise-io-broadcastjob`. */
export function mutateBroadcastJob(options: TemplateDefaulting): AdmissionHandler {
  return defaultingHandler(broadcastJob.read, (object, old) =>
    defaultBroadcastJob(object, { ...options, old }),
  );
}

/** The handler of `/validate-apps-kruise-io-broadcastjob`. Refusals carry the code 500, as the API has it. */
export const validateBroadcastJobRequest: AdmissionHandler = typedHandler(broadcastJob.read, (next, old) =>
  refusedFor(validateBroadcastJob(next, old), 500),
);

export const broadcastJobWebhooks: readonly Webhook[] = [
  kindWebhook("mutating", broadcastJob, {
    handler: ({ options }) => mutateBroadcastJob(templateDefaulting(options)),
  }),
  kindWebhook("validating", broadcastJob, { handler: () => validateBroadcastJobRequest }),
];
