/** Admission of ImageListPullJobs, both versions. Spec: images L2. */
import {
  defaultImageListPullJob,
  imageListPullJob,
  imageListPullJobComplaints,
  newComplaint,
} from "../../../crds/index.ts";
import { allowed, denied } from "../../runtime/admission/request.ts";
import { defaultingHandler, gated, typedHandler } from "../../runtime/admission/typed.ts";
import { kindWebhook, type Webhook } from "../../runtime/admission/webhook.ts";

const validate = typedHandler(imageListPullJob.read, ({ object }, old) => {
  const complaint = newComplaint(imageListPullJobComplaints, object, old?.object);
  return complaint === undefined ? allowed : denied(400, complaint);
});

export const imageListPullJobWebhooks: readonly Webhook[] = [
  kindWebhook("mutating", imageListPullJob, {
    name: "imagelistpulljob-v1beta1",
    handler: () => defaultingHandler(imageListPullJob.read, (object) => defaultImageListPullJob(object)),
  }),
  kindWebhook("validating", imageListPullJob, {
    name: "imagelistpulljob-v1beta1",
    handler: ({ options: { gates } }) => gated(gates, ["KruiseDaemon", "ImagePullJobGate"], validate),
  }),
];
