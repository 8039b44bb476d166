/** Nobody gives away rights that they do not have: who writes a role holds its rules, or may escalate or bind. */
import { goQuote, jsonEqual } from "../../kube/core/index.ts";
import type { StoredObject } from "../cluster.ts";
import { ApiError, forbidden, notFound } from "../http/api_error.ts";
import { objectsAt, textAt } from "../json.ts";
import type { User, WriteRequest } from "../writes/request.ts";
import type { ResourceAttributes } from "./attributes.ts";
import { type Authorizer, aggregated, privilegedGroup } from "./authorizer.ts";
import { goQuotes, missingRights, type PolicyRule, rightCount, rulesOf } from "./policy_rules.ts";

const rbac = "rbac.authorization.k8s.io";

/** So many rights of one role are compared; a small body can name a great many more. */
const rightLimit = 20_000;

const everything: readonly PolicyRule[] = [
  { verbs: ["*"], apiGroups: ["*"], resources: ["*"], resourceNames: [], nonResourceURLs: [] },
  { verbs: ["*"], apiGroups: [], resources: [], resourceNames: [], nonResourceURLs: ["*"] },
];

/**
 * Throws 403 when writing this role or binding would grant what the user does not have; every other write passes.
 * `current` is undefined at creation.
 */
export function checkEscalation(
  authorizer: Authorizer,
  request: WriteRequest,
  object: StoredObject,
  current: StoredObject | undefined,
): void {
  if (request.served.group !== rbac || request.user.groups.includes(privilegedGroup)) return;
  if (current !== undefined && onlyReleases(object, current)) return;
  if (request.served.plural.endsWith("bindings")) checkBinding(authorizer, request, object);
  else checkRole(authorizer, request, object, current);
}

/** Owner references and finalizers may change without these rights, so that objects can be collected. */
function onlyReleases(object: StoredObject, current: StoredObject): boolean {
  return jsonEqual(withoutOwners(object), withoutOwners(current));
}

function withoutOwners(object: StoredObject): unknown {
  const {
    ownerReferences: _owners,
    finalizers: _finalizers,
    managedFields: _fields,
    ...metadata
  } = object.metadata;
  return { ...object, metadata };
}

function checkRole(
  authorizer: Authorizer,
  request: WriteRequest,
  object: StoredObject,
  current: StoredObject | undefined,
): void {
  const { served, user, namespace } = request;
  // The path of a creation names no object.
  const name = current === undefined ? "" : request.name;
  if (may(authorizer, request, { verb: "escalate", group: rbac, resource: served.plural, name })) return;
  checkHeld(authorizer, request, rulesOf(object));
  if (!aggregates(object) && !(current !== undefined && aggregates(current))) return;
  if (missingRights(authorizer.rulesFor(user, namespace).rules, everything).length > 0) {
    throw forbidden(served, request.name, "must have cluster-admin privileges to use the aggregationRule");
  }
}

function may(
  authorizer: Authorizer,
  { user, namespace }: WriteRequest,
  what: Pick<ResourceAttributes, "verb" | "group" | "resource" | "name">,
): boolean {
  return authorizer.authorize({ user, namespace, subresource: "", ...what }).allowed;
}

function aggregates(role: StoredObject): boolean {
  const { aggregationRule } = role;
  return objectsAt(aggregationRule, "clusterRoleSelectors").length > 0;
}

function checkBinding(authorizer: Authorizer, request: WriteRequest, object: StoredObject): void {
  const ref = { kind: textAt(object, "roleRef", "kind"), name: textAt(object, "roleRef", "name") };
  const resource = ref.kind === "ClusterRole" ? "clusterroles" : "roles";
  const group = textAt(object, "roleRef", "apiGroup");
  if (may(authorizer, request, { verb: "bind", group, resource, name: ref.name })) return;
  const rules = authorizer.rulesOf(ref, request.namespace);
  if (rules === undefined) throw notFound(request.served, ref.name);
  checkHeld(authorizer, request, rules);
}

function checkHeld(authorizer: Authorizer, request: WriteRequest, wanted: readonly PolicyRule[]): void {
  const { served, user, namespace, name } = request;
  if (rightCount(wanted) > rightLimit) {
    const message = `a role of more than ${rightLimit} single rights can only be granted by those who may escalate or bind it`;
    throw new ApiError(413, "RequestEntityTooLarge", message);
  }
  const { rules, errors } = authorizer.rulesFor(user, namespace);
  const missing = missingRights(rules, wanted);
  if (missing.length === 0) return;
  throw forbidden(served, name, `${attempt(user)}:\n${missing.join("\n")}${resolutionErrors(errors)}`);
}

function attempt({ username, groups }: User): string {
  return `user ${goQuote(username)} (groups=${goQuotes(groups)}) is attempting to grant RBAC permissions not currently held`;
}

function resolutionErrors(errors: readonly string[]): string {
  return errors.length === 0 ? "" : `; resolution errors: [${aggregated(errors)}]`;
}
