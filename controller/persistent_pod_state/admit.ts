/** Admission of PersistentPodStates, both versions. Spec: persistentpodstate 6. */
import {
  type Draft,
  decodeStored,
  type PersistentPodState,
  persistentPodState,
  SchemaError,
  validatePersistentPodState,
} from "../../crds/index.ts";
import { formatFieldErrors, type JsonObject } from "../../kube/core/index.ts";
import { type AdmissionHandler, type AdmissionResponse, allowed, denied } from "../admission/request.ts";

export interface PersistentPodStateAdmissionOptions {
  /** All objects of a namespace. */
  list(namespace: string): Promise<readonly PersistentPodState[]>;
}

/** The handler of `/validate-apps-kruise-io-persistentpodstate`. */
export function validatePersistentPodStateRequest(
  options: PersistentPodStateAdmissionOptions,
): AdmissionHandler {
  return async (request) => {
    if (request.operation !== "CREATE" && request.operation !== "UPDATE") return allowed;
    if (request.object === undefined) return denied(400, "there is no content to decode");
    const next = decode(request.object);
    if ("allowed" in next) return next;
    const old =
      request.operation === "UPDATE" && request.oldObject !== undefined
        ? decode(request.oldObject)
        : undefined;
    const others = await options.list(request.namespace);
    const before = old === undefined || "allowed" in old ? undefined : old;
    const errors = validatePersistentPodState(next, before, others);
    return errors.length === 0 ? allowed : denied(400, formatFieldErrors(errors));
  };
}

function decode(object: JsonObject): Draft<PersistentPodState> | AdmissionResponse {
  try {
    const decoded = decodeStored<PersistentPodState>(persistentPodState, object);
    return "errors" in decoded ? denied(400, formatFieldErrors(decoded.errors)) : decoded.object;
  } catch (error) {
    if (error instanceof SchemaError) return denied(400, error.message);
    throw error;
  }
}
