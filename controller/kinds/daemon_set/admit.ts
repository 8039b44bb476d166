/** Admission of DaemonSets, both versions. Spec: daemonset 6. */
import {
  daemonSet,
  defaultDaemonSet,
  type TemplateDefaulting,
  validateDaemonSet,
} from "../../../crds/index.ts";
import type { AdmissionHandler } from "../../runtime/admission/request.ts";
import {
  defaultingHandler,
  refusedFor,
  templateDefaulting,
  typedHandler,
} from "../../runtime/admission/typed.ts";
import { kindWebhook, type Webhook } from "../../runtime/admission/webhook.ts";

/** The handler of `/mutate-apps-kruise-io-daemonset`. */
export const mutateDaemonSet: AdmissionHandler = defaultingHandler(daemonSet.read, (object) =>
  defaultDaemonSet(object),
);

/** The handler of `/validate-apps-kruise-io-daemonset`. A refused creation has code 500, as in the API. */
export function validateDaemonSetRequest(
  options: Pick<TemplateDefaulting, "hostNetworkPorts">,
): AdmissionHandler {
  return typedHandler(daemonSet.read, (next, old, { operation }) =>
    refusedFor(validateDaemonSet(next, old, options), operation === "CREATE" ? 500 : 422),
  );
}

export const daemonSetWebhooks: readonly Webhook[] = [
  kindWebhook("mutating", daemonSet, { handler: () => mutateDaemonSet }),
  kindWebhook("validating", daemonSet, {
    handler: ({ options }) => validateDaemonSetRequest(templateDefaulting(options)),
  }),
];
