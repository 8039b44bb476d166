/** Admission of PodUnavailableBudgets, both versions. Spec: protection A6. */
import {
  type Draft,
  decodeStored,
  type PodUnavailableBudget,
  podUnavailableBudget,
  SchemaError,
  validatePodUnavailableBudget,
} from "../../crds/index.ts";
import { formatFieldErrors, type JsonObject } from "../../kube/core/index.ts";
import { type AdmissionHandler, type AdmissionResponse, allowed, denied } from "../admission/request.ts";

export interface BudgetAdmissionOptions {
  /** One of the two gates is on. */
  enabled: boolean;
  /** All budgets of a namespace. */
  list(namespace: string): Promise<readonly PodUnavailableBudget[]>;
}

const GATES_OFF =
  "feature PodUnavailableBudget is invalid, please open via feature-gate(PodUnavailableBudgetDeleteGate, PodUnavailableBudgetUpdateGate)";

/** The handler of `/validate-policy-kruise-io-podunavailablebudget`. */
export function validatePodUnavailableBudgetRequest(options: BudgetAdmissionOptions): AdmissionHandler {
  return async (request) => {
    if (request.operation !== "CREATE" && request.operation !== "UPDATE") return allowed;
    if (request.object === undefined) return denied(400, "there is no content to decode");
    if (!options.enabled) return denied(400, GATES_OFF);
    const next = decode(request.object);
    if ("allowed" in next) return next;
    const before = request.operation === "UPDATE" ? request.oldObject : undefined;
    const old = before === undefined ? undefined : decode(before);
    const others = await options.list(request.namespace);
    const errors = validatePodUnavailableBudget(
      next,
      old === undefined || "allowed" in old ? undefined : old,
      others,
    );
    return errors.length === 0 ? allowed : denied(400, formatFieldErrors(errors));
  };
}

function decode(object: JsonObject): Draft<PodUnavailableBudget> | AdmissionResponse {
  try {
    const decoded = decodeStored<PodUnavailableBudget>(podUnavailableBudget, object);
    return "errors" in decoded ? denied(400, formatFieldErrors(decoded.errors)) : decoded.object;
  } catch (error) {
    if (!(error instanceof SchemaError)) throw error;
    const isConversion = error.code === "NoConversion";
    return denied(
      400,
      isConversion ? `failed to convert v1alpha1 PUB to v1beta1: ${error.message}` : error.message,
    );
  }
}
