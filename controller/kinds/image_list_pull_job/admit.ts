/** Admission of ImageListPullJobs, both versions. Spec: images L2. */
import {
  defaultImageListPullJob,
  imageListPullJob,
  imageListPullJobComplaints,
  newComplaint,
} from "../../../crds/index.ts";
import { type AdmissionHandler, allowed, denied } from "../../runtime/admission/request.ts";
import { defaultingHandler, gated, typedHandler } from "../../runtime/admission/typed.ts";
import { kindWebhook, type Webhook } from "../../runtime/admission/webhook.ts";
import type { FeatureGates } from "../../runtime/feature_gates.ts";

/** The handler of `/mutate-apps-kruise-io-imagelistpulljob`. */
export const mutateImageListPullJob: AdmissionHandler = defaultingHandler(imageListPullJob.read, (object) =>
  defaultImageListPullJob(object),
);

/** The handler of `/validate-apps-kruise-io-imagelistpulljob`. */
export function validateImageListPullJob(gates: FeatureGates): AdmissionHandler {
  return gated(gates, ["KruiseDaemon", "ImagePullJobGate"], validate);
}

const validate = typedHandler(imageListPullJob.read, ({ object }, old) => {
  const complaint = newComplaint(imageListPullJobComplaints, object, old?.object);
  return complaint === undefined ? allowed : denied(400, complaint);
});

export const imageListPullJobWebhooks: readonly Webhook[] = [
  kindWebhook("mutating", imageListPullJob, {
    name: "imagelistpulljob-v1beta1",
    handler: () => mutateImageListPullJob,
  }),
  kindWebhook("validating", imageListPullJob, {
    name: "imagelistpulljob-v1beta1",
    handler: ({ options: { gates } }) => validateImageListPullJob(gates),
  }),
];
