/** Admission of ImagePullJobs, both versions. Spec: images P5. */
import {
  changesPullSecrets,
  defaultImagePullJob,
  imagePullJob,
  imagePullJobComplaints,
  newComplaint,
} from "../../../crds/index.ts";
import { type AdmissionHandler, allowed, denied } from "../../runtime/admission/request.ts";
import { defaultingHandler, gated, typedHandler } from "../../runtime/admission/typed.ts";
import { kindWebhook, type Webhook } from "../../runtime/admission/webhook.ts";
import type { FeatureGates } from "../../runtime/feature_gates.ts";

/** The handler of `/mutate-apps-kruise-io-imagepulljob`. */
export const mutateImagePullJob: AdmissionHandler = defaultingHandler(
  imagePullJob.read,
  (object, _old, { operation }) => defaultImagePullJob(object, operation === "CREATE"),
);

/** The handler of `/validate-apps-kruise-io-imagepulljob`. */
export function validateImagePullJob(gates: FeatureGates): AdmissionHandler {
  return gated(gates, ["KruiseDaemon", "ImagePullJobGate"], validate);
}

const validate = typedHandler(imagePullJob.read, ({ object }, old) => {
  const complaint = newComplaint(imagePullJobComplaints, object, old?.object);
  if (complaint !== undefined) return denied(400, complaint);
  const isChanged = old !== undefined && changesPullSecrets(old.object, object);
  return isChanged ? denied(403, "spec.pullSecrets is immutable") : allowed;
});

export const imagePullJobWebhooks: readonly Webhook[] = [
  kindWebhook("mutating", imagePullJob, { name: "imagepulljob-v1beta1", handler: () => mutateImagePullJob }),
  kindWebhook("validating", imagePullJob, {
    name: "imagepulljob-v1beta1",
    handler: ({ options: { gates } }) => validateImagePullJob(gates),
  }),
];
