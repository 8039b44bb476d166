/** Admission by webhooks: AdmissionReview v1 over HTTPS, mutating ones in turn, validating ones together. */
import { applyJsonPatch, cloneJson, type JsonPatchOperation, jsonEqual } from "../../kube/core/index.ts";
import type { StoredObject } from "../cluster.ts";
import { decodeCustom } from "../crd/decode.ts";
import type { FaultTarget } from "../faults.ts";
import { ApiError, badRequest, internalError } from "../http/api_error.ts";
import { asObject, type Fields, isFields, listAt, numberAt, textAt, valueAt } from "../json.ts";
import { randomUid } from "../random.ts";
import { normalize } from "../resources/normal_form.ts";
import { apiVersionOf } from "../resources/resource.ts";
import { decodeTyped } from "../resources/typed.ts";
import { WebhookError } from "../webhooks.ts";
import type { World } from "../world.ts";
import { convertObject } from "../writes/working.ts";
import type { Admission, Review } from "./admission.ts";
import { conditionsHold } from "./match_conditions.ts";
import { matchedView, ownView, type View, type Webhook, webhooksOf } from "./matching.ts";

const configurations = /^(mutating|validating)webhookconfigurations\.admissionregistration\.k8s\.io$/;

type AdmissionParts = Pick<World, "registry" | "random" | "webhooks" | "log" | "faults">;

export function webhookAdmission(parts: AdmissionParts): Admission {
  return { mutate: (review) => mutate(parts, review), validate: (review) => validate(parts, review) };
}

async function mutate(
  parts: AdmissionParts,
  review: Review & { readonly object: StoredObject },
): Promise<StoredObject> {
  // Nobody can lock themselves out of the webhook configurations.
  if (configurations.test(review.request.served.resource.name)) return review.object;
  const webhooks = webhooksOf(parts.registry, "mutatingwebhookconfigurations");
  let object = review.object;
  const results: { webhook: Webhook; after: StoredObject }[] = [];
  for (const webhook of webhooks) {
    const shown = { ...review, object };
    const view = matchedView(parts.registry, webhook, shown);
    // Most are asked about other kinds: nothing waits for them.
    if (view === undefined) continue;
    const called = await mutateBy(parts, webhook, shown, view);
    if (called === undefined) continue;
    object = called;
    results.push({ webhook, after: called });
  }
  for (const { webhook, after } of results) {
    const isStruck = parts.faults.strike("reinvoke", faultTarget(webhook)) !== undefined;
    if (!isStruck && (!webhook.reinvocation || jsonEqual(after, object))) continue;
    const shown = { ...review, object };
    const view = matchedView(parts.registry, webhook, shown);
    if (view !== undefined) object = (await mutateBy(parts, webhook, shown, view)) ?? object;
  }
  return object;
}

/** Undefined when the webhook was not asked. */
async function mutateBy(
  parts: AdmissionParts,
  webhook: Webhook,
  review: Review & { readonly object: StoredObject },
  view: View,
): Promise<StoredObject | undefined> {
  if (!(await passesConditions(webhook, review, view))) return undefined;
  const response = await ask(parts, webhook, review, view);
  if (response === undefined) return review.object;
  const patch = textAt(response, "patch");
  if (patch === "") return review.object;
  return patched(webhook, review, view, patch);
}

async function patched(
  webhook: Webhook,
  review: Review & { readonly object: StoredObject },
  view: View,
  patch: string,
): Promise<StoredObject> {
  const { served } = review.request;
  const shown = await shownObject(review, review.object, view);
  const before = review.object.apiVersion ?? "";
  let changed: Fields;
  try {
    const operations: unknown = JSON.parse(Buffer.from(patch, "base64").toString());
    changed = applyJsonPatch(shown ?? {}, isOperations(operations) ? operations : []);
  } catch (error) {
    throw internalError(error instanceof Error ? error.message : String(error));
  }
  const typed = served.resource.custom
    ? decodeCustom(changed, served.shape)
    : decodeTyped(changed, served.shape);
  const object = asObject(typed.object);
  if (object === undefined)
    throw internalError(`admission webhook ${JSON.stringify(webhook.name)} removed the metadata`);
  object.apiVersion = shown?.apiVersion ?? before;
  object.kind = served.kind;
  if (!served.resource.custom) normalize(object);
  return review.kind === undefined ? convertObject(object, served, before) : review.object;
}

function isOperations(value: unknown): value is JsonPatchOperation[] {
  return Array.isArray(value) && value.every((item) => isFields(item) && typeof item["op"] === "string");
}

async function validate(parts: AdmissionParts, review: Review): Promise<void> {
  if (configurations.test(review.request.served.resource.name)) return;
  const webhooks = webhooksOf(parts.registry, "validatingwebhookconfigurations");
  const wanted: { webhook: Webhook; view: View }[] = [];
  for (const webhook of webhooks) {
    const view = matchedView(parts.registry, webhook, review);
    if (view === undefined || !(await passesConditions(webhook, review, view))) continue;
    wanted.push({ webhook, view });
  }
  if (wanted.length === 0) return;
  const results = await Promise.allSettled(
    wanted.map(({ webhook, view }) => ask(parts, webhook, review, view)),
  );
  for (const result of results) if (result.status === "rejected") throw result.reason;
}

/** The response of an allowing webhook; undefined when a failed call is ignored. Throws refusals. */
async function ask(parts: AdmissionParts, webhook: Webhook, review: Review, view: View): Promise<unknown> {
  if (review.request.dryRun && webhook.sideEffects !== "None" && webhook.sideEffects !== "NoneOnDryRun") {
    throw badRequest(`admission webhook ${JSON.stringify(webhook.name)} does not support dry run`);
  }
  const uid = randomUid(parts.random);
  const body = await reviewBody(review, webhook, view, uid);
  let answer: unknown;
  try {
    const call = (): Promise<unknown> =>
      parts.webhooks.call(webhook.name, webhook.clientConfig, body, webhook.timeoutSeconds);
    const retry = parts.faults.strike("retry", faultTarget(webhook));
    if (retry !== undefined) {
      const lost = call().catch(() => undefined);
      if (retry.when === "after") await lost;
    }
    answer = await call();
    const response = valueAt(answer, "response");
    if (!isFields(response)) throw new WebhookError("webhook response was absent");
    if (textAt(response, "uid") !== uid) {
      throw new WebhookError(
        `expected response.uid=${JSON.stringify(uid)}, got ${JSON.stringify(textAt(response, "uid"))}`,
      );
    }
  } catch (error) {
    if (!(error instanceof WebhookError)) throw error;
    if (webhook.failurePolicy === "Ignore") {
      parts.log("a webhook failed and is ignored", { webhook: webhook.name, error: error.message });
      return undefined;
    }
    throw internalError(
      `failed calling webhook ${JSON.stringify(webhook.name)}: failed to call webhook: ${error.message}`,
    );
  }
  const response = valueAt(answer, "response");
  for (const warning of listAt(response, "warnings")) review.request.warnings.push(String(warning));
  if (valueAt(response, "allowed") !== true) throw denied(webhook.name, valueAt(response, "status"));
  return response;
}

function faultTarget({ name }: Webhook): FaultTarget {
  return { verb: "webhook", resource: name, namespace: "", name, userAgent: "" };
}

function denied(name: string, status: unknown): ApiError {
  const by = `admission webhook ${JSON.stringify(name)} denied the request`;
  const reason = textAt(status, "reason");
  const why = textAt(status, "message") || reason;
  const code = numberAt(status, "code") ?? 0;
  const details = valueAt(status, "details");
  return new ApiError(
    code < 400 ? 400 : code,
    reason,
    why === "" ? `${by} without explanation` : `${by}: ${why}`,
    isFields(details) ? details : undefined,
  );
}

async function shownObject(
  review: Review,
  object: StoredObject | undefined,
  view: View,
): Promise<StoredObject | undefined> {
  if (object === undefined || review.kind !== undefined) return object;
  return convertObject(object, review.request.served, apiVersionOf(view.group, view.version));
}

/** Throws 403 when nobody can tell. */
async function passesConditions(webhook: Webhook, review: Review, view: View): Promise<boolean> {
  if (webhook.conditions.length === 0) return true;
  const object = await shownObject(review, review.object, view);
  const oldObject = await shownObject(review, review.oldObject, view);
  const request = requestFields(review, view);
  const variables = { object: object ?? null, oldObject: oldObject ?? null, request };
  return conditionsHold(webhook.conditions, variables, review, webhook.failurePolicy);
}

/** The request without the objects. */
function requestFields(review: Review, view: View): Fields {
  const { request, operation } = review;
  const own = ownView(review);
  const kindOf = (of: View): Fields => {
    const { group, version, kind } = review.kind ?? of;
    return { group, version, kind };
  };
  const resourceOf = (of: View): Fields => ({ group: of.group, version: of.version, resource: of.plural });
  const below = request.subresource;
  return {
    kind: kindOf(view),
    resource: resourceOf(view),
    ...(below === "" ? {} : { subResource: below }),
    requestKind: kindOf(own),
    requestResource: resourceOf(own),
    ...(below === "" ? {} : { requestSubResource: below }),
    ...(request.name === "" ? {} : { name: request.name }),
    ...(request.namespace === "" ? {} : { namespace: request.namespace }),
    operation,
    userInfo: cloneJson({ ...request.user }),
    dryRun: request.dryRun,
    options: Object.keys(request.options).length === 0 ? null : request.options,
  };
}

async function reviewBody(review: Review, webhook: Webhook, view: View, uid: string): Promise<Fields> {
  const object = await shownObject(review, review.object, view);
  const oldObject = await shownObject(review, review.oldObject, view);
  const shown = { object: object ?? null, oldObject: oldObject ?? null };
  return {
    kind: "AdmissionReview",
    apiVersion: `admission.k8s.io/${webhook.reviewVersion}`,
    request: { uid, ...requestFields(review, view), ...shown },
  };
}
