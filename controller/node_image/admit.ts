/** Admission of NodeImages, both versions. Spec: images N5. */
import { defaultNodeImage, nodeImage, nodeImageComplaint } from "../../crds/index.ts";
import type { Clock } from "../../kube/index.ts";
import { type AdmissionHandler, allowed, denied } from "../admission/request.ts";
import { closedGate, defaultingHandler, isBeingDeleted, typedHandler } from "../admission/typed.ts";
import { kindWebhook, type Webhook } from "../admission/webhook.ts";
import type { FeatureGates } from "../feature_gates.ts";

/** The handler of `/mutate-apps-kruise-io-nodeimage`. */
export function mutateNodeImage(clock: Clock): AdmissionHandler {
  return defaultingHandler(nodeImage.read, (object) => defaultNodeImage(object, clock.now()));
}

/** The handler of `/validate-apps-kruise-io-nodeimage`. */
export function validateNodeImage(gates: FeatureGates): AdmissionHandler {
  return (request) =>
    isBeingDeleted(request) ? allowed : (closedGate(gates, "KruiseDaemon") ?? validate(request));
}

const validate = typedHandler(nodeImage.read, ({ object }, old) => {
  const complaint = nodeImageComplaint(object);
  const isNew = old === undefined || nodeImageComplaint(old.object) !== complaint;
  return complaint !== undefined && isNew ? denied(400, complaint) : allowed;
});

export const nodeImageWebhooks: readonly Webhook[] = [
  kindWebhook("mutating", nodeImage, { handler: ({ clock }) => mutateNodeImage(clock) }),
  kindWebhook("validating", nodeImage, { handler: ({ options: { gates } }) => validateNodeImage(gates) }),
];
