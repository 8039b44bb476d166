/** Decides what a user may do: by role-based access control, but for those groups and paths that need no role. */
import { goQuote } from "../../kube/core/index.ts";
import type { User } from "../writes/request.ts";
import { type Attributes, isResourceRequest } from "./attributes.ts";
import { type PolicyRule, ruleAllows } from "./policy_rules.ts";
import { type Binding, type RoleIndex, type RoleRef, subjectFor } from "./role_index.ts";

export interface Decision {
  readonly allowed: boolean;
  /** By what it is allowed, or what went wrong on the way to a refusal; may be empty. */
  readonly reason: string;
}

export interface GrantedRules {
  readonly rules: readonly PolicyRule[];
  /** Roles that bindings name and that do not exist. */
  readonly errors: readonly string[];
}

export interface Authorizer {
  authorize(attributes: Attributes): Decision;
  /** All rules for the user in the namespace and the whole cluster. */
  rulesFor(user: User, namespace: string): GrantedRules;
  /** Rules of a role that a binding in the namespace names; undefined where there is none. */
  rulesOf(ref: RoleRef, namespace: string): readonly PolicyRule[] | undefined;
}

export const privilegedGroup = "system:masters";
/** Everybody may read health. */
const openPaths: ReadonlySet<string> = new Set(["/healthz", "/livez", "/readyz"]);

export function roleAuthorizer(index: RoleIndex): Authorizer {
  return {
    authorize: (attributes) => authorize(index, attributes),
    rulesFor: (user, namespace) => rulesFor(index, user, namespace),
    rulesOf: (ref, namespace) => index.rulesOf(ref, namespace),
  };
}

function authorize(index: RoleIndex, attributes: Attributes): Decision {
  const { user } = attributes;
  if (user.groups.includes(privilegedGroup)) return { allowed: true, reason: "" };
  const isResource = isResourceRequest(attributes);
  if (!isResource && openPaths.has(attributes.path)) return { allowed: true, reason: "" };
  const errors: string[] = [];
  for (const { binding, rules } of index.grantsOf(user, isResource ? attributes.namespace : "")) {
    if (rules === undefined) errors.push(missingRole(binding));
    else if (rules.some((rule) => ruleAllows(rule, attributes))) {
      return { allowed: true, reason: `RBAC: allowed by ${describe(binding, user)}` };
    }
  }
  return { allowed: false, reason: errors.length === 0 ? "" : `RBAC: ${aggregated(errors)}` };
}

function rulesFor(index: RoleIndex, user: User, namespace: string): GrantedRules {
  const granted: PolicyRule[] = [];
  const errors: string[] = [];
  for (const { binding, rules } of index.grantsOf(user, namespace)) {
    if (rules === undefined) errors.push(missingRole(binding));
    else granted.push(...rules);
  }
  return { rules: granted, errors };
}

function missingRole({ roleRef: { kind, name } }: Binding): string {
  if (kind !== "Role" && kind !== "ClusterRole") return `unsupported role reference kind: ${goQuote(kind)}`;
  return `${kind.toLowerCase()}.rbac.authorization.k8s.io ${goQuote(name)} not found`;
}

/** Several errors as one, equal ones once. */
export function aggregated(errors: readonly string[]): string {
  const different = [...new Set(errors)];
  return different.length === 1 ? (different[0] ?? "") : `[${different.join(", ")}]`;
}

function describe(binding: Binding, user: User): string {
  const { namespace, name, roleRef } = binding;
  const what =
    namespace === ""
      ? `ClusterRoleBinding ${goQuote(name)}`
      : `RoleBinding ${goQuote(`${name}/${namespace}`)}`;
  return `${what} of ${roleRef.kind} ${goQuote(roleRef.name)} to ${subjectFor(binding, user)}`;
}
