/** Admission of EphemeralJobs. Spec: containers 5.6. */
import { ephemeralJob, validateEphemeralJob } from "../../../crds/index.ts";
import { allowed } from "../../runtime/admission/request.ts";
import { refusedFor, typedHandler } from "../../runtime/admission/typed.ts";
import { kindWebhook, type Webhook } from "../../runtime/admission/webhook.ts";

const staying = typedHandler(ephemeralJob.read, ({ object }, old) =>
  refusedFor(validateEphemeralJob(object, old?.object), 400),
);

export const ephemeralJobWebhooks: readonly Webhook[] = [
  kindWebhook("validating", ephemeralJob, {
    name: "ephemeraljobs",
    path: "/validate-apps-kruise-io-v1alpha1-ephemeraljob",
    handler: () => (request) =>
      // Stored while no webhook looked, it may be malformed: its finalizer can still go.
      Object(request.object?.["metadata"]).deletionTimestamp === undefined ? staying(request) : allowed,
  }),
];
