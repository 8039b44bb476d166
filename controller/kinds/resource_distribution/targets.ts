/** Which namespaces a distribution is for. Pure. Spec: resourcedistribution 4.1. */
import { listedNamespaces, type ResourceDistributionSpec } from "../../../crds/index.ts";
import { compileSelector, type Labels } from "../../../kube/core/index.ts";

export interface Targets {
  /** `labels`: of the namespace; undefined where there is none of this name. */
  includes(namespace: string, labels: Labels | undefined): boolean;
  /** Namespaces that are targets whether they exist or not. */
  readonly listed: readonly string[];
}

/** Rule 2. */
const systemNamespaces = ["kube-system", "kube-public"];

/** Throws ParseError for a selector that no admission would have let through. */
export function targetsOf({ targets }: Pick<ResourceDistributionSpec, "targets">): Targets {
  const { allNamespaces = false, includedNamespaces, excludedNamespaces, namespaceSelector } = targets;
  const excluded = new Set([...systemNamespaces, ...listedNamespaces(excludedNamespaces)]);
  // Rule 3: all of them makes the list meaningless, names of missing ones included.
  const names = allNamespaces ? [] : listedNamespaces(includedNamespaces);
  const listed = new Set(names.filter((name) => name !== "" && !excluded.has(name)));
  const selector = compileSelector(namespaceSelector);
  return {
    listed: [...listed],
    includes(namespace, labels) {
      if (excluded.has(namespace)) return false;
      if (listed.has(namespace)) return true;
      if (labels === undefined) return false;
      return allNamespaces || (!selector.empty && selector.matches(labels));
    },
  };
}
