/** Which webhooks a request goes to. */
import { compileSelector, type Selector } from "../../kube/core/index.ts";
import { type Fields, isSelector, listAt, numberAt, objectsAt, textAt } from "../json.ts";
import type { Registry } from "../resources/registry.ts";
import type { GroupVersionKind, Served } from "../resources/resource.ts";
import type { Revision } from "../revision.ts";
import type { Review } from "./admission.ts";
import { type MatchCondition, matchConditionsOf } from "./match_conditions.ts";

/** One entry of a webhook configuration. */
export interface Webhook {
  readonly name: string;
  readonly raw: Fields;
  readonly clientConfig: unknown;
  readonly rules: readonly Rule[];
  readonly namespaceSelector: Selector;
  readonly objectSelector: Selector;
  readonly conditions: readonly MatchCondition[];
  readonly equivalent: boolean;
  readonly failurePolicy: string;
  readonly timeoutSeconds: number;
  readonly reinvocation: boolean;
  readonly sideEffects: string;
  readonly reviewVersion: string;
}

interface Rule {
  readonly operations: readonly unknown[];
  readonly groups: readonly unknown[];
  readonly versions: readonly unknown[];
  readonly scope: string;
  readonly resources: readonly { readonly plural: string; readonly subresource: string }[];
}

/** How the object is shown to the webhook. */
export interface View extends GroupVersionKind {
  readonly plural: string;
}

const compiled = new WeakMap<Revision, readonly Webhook[]>();

/** The webhooks of all configurations, ordered by configuration name. */
export function webhooksOf(registry: Registry, resource: string): readonly Webhook[] {
  const table = registry.resource(`${resource}.admissionregistration.k8s.io`)?.table;
  return (table?.list() ?? []).flatMap((revision) => {
    const known = compiled.get(revision);
    if (known !== undefined) return known;
    const made = objectsAt(revision.object, "webhooks").map(compile);
    compiled.set(revision, made);
    return made;
  });
}

/** Whether any webhook may want to know of anything. */
export function hasWebhooks(registry: Registry): boolean {
  return ["mutatingwebhookconfigurations", "validatingwebhookconfigurations"].some(
    (resource) => webhooksOf(registry, resource).length > 0,
  );
}

function compile(raw: Fields): Webhook {
  return {
    name: textAt(raw, "name"),
    raw,
    clientConfig: raw["clientConfig"],
    rules: objectsAt(raw, "rules").map(compileRule),
    namespaceSelector: selector(raw["namespaceSelector"]),
    objectSelector: selector(raw["objectSelector"]),
    conditions: matchConditionsOf(raw),
    equivalent: textAt(raw, "matchPolicy") !== "Exact",
    failurePolicy: textAt(raw, "failurePolicy") || "Fail",
    timeoutSeconds: numberAt(raw, "timeoutSeconds") ?? 10,
    reinvocation: textAt(raw, "reinvocationPolicy") === "IfNeeded",
    sideEffects: textAt(raw, "sideEffects"),
    reviewVersion: listAt(raw, "admissionReviewVersions").includes("v1") ? "v1" : "v1beta1",
  };
}

function compileRule(raw: Fields): Rule {
  return {
    operations: listAt(raw, "operations"),
    groups: listAt(raw, "apiGroups"),
    versions: listAt(raw, "apiVersions"),
    scope: textAt(raw, "scope") || "*",
    resources: listAt(raw, "resources").map((pattern) => {
      const [plural = "", subresource = ""] = String(pattern).split("/");
      return { plural, subresource };
    }),
  };
}

function selector(value: unknown): Selector {
  return compileSelector(isSelector(value) ? value : {});
}

/** Undefined where the webhook does not want the request, else the version that its rules name. */
export function matchedView(registry: Registry, webhook: Webhook, review: Review): View | undefined {
  const view = viewFor(registry, webhook, review);
  if (view === undefined) return undefined;
  return selectsNamespace(registry, webhook, review) && selectsObject(webhook, review) ? view : undefined;
}

function viewFor(registry: Registry, webhook: Webhook, review: Review): View | undefined {
  const { request } = review;
  const exact = ownView(review);
  if (rulesMatch(webhook, review, exact)) return exact;
  // Subresources with a kind of their own have no other version.
  if (!webhook.equivalent || review.kind !== undefined) return undefined;
  for (const served of registry.views(request.served.resource.name)) {
    const view = servedView(served);
    if (rulesMatch(webhook, review, view)) return view;
  }
  return undefined;
}

function servedView(served: Served): View {
  return { group: served.group, version: served.version, kind: served.kind, plural: served.plural };
}

/** The request as it came. */
export function ownView(review: Review): View {
  return servedView(review.request.served);
}

function rulesMatch(webhook: Webhook, review: Review, view: View): boolean {
  const { served, subresource } = review.request;
  const scope = served.resource.namespaced ? "Namespaced" : "Cluster";
  return webhook.rules.some(
    (rule) =>
      includes(rule.groups, view.group) &&
      includes(rule.operations, review.operation) &&
      includes(rule.versions, view.version) &&
      (rule.scope === "*" || rule.scope === scope) &&
      rule.resources.some(
        (wanted) =>
          (wanted.plural === "*" || wanted.plural === view.plural) &&
          (wanted.subresource === "*" || wanted.subresource === subresource),
      ),
  );
}

function includes(list: readonly unknown[], value: string): boolean {
  return list.includes(value) || list.includes("*");
}

function selectsNamespace(registry: Registry, webhook: Webhook, review: Review): boolean {
  if (webhook.namespaceSelector.empty) return true;
  const { served, namespace } = review.request;
  if (served.resource.name === "namespaces" && review.request.subresource === "") {
    const object = review.object ?? review.oldObject;
    return webhook.namespaceSelector.matches(object?.metadata.labels);
  }
  if (!served.resource.namespaced) return true;
  const found = registry.resource("namespaces")?.table.get("", namespace)?.object;
  return webhook.namespaceSelector.matches(found?.metadata.labels);
}

function selectsObject(webhook: Webhook, review: Review): boolean {
  if (webhook.objectSelector.empty) return true;
  return [review.object, review.oldObject].some(
    (object) => object !== undefined && webhook.objectSelector.matches(object.metadata.labels),
  );
}
