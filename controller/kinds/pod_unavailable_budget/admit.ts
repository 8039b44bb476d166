/** Admission of PodUnavailableBudgets, both versions. Spec: protection A6. */
import { podUnavailableBudget, SchemaError, validatePodUnavailableBudget } from "../../../crds/index.ts";
import { podUnavailableBudgetResource } from "../../plan/resources.ts";
import { type AdmissionHandler, allowed, denied } from "../../runtime/admission/request.ts";
import { isBeingDeleted, refusedFor, typedHandler } from "../../runtime/admission/typed.ts";
import { kindWebhook, type Webhook, type WebhookDeps } from "../../runtime/admission/webhook.ts";
import { budgetsAreOn } from "./gates.ts";

const GATES_OFF =
  "feature PodUnavailableBudget is invalid, please open via feature-gate(PodUnavailableBudgetDeleteGate, PodUnavailableBudgetUpdateGate)";

function validate({ client, options: { gates } }: WebhookDeps): AdmissionHandler {
  const isEnabled = budgetsAreOn(gates);
  const written = typedHandler(readStored, async (next, old, { namespace }) => {
    const { items: others } = await client.list(podUnavailableBudgetResource, { namespace });
    return refusedFor(validatePodUnavailableBudget(next.object, old?.object, others), 400);
  });
  return (request) => {
    if (request.operation !== "CREATE" && request.operation !== "UPDATE") return allowed;
    if (request.object !== undefined && !isEnabled)
      return isBeingDeleted(request) ? allowed : denied(400, GATES_OFF);
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
  kindWebhook("validating", podUnavailableBudget, { earlierVersions: [], handler: validate }),
];
