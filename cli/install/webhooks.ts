import { admissionWebhooks, webhookConfigurations } from "../../controller/index.ts";
import { type AnyObject, toAnyObject } from "../fields.ts";
import type { Reasons } from "./reasons.ts";

/** Beside the first entry: they hold for all. */
const entryReasons = {
  "webhooks.0.failurePolicy":
    "Fail: what would be let through is not defaulted, not validated, or takes more than its budget. Ignore: an outage must not block what is only guarded.",
  "webhooks.0.timeoutSeconds":
    "In every entry. An answer takes milliseconds; a replica that is stuck may hold up a write for ten seconds, not for thirty.",
};

export const webhookReasons: Reasons = {
  "MutatingWebhookConfiguration/kruise-mutating-webhook-configuration": entryReasons,
  "ValidatingWebhookConfiguration/kruise-validating-webhook-configuration": entryReasons,
};

/** Where the API server finds the webhooks. */
export interface WebhookPlace {
  /** Namespace of the controller. */
  readonly namespace: string;
  /** Serve admission at this host, without a Service; undefined inside a cluster. */
  readonly webhookHost: string | undefined;
  readonly webhookPort: number;
}

/** Both webhook configurations, last: from here on the API server asks the controller. */
export function webhookObjects(place: WebhookPlace): AnyObject[] {
  const { namespace, webhookHost, webhookPort } = place;
  const { mutating, validating } = webhookConfigurations({
    namespace,
    service: "kruise-webhook-service",
    webhooks: admissionWebhooks,
    ...(webhookHost === undefined ? {} : { host: webhookHost, port: webhookPort }),
  });
  return [toAnyObject(mutating), toAnyObject(validating)];
}
