/** Admission of ImagePullJobs, both versions. Spec: images P5. */
import {
  changesPullSecrets,
  defaultImagePullJob,
  imagePullJob,
  imagePullJobComplaints,
  newComplaint,
} from "../../../crds/index.ts";
import { allowed, denied } from "../../runtime/admission/request.ts";
import { defaultingHandler, gated, typedHandler } from "../../runtime/admission/typed.ts";
import { kindWebhook, type Webhook } from "../../runtime/admission/webhook.ts";

const validate = typedHandler(imagePullJob.read, ({ object }, old) => {
  const complaint = newComplaint(imagePullJobComplaints, object, old?.object);
  if (complaint !== undefined) return denied(400, complaint);
  const isChanged = old !== undefined && changesPullSecrets(old.object, object);
  return isChanged ? denied(403, "spec.pullSecrets is immutable") : allowed;
});

export const imagePullJobWebhooks: readonly Webhook[] = [
  kindWebhook("mutating", imagePullJob, {
    name: "imagepulljob-v1beta1",
    handler: () =>
      defaultingHandler(imagePullJob.read, (object, _old, { operation }) =>
        defaultImagePullJob(object, operation === "CREATE"),
      ),
  }),
  kindWebhook("validating", imagePullJob, {
    name: "imagepulljob-v1beta1",
    handler: ({ options: { gates } }) => gated(gates, ["KruiseDaemon", "ImagePullJobGate"], validate),
  }),
];
