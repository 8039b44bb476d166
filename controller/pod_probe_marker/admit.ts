/** Admission of PodProbeMarkers. Spec: containers 4.6. */
import {
  decodePodProbeMarker,
  type PodProbeMarker,
  SchemaError,
  validatePodProbeMarker,
} from "../../crds/index.ts";
import { formatFieldErrors, type JsonObject } from "../../kube/core/index.ts";
import { type AdmissionHandler, type AdmissionResponse, allowed, denied } from "../admission/request.ts";
import type { FeatureGates } from "../feature_gates.ts";

/** The handler of `/validate-apps-kruise-io-podprobemarker`. */
export function validatePodProbeMarkerRequest(gates: FeatureGates): AdmissionHandler {
  return (request) => {
    if (request.object === undefined) return denied(400, "there is no content to decode");
    const next = decode(request.object);
    if ("allowed" in next) return next;
    // Whatever the gates say, an object on its way out can lose its finalizers.
    if (next.metadata.deletionTimestamp === undefined) {
      for (const gate of ["PodProbeMarkerGate", "KruiseDaemon"] as const)
        if (!gates[gate]) return denied(403, `feature-gate ${gate} is not enabled`);
    }
    const before =
      request.operation === "UPDATE" && request.oldObject ? decode(request.oldObject) : undefined;
    // What was stored while no webhook looked may be malformed; that must not keep anybody from putting it right.
    const old = before === undefined || "allowed" in before ? undefined : before;
    const errors = validatePodProbeMarker(next, old);
    return errors.length === 0 ? allowed : denied(400, formatFieldErrors(errors));
  };
}

function decode(object: JsonObject): PodProbeMarker | AdmissionResponse {
  try {
    const decoded = decodePodProbeMarker(object);
    return "errors" in decoded ? denied(400, formatFieldErrors(decoded.errors)) : decoded;
  } catch (error) {
    if (error instanceof SchemaError) return denied(400, error.message);
    throw error;
  }
}
