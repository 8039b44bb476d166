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

/** The handler of `/validate-apps-kruise-io-persistentpodstate`. `list`: all objects of a namespace. */
export function validatePersistentPodStateRequest(
  list: (namespace: string) => Promise<readonly PersistentPodState[]>,
): AdmissionHandler {
  const written = typedHandler(persistentPodState.readStored, async (next, old, { namespace }) => {
    const others = await list(namespace);
    return refusedFor(validatePersistentPodState(next.object, old?.object, others), 400);
  });
  return (request) =>
    request.operation === "CREATE" || request.operation === "UPDATE" ? written(request) : allowed;
}

export const persistentPodStateWebhooks: readonly Webhook[] = [
  kindWebhook("validating", persistentPodState, {
    handler: ({ client }) =>
      validatePersistentPodStateRequest(
        async (namespace) => (await client.list(persistentPodStateResource, { namespace })).items,
      ),
  }),
];
