/** Admission of ResourceDistributions, both versions. Spec: resourcedistribution 6. */
import {
  contentProblem,
  distributedIdentity,
  distributedKind,
  invalidResource,
  resourceDistribution,
  validateDistributedResource,
  validateDistributionTargets,
} from "../../../crds/index.ts";
import {
  type FieldError,
  forbidden,
  isJsonObject,
  type JsonObject,
  jsonEqual,
} from "../../../kube/core/index.ts";
import { isKubeError, messageOf, type Writer } from "../../../kube/index.ts";
import type { AdmissionHandler } from "../../runtime/admission/request.ts";
import { gated, refusedFor, typedHandler } from "../../runtime/admission/typed.ts";
import { kindWebhook, type Webhook, type WebhookDeps } from "../../runtime/admission/webhook.ts";
import { copyResources } from "./copies.ts";

/** The handler of `/validate-apps-kruise-io-resourcedistribution`. Resources are tried out in the namespace of this program. */
export function validateResourceDistribution({
  writesFor,
  options: { gates },
  settings: { namespace },
}: Pick<WebhookDeps, "writesFor" | "options" | "settings">): AdmissionHandler {
  const writer = writesFor({ namespace });
  const written = typedHandler(resourceDistribution.readStored, async ({ object }, old) => {
    const mistakes = validateDistributedResource(object, old?.object);
    const resource = object.spec?.resource;
    const isTried = mistakes.length === 0 && !(old && jsonEqual(resource, old.object.spec?.resource));
    const errors = isTried ? await triedOut(resource, writer, namespace) : mistakes;
    return refusedFor([...errors, ...validateDistributionTargets(object, old?.object)], 422);
  });
  return gated(gates, ["ResourceDistributionGate"], written);
}

/**
 * The server itself says whether it would store the resource. It does not look at the content where an object of this name
 * exists; then only `contentProblem` does.
 */
async function triedOut(resource: unknown, writer: Writer, namespace: string): Promise<FieldError[]> {
  const kind = distributedKind(distributedIdentity(resource));
  if (!isJsonObject(resource) || kind === undefined) return [];
  try {
    await writer.create(copyResources[kind], namespace, placedIn(resource, namespace), { dryRun: true });
  } catch (error) {
    if (!isKubeError(error, "AlreadyExists")) return [refusalOf(error)];
  }
  const problem = contentProblem(resource);
  return problem === undefined ? [] : [invalidResource(problem)];
}

function refusalOf(error: unknown): FieldError {
  const path = "spec.resource";
  if (isKubeError(error, "Invalid", "BadRequest")) return invalidResource(messageOf(error));
  if (isKubeError(error, "Forbidden", "NamespaceTerminating"))
    return forbidden(path, `spec.resource is forbidden: ${messageOf(error)}`);
  const detail = `failed to dry-run validate spec.resource: ${messageOf(error)}`;
  return { path, type: "InternalError", detail };
}

function placedIn(resource: JsonObject, namespace: string): JsonObject {
  const { metadata } = resource;
  return { ...resource, metadata: { ...(isJsonObject(metadata) ? metadata : {}), namespace } };
}

export const resourceDistributionWebhooks: readonly Webhook[] = [
  kindWebhook("validating", resourceDistribution, { handler: validateResourceDistribution }),
];
