/** Admission of DaemonSets, both versions. Spec: daemonset 6. */
import { daemonSet, defaultDaemonSet, validateDaemonSet } from "../../../crds/index.ts";
import {
  defaultingHandler,
  refusedFor,
  templateDefaulting,
  typedHandler,
} from "../../runtime/admission/typed.ts";
import { kindWebhook, type Webhook } from "../../runtime/admission/webhook.ts";

export const daemonSetWebhooks: readonly Webhook[] = [
  kindWebhook("mutating", daemonSet, {
    handler: () => defaultingHandler(daemonSet.read, (object) => defaultDaemonSet(object)),
  }),
  kindWebhook("validating", daemonSet, {
    // A refused creation has code 500, as in the API.
    handler: ({ options }) =>
      typedHandler(daemonSet.read, (next, old, { operation }) =>
        refusedFor(
          validateDaemonSet(next, old, templateDefaulting(options)),
          operation === "CREATE" ? 500 : 422,
        ),
      ),
  }),
];
