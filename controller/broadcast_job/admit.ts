/** Admission of BroadcastJobs, both versions. Spec: jobs B6. */
import {
  type DecodedBroadcastJob,
  decodeBroadcastJob,
  defaultBroadcastJob,
  SchemaError,
  validateBroadcastJob,
} from "../../crds/index.ts";
import { diffPositional, formatFieldErrors, type JsonObject } from "../../kube/core/index.ts";
import {
  type AdmissionHandler,
  type AdmissionResponse,
  allowed,
  denied,
  patched,
} from "../admission/request.ts";

export interface BroadcastJobAdmissionOptions {
  /** False with gate TemplateNoDefaults. */
  templateDefaults: boolean;
  /** Gate DefaultHostNetworkHostPortsInPodTemplates. */
  hostNetworkPorts: boolean;
}

/** The handler of `/mutate-apps-kruise-io-broadcastjob`. */
export function mutateBroadcastJob(options: BroadcastJobAdmissionOptions): AdmissionHandler {
  return (request) => {
    if (request.object === undefined) return denied(400, "there is no content to decode");
    const decoded = decode(request.object);
    if ("allowed" in decoded) return decoded;
    const old = request.operation === "UPDATE" ? request.oldObject : undefined;
    const defaulted = defaultBroadcastJob(request.object, {
      ...options,
      ...(old === undefined ? {} : { old }),
    });
    return patched(diffPositional(request.object, defaulted));
  };
}

/** The handler of `/validate-apps-kruise-io-broadcastjob`. Refusals carry the code 500, as the API has it. */
export const validateBroadcastJobRequest: AdmissionHandler = (request) => {
  if (request.object === undefined) return denied(400, "there is no content to decode");
  const next = decode(request.object);
  if ("allowed" in next) return next;
  const old = request.operation === "UPDATE" && request.oldObject ? decode(request.oldObject) : undefined;
  // What was stored while no webhook looked may be malformed; that must not keep anybody from putting it right.
  const errors = validateBroadcastJob(next, old === undefined || "allowed" in old ? undefined : old);
  return errors.length === 0 ? allowed : denied(500, formatFieldErrors(errors));
};

function decode(object: JsonObject): DecodedBroadcastJob | AdmissionResponse {
  try {
    const decoded = decodeBroadcastJob(object);
    return "errors" in decoded ? denied(400, formatFieldErrors(decoded.errors)) : decoded;
  } catch (error) {
    if (error instanceof SchemaError) return denied(400, error.message);
    throw error;
  }
}
