/** Admission of PersistentPodStates, both versions. Spec: persistentpodstate 6. */
import {
  type PersistentPodState,
  persistentPodState,
  validatePersistentPodState,
} from "../../../crds/index.ts";
import { persistentPodStateResource } from "../../plan/resources.ts";
import { type AdmissionHandler, allowed } from "../../runtime/admission/request.ts";
import { refusedFor, typedHandler } from "../../runtime/admission/typed.ts";
import { kindWebhook, type Webhook } from "../../runtime/admission/webhook.ts";

interface PersistentPodStateAdmissionOptions {
  /** All objects of a namespace. */
  list(namespace: string): Promise<readonly PersistentPodState[]>;
}

/** The handler of `/validate-apps-kruise-io-persistentpodstate`. */
export function validatePersistentPodStateRequest(
  options: PersistentPodStateAdmissionOptions,
): AdmissionHandler {
  const written = typedHandler(persistentPodState.readStored, async (next, old, { namespace }) => {
    const others = await options.list(namespace);
    return refusedFor(validatePersistentPodState(next.object, old?.object, others), 400);
  });
  return (request) =>
    request.operation === "CREATE" || request.operation === "UPDATE" ? written(request) : allowed;
}

export const persistentPodStateWebhooks: readonly Webhook[] = [
  kindWebhook("validating", persistentPodState, {
    handler: ({ client }) =>
      validatePersistentPodStateRequest({
        list: async (namespace) => (await client.list(persistentPodStateResource, { namespace })).items,
      }),
  }),
];
