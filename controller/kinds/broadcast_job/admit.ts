/** Admission of BroadcastJobs, both versions. Spec: jobs B6. */
import { broadcastJob, defaultBroadcastJob, validateBroadcastJob } from "../../../crds/index.ts";
import {
  defaultingHandler,
  refusedFor,
  templateDefaulting,
  typedHandler,
} from "../../runtime/admission/typed.ts";
import { kindWebhook, type Webhook } from "../../runtime/admission/webhook.ts";

/** Refusals carry the code 500, as the API has it. */
const validate = typedHandler(broadcastJob.read, (next, old) =>
  refusedFor(validateBroadcastJob(next, old), 500),
);

export const broadcastJobWebhooks: readonly Webhook[] = [
  kindWebhook("mutating", broadcastJob, {
    handler: ({ options }) =>
      defaultingHandler(broadcastJob.read, (object, old) =>
        defaultBroadcastJob(object, { ...templateDefaulting(options), old }),
      ),
  }),
  kindWebhook("validating", broadcastJob, { handler: () => validate }),
];
