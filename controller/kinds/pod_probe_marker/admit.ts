/** Admission of PodProbeMarkers. Spec: containers 4.6. */
import { podProbeMarker, validatePodProbeMarker } from "../../../crds/index.ts";
import { closedGate, refusedFor, typedHandler } from "../../runtime/admission/typed.ts";
import { kindWebhook, type Webhook } from "../../runtime/admission/webhook.ts";

export const podProbeMarkerWebhooks: readonly Webhook[] = [
  kindWebhook("validating", podProbeMarker, {
    handler: ({ options: { gates } }) =>
      typedHandler(podProbeMarker.read, ({ object }, old) => {
        // Whatever the gates say, an object on its way out can lose its finalizers.
        const isLeaving = object.metadata.deletionTimestamp !== undefined;
        const closed = isLeaving ? undefined : closedGate(gates, "PodProbeMarkerGate", "KruiseDaemon");
        return closed ?? refusedFor(validatePodProbeMarker(object, old?.object), 400);
      }),
  }),
];
