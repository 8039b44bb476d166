/** Admission of PodUnavailableBudgets, both versions. Spec: protection A6. */
import {
  type PodUnavailableBudget,
  podUnavailableBudget,
  SchemaError,
  validatePodUnavailableBudget,
} from "../../../crds/index.ts";
import { podUnavailableBudgetResource } from "../../plan/resources.ts";
import { type AdmissionHandler, allowed, denied } from "../../runtime/admission/request.ts";
import { refusedFor, typedHandler } from "../../runtime/admission/typed.ts";
import { kindWebhook, type Webhook } from "../../runtime/admission/webhook.ts";
import { budgetsAreOn } from "./gates.ts";

interface BudgetAdmissionOptions {
  /** One of the two gates is on. */
  enabled: boolean;
  /** All budgets of a namespace. */
  list(namespace: string): Promise<readonly PodUnavailableBudget[]>;
}

const GATES_OFF =
  "feature PodUnavailableBudget is invalid, please open via feature-gate(PodUnavailableBudgetDeleteGate, PodUnavailableBudgetUpdateGate)";

/** The handler of `/validate-policy-kruise-io-podunavailablebudget`. */
export function validatePodUnavailableBudgetRequest(options: BudgetAdmissionOptions): AdmissionHandler {
  const written = typedHandler(readStored, async (next, old, { namespace }) => {
    const others = await options.list(namespace);
    return refusedFor(validatePodUnavailableBudget(next.object, old?.object, others), 400);
  });
  return (request) => {
    if (request.operation !== "CREATE" && request.operation !== "UPDATE") return allowed;
    if (request.object !== undefined && !options.enabled) return denied(400, GATES_OFF);
    return written(request);
  };
}

function readStored(value: unknown): ReturnType<typeof podUnavailableBudget.readStored> {
  try {
    return podUnavailableBudget.readStored(value);
  } catch (error) {
    if (!(error instanceof SchemaError) || error.code !== "NoConversion") throw error;
    throw new SchemaError(error.code, `failed to convert v1alpha1 PUB to v1beta1: ${error.message}`);
  }
}

export const podUnavailableBudgetWebhooks: readonly Webhook[] = [
  kindWebhook("validating", podUnavailableBudget, {
    earlierVersions: [],
    handler: ({ client, options: { gates } }) =>
      validatePodUnavailableBudgetRequest({
        enabled: budgetsAreOn(gates),
        list: async (namespace) => (await client.list(podUnavailableBudgetResource, { namespace })).items,
      }),
  }),
];
