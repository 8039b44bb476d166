/** Admission of NodeImages, both versions. Spec: images N5. */
import { defaultNodeImage, newComplaint, nodeImage, nodeImageComplaints } from "../../../crds/index.ts";
import { allowed, denied } from "../../runtime/admission/request.ts";
import { defaultingHandler, gated, typedHandler } from "../../runtime/admission/typed.ts";
import { kindWebhook, type Webhook } from "../../runtime/admission/webhook.ts";

const validate = typedHandler(nodeImage.read, ({ object }, old) => {
  const complaint = newComplaint(nodeImageComplaints, object, old?.object);
  return complaint === undefined ? allowed : denied(400, complaint);
});

export const nodeImageWebhooks: readonly Webhook[] = [
  kindWebhook("mutating", nodeImage, {
    handler: ({ clock }) =>
      defaultingHandler(nodeImage.read, (object) => defaultNodeImage(object, clock.now())),
  }),
  kindWebhook("validating", nodeImage, {
    handler: ({ options: { gates } }) => gated(gates, ["KruiseDaemon"], validate),
  }),
];
