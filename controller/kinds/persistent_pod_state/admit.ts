/** Admission of PersistentPodStates, both versions. Spec: persistentpodstate 6. */
import { persistentPodState, validatePersistentPodState } from "../../../crds/index.ts";
import { persistentPodStateResource } from "../../plan/resources.ts";
import { allowed } from "../../runtime/admission/request.ts";
import { refusedFor, typedHandler } from "../../runtime/admission/typed.ts";
import { kindWebhook, type Webhook } from "../../runtime/admission/webhook.ts";

export const persistentPodStateWebhooks: readonly Webhook[] = [
  kindWebhook("validating", persistentPodState, {
    handler: ({ client }) => {
      const written = typedHandler(persistentPodState.readStored, async (next, old, { namespace }) => {
        const { items: others } = await client.list(persistentPodStateResource, { namespace });
        return refusedFor(validatePersistentPodState(next.object, old?.object, others), 400);
      });
      return (request) =>
        request.operation === "CREATE" || request.operation === "UPDATE" ? written(request) : allowed;
    },
  }),
];
