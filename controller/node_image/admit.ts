/** Admission of NodeImages, both versions. Spec: images N5. */
import { defaultNodeImage, nodeImageComplaint, readNodeImage } from "../../crds/index.ts";
import { diffPositional } from "../../kube/core/index.ts";
import type { Clock } from "../../kube/index.ts";
import { type AdmissionHandler, allowed, denied, patched } from "../admission/request.ts";
import { closedGate, isBeingDeleted, typedObject } from "../admission/typed.ts";
import type { FeatureGates } from "../feature_gates.ts";

/** The handler of `/mutate-apps-kruise-io-nodeimage`. */
export function mutateNodeImage(clock: Clock): AdmissionHandler {
  return (request) => {
    const found = typedObject(readNodeImage, request.object);
    if ("refusal" in found || request.object === undefined)
      return "refusal" in found ? found.refusal : allowed;
    return patched(diffPositional(request.object, defaultNodeImage(request.object, clock.now())));
  };
}

/** The handler of `/validate-apps-kruise-io-nodeimage`. */
export function validateNodeImage(gates: FeatureGates): AdmissionHandler {
  return (request) => {
    if (isBeingDeleted(request)) return allowed;
    const closed = closedGate(gates, "KruiseDaemon");
    if (closed !== undefined) return closed;
    const found = typedObject(readNodeImage, request.object);
    if ("refusal" in found) return found.refusal;
    const complaint = nodeImageComplaint(found.object);
    return complaint === undefined ? allowed : denied(400, complaint);
  };
}
