/** Admission of AdvancedCronJobs, both versions. Spec: jobs A6. */
import {
  advancedCronJobWarnings,
  type DecodedAdvancedCronJob,
  decodeAdvancedCronJob,
  defaultAdvancedCronJob,
  SchemaError,
  validateAdvancedCronJob,
} from "../../crds/index.ts";
import { diffPositional, formatFieldErrors, type JsonObject } from "../../kube/core/index.ts";
import {
  type AdmissionHandler,
  type AdmissionResponse,
  allowed,
  denied,
  patched,
} from "../admission/request.ts";

export interface AdvancedCronJobAdmissionOptions {
  /** False with gate TemplateNoDefaults. */
  templateDefaults: boolean;
  /** Gate DefaultHostNetworkHostPortsInPodTemplates. */
  hostNetworkPorts: boolean;
}

/** The handler of `/mutate-apps-kruise-io-advancedcronjob`. */
export function mutateAdvancedCronJob(options: AdvancedCronJobAdmissionOptions): AdmissionHandler {
  return (request) => {
    if (request.object === undefined) return denied(400, "there is no content to decode");
    const decoded = decode(request.object);
    if ("allowed" in decoded) return decoded;
    const old = request.operation === "UPDATE" ? request.oldObject : undefined;
    const defaulted = defaultAdvancedCronJob(request.object, {
      ...options,
      ...(old === undefined ? {} : { old }),
    });
    return patched(diffPositional(request.object, defaulted));
  };
}

/** The handler of `/validate-apps-kruise-io-advancedcronjob`. */
export const validateAdvancedCronJobRequest: AdmissionHandler = (request) => {
  if (request.object === undefined) return denied(400, "there is no content to decode");
  const next = decode(request.object);
  if ("allowed" in next) return next;
  const old = request.operation === "UPDATE" && request.oldObject ? decode(request.oldObject) : undefined;
  // What was stored while no webhook looked may be malformed; that must not keep anybody from putting it right.
  const errors = validateAdvancedCronJob(next, old === undefined || "allowed" in old ? undefined : old);
  if (errors.length > 0) return denied(422, formatFieldErrors(errors));
  const warnings = request.operation === "CREATE" ? advancedCronJobWarnings(next) : [];
  return warnings.length === 0 ? allowed : { allowed: true, warnings };
};

function decode(object: JsonObject): DecodedAdvancedCronJob | AdmissionResponse {
  try {
    const decoded = decodeAdvancedCronJob(object);
    return "errors" in decoded ? denied(400, formatFieldErrors(decoded.errors)) : decoded;
  } catch (error) {
    if (error instanceof SchemaError) return denied(400, error.message);
    throw error;
  }
}
