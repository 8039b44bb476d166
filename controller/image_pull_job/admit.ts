/** Admission of ImagePullJobs, both versions. Spec: images P5. */
import {
  changesPullSecrets,
  defaultImagePullJob,
  imagePullJobComplaint,
  readImagePullJob,
} from "../../crds/index.ts";
import { diffPositional } from "../../kube/core/index.ts";
import { type AdmissionHandler, allowed, denied, patched } from "../admission/request.ts";
import { closedGate, isBeingDeleted, typedObject } from "../admission/typed.ts";
import type { FeatureGates } from "../feature_gates.ts";

/** The handler of `/mutate-apps-kruise-io-imagepulljob`. */
export function mutateImagePullJob(): AdmissionHandler {
  return (request) => {
    const found = typedObject(readImagePullJob, request.object);
    if ("refusal" in found || request.object === undefined)
      return "refusal" in found ? found.refusal : allowed;
    const defaulted = defaultImagePullJob(request.object, request.operation === "CREATE");
    return patched(diffPositional(request.object, defaulted));
  };
}

/** The handler of `/validate-apps-kruise-io-imagepulljob`. */
export function validateImagePullJob(gates: FeatureGates): AdmissionHandler {
  return (request) => {
    if (isBeingDeleted(request)) return allowed;
    const closed = closedGate(gates, "KruiseDaemon", "ImagePullJobGate");
    if (closed !== undefined) return closed;
    const found = typedObject(readImagePullJob, request.object);
    if ("refusal" in found) return found.refusal;
    const complaint = imagePullJobComplaint(found.object);
    if (complaint !== undefined) return denied(400, complaint);
    if (request.operation !== "UPDATE") return allowed;
    const old = typedObject(readImagePullJob, request.oldObject);
    // What was stored while no webhook looked may be malformed; that must not keep anybody from putting it right.
    const changed = !("refusal" in old) && changesPullSecrets(old.object, found.object);
    return changed ? denied(403, "spec.pullSecrets is immutable") : allowed;
  };
}
