/** Admission of ImageListPullJobs, both versions. Spec: images L2. */
import {
  defaultImageListPullJob,
  imageListPullJobComplaint,
  readImageListPullJob,
} from "../../crds/index.ts";
import { diffPositional } from "../../kube/core/index.ts";
import { type AdmissionHandler, allowed, denied, patched } from "../admission/request.ts";
import { closedGate, isBeingDeleted, typedObject } from "../admission/typed.ts";
import type { FeatureGates } from "../feature_gates.ts";

/** The handler of `/mutate-apps-kruise-io-imagelistpulljob`. */
export function mutateImageListPullJob(): AdmissionHandler {
  return (request) => {
    const found = typedObject(readImageListPullJob, request.object);
    if ("refusal" in found || request.object === undefined)
      return "refusal" in found ? found.refusal : allowed;
    return patched(diffPositional(request.object, defaultImageListPullJob(request.object)));
  };
}

/** The handler of `/validate-apps-kruise-io-imagelistpulljob`. */
export function validateImageListPullJob(gates: FeatureGates): AdmissionHandler {
  return (request) => {
    if (isBeingDeleted(request)) return allowed;
    const closed = closedGate(gates, "KruiseDaemon", "ImagePullJobGate");
    if (closed !== undefined) return closed;
    const found = typedObject(readImageListPullJob, request.object);
    if ("refusal" in found) return found.refusal;
    const complaint = imageListPullJobComplaint(found.object);
    return complaint === undefined ? allowed : denied(400, complaint);
  };
}
