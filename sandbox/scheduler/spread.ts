/**
 * Rules between pods: topology spread, (anti-)affinity. For each selector that some pod asks about, the number of
 * matching pods on every node is counted once and then kept up to date, so that one more pod costs O(nodes).
 */
import { compileSelector, type LabelSelector, type Selector } from "../../kube/core/index.ts";
import type { PodAffinityTerm, PodObject } from "../objects/index.ts";
import type { NodeState } from "./node_state.ts";

interface MatchingPods {
  readonly namespaces: ReadonlySet<string>;
  readonly selector: Selector;
  /** Node name -> matching pods that are bound there and not being deleted. */
  readonly onNode: Map<string, number>;
}

const mostSelectors = 256;

export class PodCounts {
  readonly #bySelector = new Map<string, MatchingPods>();
  readonly #bound: () => Iterable<PodObject>;

  /** `bound`: all pods on nodes; walked once for a selector that is new. */
  constructor(bound: () => Iterable<PodObject>) {
    this.#bound = bound;
  }

  /** A pod was bound (1) or has left its node (-1). */
  count(pod: PodObject, node: string, sign: 1 | -1): void {
    for (const matching of this.#bySelector.values()) {
      if (!includes(matching, pod)) continue;
      matching.onNode.set(node, (matching.onNode.get(node) ?? 0) + sign);
    }
  }

  onNodes(
    pod: PodObject,
    selector: LabelSelector | undefined,
    namespaces?: readonly string[],
  ): ReadonlyMap<string, number> {
    const where = namespaces && namespaces.length > 0 ? namespaces : [pod.metadata.namespace ?? ""];
    const key = JSON.stringify([where, selector]);
    const known = this.#bySelector.get(key);
    if (known) return known.onNode;
    if (this.#bySelector.size >= mostSelectors) this.#bySelector.clear();
    const matching: MatchingPods = {
      namespaces: new Set(where),
      selector: compileSelector(selector),
      onNode: new Map(),
    };
    for (const other of this.#bound()) {
      const node = other.spec.nodeName ?? "";
      if (includes(matching, other)) matching.onNode.set(node, (matching.onNode.get(node) ?? 0) + 1);
    }
    this.#bySelector.set(key, matching);
    return matching.onNode;
  }
}

function includes(matching: MatchingPods, pod: PodObject): boolean {
  return (
    matching.namespaces.has(pod.metadata.namespace ?? "") && matching.selector.matches(pod.metadata.labels)
  );
}

/** Refuses or grades nodes for one pod by where other pods are. */
interface SpreadRules {
  /** The scheduler's reason against a node; undefined when there is none. */
  unfitReason(node: NodeState): string | undefined;
  score(node: NodeState): number;
}

export function spreadRules(
  pod: PodObject,
  nodes: Iterable<NodeState>,
  counts: PodCounts,
): SpreadRules | undefined {
  const constraints = pod.spec.topologySpreadConstraints ?? [];
  const apart = pod.spec.affinity?.podAntiAffinity?.requiredDuringSchedulingIgnoredDuringExecution ?? [];
  const together = pod.spec.affinity?.podAffinity?.requiredDuringSchedulingIgnoredDuringExecution ?? [];
  if (constraints.length + apart.length + together.length === 0) return undefined;
  const all = [...nodes];
  const byDomain = (topologyKey: string, counts: ReadonlyMap<string, number>): Map<string, number> => {
    const domains = new Map<string, number>();
    for (const node of all) {
      const domain = node.labels[topologyKey];
      if (domain !== undefined)
        domains.set(domain, (domains.get(domain) ?? 0) + (counts.get(node.name) ?? 0));
    }
    return domains;
  };
  const spreads = constraints.map((constraint) => {
    const domains = byDomain(constraint.topologyKey, counts.onNodes(pod, constraint.labelSelector));
    return { ...constraint, domains, least: Math.min(...domains.values()) };
  });
  const domainsOf = (term: PodAffinityTerm) => ({
    key: term.topologyKey,
    domains: byDomain(term.topologyKey, counts.onNodes(pod, term.labelSelector, term.namespaces)),
  });
  return rulesFrom(
    pod,
    spreads,
    apart.map(domainsOf),
    together.map((term) => ({ ...domainsOf(term), term })),
  );
}

interface Domains {
  readonly key: string;
  readonly domains: ReadonlyMap<string, number>;
}

function rulesFrom(
  pod: PodObject,
  spreads: readonly {
    topologyKey: string;
    maxSkew: number;
    whenUnsatisfiable: string;
    domains: Map<string, number>;
    least: number;
  }[],
  apart: readonly Domains[],
  together: readonly (Domains & { term: PodAffinityTerm })[],
): SpreadRules {
  const count = ({ key, domains }: Domains, node: NodeState): number =>
    domains.get(node.labels[key] ?? "") ?? 0;
  return {
    unfitReason(node) {
      for (const spread of spreads) {
        if (spread.whenUnsatisfiable !== "DoNotSchedule") continue;
        const domain = node.labels[spread.topologyKey];
        if (domain === undefined)
          return "node(s) didn't match pod topology spread constraints (missing required label)";
        if ((spread.domains.get(domain) ?? 0) + 1 - spread.least > spread.maxSkew) {
          return "node(s) didn't match pod topology spread constraints";
        }
      }
      if (apart.some((domains) => count(domains, node) > 0))
        return "node(s) didn't match pod anti-affinity rules";
      for (const domains of together) {
        // The first pod of a group that asks for its own company may go anywhere.
        const alone = [...domains.domains.values()].every((pods) => pods === 0);
        const own = alone && compileSelector(domains.term.labelSelector).matches(pod.metadata.labels);
        if (count(domains, node) === 0 && !own) return "node(s) didn't match pod affinity rules";
      }
      return undefined;
    },
    score(node) {
      let score = 0;
      for (const spread of spreads) {
        const pods = spread.domains.get(node.labels[spread.topologyKey] ?? "") ?? 0;
        score -= 100 * (pods - spread.least);
      }
      return score;
    },
  };
}
