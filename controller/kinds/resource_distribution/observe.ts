/** What a plan of a ResourceDistribution sees: namespaces, and the objects in them that have the name of its copies. */
import { keyOf } from "../../../kube/core/index.ts";
import type { Namespace, Reader } from "../../../kube/index.ts";
import type { ObjectSelection } from "../../runtime/selected_objects.ts";
import type { Copy } from "./copies.ts";
import type { ObservedNamespace, ParsedDistribution, Source } from "./plan.ts";

export type ReadNamespaces = Pick<Reader<Namespace>, "get" | "values">;
/** `none`: the distribution has nothing that could be copied. */
export type ReadCopies = Pick<Reader<Copy>, "get" | "values"> | "none";

/** Objects of the copies' name in all namespaces. */
export function copiesOf({ name }: Source): ObjectSelection {
  return { namespace: "", labels: "all", fields: `metadata.name=${name}` };
}

/** Namespaces that exist. */
export function targetsIn({ targets }: ParsedDistribution, namespaces: ReadNamespaces): string[] {
  return [...namespaces.values()]
    .filter(({ name, labels }) => targets.includes(name, labels))
    .map(({ name }) => name);
}

/** Names of all namespaces that may be targets or hold a copy. */
export function namespacesOf(
  wanted: ParsedDistribution,
  namespaces: ReadNamespaces,
  copies: ReadCopies,
): Set<string> {
  const holding = copies === "none" ? [] : Array.from(copies.values(), ({ namespace }) => namespace);
  return new Set([...targetsIn(wanted, namespaces), ...holding, ...wanted.targets.listed]);
}

/** `copy`: what is there under the name of the copies. */
export function observedNamespace(
  name: string,
  namespaces: Pick<ReadNamespaces, "get">,
  copy: Copy | undefined,
): ObservedNamespace {
  const found = namespaces.get(name);
  const namespace = found && { labels: found.labels, deleting: found.deletionAt !== undefined };
  return { name, namespace, copy };
}

export function copyIn(
  { source }: ParsedDistribution,
  copies: ReadCopies,
  namespace: string,
): Copy | undefined {
  if (copies === "none" || "problem" in source) return undefined;
  return copies.get(keyOf({ namespace, name: source.name }));
}

/** Of all namespaces at once, by name; a controller looks at those that have changed. */
export function observeResourceDistribution(
  wanted: ParsedDistribution,
  namespaces: ReadNamespaces,
  copies: ReadCopies,
): ObservedNamespace[] {
  return [...namespacesOf(wanted, namespaces, copies)]
    .sort()
    .map((name) => observedNamespace(name, namespaces, copyIn(wanted, copies, name)));
}
