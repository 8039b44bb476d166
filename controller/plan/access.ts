/** Rules of RBAC, as a controller declares what it needs. */

export interface PolicyRule {
  readonly apiGroups: readonly string[];
  readonly resources: readonly string[];
  readonly verbs: readonly string[];
  readonly resourceNames?: readonly string[];
}

/** What a watch and its cache need. */
export const readVerbs = ["get", "list", "watch"] as const;

export function policyRule(
  group: string,
  resources: readonly string[],
  verbs: readonly string[],
  resourceNames?: readonly string[],
): PolicyRule {
  const base = { apiGroups: [group], resources, verbs };
  return resourceNames === undefined ? base : { ...base, resourceNames };
}
