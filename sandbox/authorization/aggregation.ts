/** ClusterRoles with an aggregation rule hold the rules of all others that it selects. */
import { compareBytes, compileSelector, jsonEqual } from "../../kube/core/index.ts";
import type { Cluster, StoredObject } from "../cluster.ts";
import { isSelector, objectsAt } from "../json.ts";

const resource = "clusterroles.rbac.authorization.k8s.io";

/** Brings aggregated roles up to date now and after each change of a ClusterRole; returns what ends that. */
export function startRoleAggregation(cluster: Cluster): () => void {
  const own = new WeakSet<StoredObject>();
  const aggregate = (): void => {
    // Roles can aggregate aggregated ones; with a round for each the longest chain has come to its end.
    const rounds = [...cluster.list(resource)].filter(isAggregated).length;
    for (let round = 0; round < rounds && aggregateOnce(cluster, own); round++);
  };
  aggregate();
  return cluster.subscribe(resource, ({ object }) => {
    // Roles that aggregate each other in a ring would go on for ever.
    if (!own.has(object)) aggregate();
  });
}

/** False when all were up to date. */
function aggregateOnce(cluster: Cluster, own: WeakSet<StoredObject>): boolean {
  let changed = false;
  for (const role of [...cluster.list(resource)].filter(isAggregated)) {
    const { name = "" } = role.metadata;
    const rules = aggregatedRules(role, cluster.list(resource));
    if (jsonEqual(rules, role["rules"] ?? [])) continue;
    changed = true;
    cluster.update(resource, { name }, (draft) => {
      draft["rules"] = rules;
      own.add(draft);
    });
  }
  return changed;
}

function isAggregated(role: StoredObject): boolean {
  return role["aggregationRule"] !== undefined;
}

/** Rules of the selected roles: selector by selector, in the order of names, equal ones once. */
export function aggregatedRules(role: StoredObject, others: Iterable<StoredObject>): unknown[] {
  const rules = new Map<string, unknown>();
  const candidates = [...others]
    .filter(({ metadata }) => metadata.name !== role.metadata.name)
    .sort((left, right) => compareBytes(left.metadata.name ?? "", right.metadata.name ?? ""));
  for (const selector of objectsAt(role["aggregationRule"], "clusterRoleSelectors").filter(isSelector)) {
    const { matches } = compileSelector(selector);
    for (const candidate of candidates.filter(({ metadata }) => matches(metadata.labels))) {
      for (const rule of objectsAt(candidate, "rules")) rules.set(JSON.stringify(rule), rule);
    }
  }
  return [...rules.values()];
}
