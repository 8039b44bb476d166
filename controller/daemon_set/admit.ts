/** Admission of DaemonSets, both versions. Spec: daemonset 6. */
import {
  type DecodedDaemonSet,
  decodeDaemonSet,
  defaultDaemonSet,
  SchemaError,
  validateDaemonSet,
} from "../../crds/index.ts";
import { diffPositional, formatFieldErrors, type JsonObject } from "../../kube/core/index.ts";
import {
  type AdmissionHandler,
  type AdmissionRequest,
  type AdmissionResponse,
  allowed,
  denied,
  patched,
} from "../admission/request.ts";

export interface DaemonSetAdmissionOptions {
  /** Gate DefaultHostNetworkHostPortsInPodTemplates. */
  hostNetworkPorts: boolean;
}

/** The handler of `/mutate-apps-kruise-io-daemonset`. */
export const mutateDaemonSet: AdmissionHandler = (request) => {
  if (request.object === undefined) return denied(400, "there is no content to decode");
  const decoded = decode(request.object);
  if ("allowed" in decoded) return decoded;
  return patched(diffPositional(request.object, defaultDaemonSet(request.object)));
};

/** The handler of `/validate-apps-kruise-io-daemonset`. A refused creation has code 500, as in the API. */
export function validateDaemonSetRequest(options: DaemonSetAdmissionOptions): AdmissionHandler {
  return (request) => {
    if (request.object === undefined) return denied(400, "there is no content to decode");
    const next = decode(request.object);
    if ("allowed" in next) return next;
    const errors = validateDaemonSet(next, decodeOld(request), options);
    if (errors.length === 0) return allowed;
    return denied(request.operation === "CREATE" ? 500 : 422, formatFieldErrors(errors));
  };
}

/** What was stored while no webhook looked may be malformed; that must not keep anybody from putting it right. */
function decodeOld(request: AdmissionRequest): DecodedDaemonSet | undefined {
  if (request.operation !== "UPDATE" || request.oldObject === undefined) return undefined;
  const old = decode(request.oldObject);
  return "allowed" in old ? undefined : old;
}

function decode(object: JsonObject): DecodedDaemonSet | AdmissionResponse {
  try {
    const decoded = decodeDaemonSet(object);
    return "errors" in decoded ? denied(400, formatFieldErrors(decoded.errors)) : decoded;
  } catch (error) {
    if (error instanceof SchemaError) return denied(400, error.message);
    throw error;
  }
}
