/** Admission of NodeImages, both versions. Spec: images N5. */
import { defaultNodeImage, newComplaint, nodeImage, nodeImageComplaints } from "../../../crds/index.ts";
import type { Clock } from "../../../kube/index.ts";
import { type AdmissionHandler, allowed, denied } from "../../runtime/admission/request.ts";
import { defaultingHandler, gated, typedHandler } from "../../runtime/admission/typed.ts";
import { kindWebhook, type Webhook } from "../../runtime/admission/webhook.ts";
import type { FeatureGates } from "../../runtime/feature_gates.ts";

/** The handler of `/mutate-apps-kruise-io-nodeimage`. */
export function mutateNodeImage(clock: Clock): AdmissionHandler {
  return defaultingHandler(nodeImage.read, (object) => defaultNodeImage(object, clock.now()));
}

/** The handler of `/validate-apps-kruise-io-nodeimage`. */
export function validateNodeImage(gates: FeatureGates): AdmissionHandler {
  return gated(gates, ["KruiseDaemon"], validate);
}

const validate = typedHandler(nodeImage.read, ({ object }, old) => {
  const complaint = newComplaint(nodeImageComplaints, object, old?.object);
  return complaint === undefined ? allowed : denied(400, complaint);
});

export const nodeImageWebhooks: readonly Webhook[] = [
  kindWebhook("mutating", nodeImage, { handler: ({ clock }) => mutateNodeImage(clock) }),
  kindWebhook("validating", nodeImage, { handler: ({ options: { gates } }) => validateNodeImage(gates) }),
];
