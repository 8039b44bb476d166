/** Which SidecarSets a new pod is injected with, and in which order. Spec: sidecarset 1, 4, 22. */
import {
  canaryAnnotation,
  canaryBaseAnnotation,
  namespaceNameLabel,
  type SidecarSet,
} from "../../../../crds/index.ts";
import {
  compareBytes,
  compileSelector,
  formatFieldErrors,
  type LabelSelector,
  type Labels,
  type Selector,
} from "../../../../kube/core/index.ts";
import { readSidecarSet } from "./sidecars.ts";

/** What is worked out once when a set changes, so that a pod that it does not match costs next to nothing. */
export interface CompiledSidecarSet {
  readonly name: string;
  readonly set: SidecarSet;
  readonly selector: Selector;
  /** Undefined: all namespaces. */
  readonly namespaceSelector: Selector | undefined;
  /** The only namespaces that can match, as far as the selector names them. */
  readonly namespaces: readonly string[] | undefined;
  /** The pods that get the newest sidecars while others get a revision. */
  readonly updateSelector: Selector | undefined;
  /** The set that this one stands in for. */
  readonly base: string | undefined;
  /** Why it cannot be injected; undefined where it can be. */
  readonly problem: string | undefined;
}

/** Undefined for a set that no pod gets: paused, or without a usable selector. */
export function compileSidecarSet(object: SidecarSet): CompiledSidecarSet | undefined {
  const found = readSidecarSet(object);
  const set = "errors" in found ? object : found;
  try {
    const { metadata, spec } = set;
    if (spec.injectionStrategy?.paused) return undefined;
    const selector = compileSelector(spec.selector);
    if (selector.empty) return undefined;
    const { annotations = {} } = metadata;
    const base = annotations[canaryAnnotation] === "true" ? annotations[canaryBaseAnnotation] : undefined;
    return {
      name: metadata.name ?? "",
      set,
      selector,
      namespaceSelector: compiled(spec.namespaceSelector),
      namespaces: namedNamespaces(spec.namespaceSelector),
      updateSelector: compiled(spec.updateStrategy?.selector),
      base: base === "" ? undefined : base,
      problem: "errors" in found ? formatFieldErrors(found.errors) : undefined,
    };
  } catch {
    // Stored while no webhook looked. Nobody can say which pods it is for: it must not keep any from being created.
    return undefined;
  }
}

function compiled(selector: LabelSelector | null | undefined): Selector | undefined {
  return selector === undefined || selector === null ? undefined : compileSelector(selector);
}

/** The only namespaces that can match; undefined: any may. */
export function namedNamespaces(selector: LabelSelector | null | undefined): readonly string[] | undefined {
  const named = selector?.matchLabels?.[namespaceNameLabel];
  if (named !== undefined) return [named];
  return selector?.matchExpressions?.find(
    ({ key, operator }) => key === namespaceNameLabel && operator === "In",
  )?.values;
}

/** Sets in the order of injection: those that name their namespaces first, then the rest; by name in both. */
export class SidecarSetOrder {
  readonly #everywhere: readonly CompiledSidecarSet[];
  readonly #byNamespace = new Map<string, CompiledSidecarSet[]>();

  constructor(sets: Iterable<CompiledSidecarSet>) {
    const sorted = [...sets].sort((left, right) => compareBytes(left.name, right.name));
    this.#everywhere = sorted.filter(({ namespaces }) => namespaces === undefined);
    for (const set of sorted) {
      for (const namespace of new Set(set.namespaces)) {
        const present = this.#byNamespace.get(namespace);
        if (present === undefined) this.#byNamespace.set(namespace, [set]);
        else present.push(set);
      }
    }
  }

  /** Those that select pods with these labels, whatever the labels of the namespace. */
  selecting(namespace: string, labels: Labels): CompiledSidecarSet[] {
    const found: CompiledSidecarSet[] = [];
    for (const set of this.#byNamespace.get(namespace) ?? [])
      if (set.selector.matches(labels)) found.push(set);
    for (const set of this.#everywhere) if (set.selector.matches(labels)) found.push(set);
    return found;
  }
}

/** Those of a namespace with these labels; undefined: a namespace that is not known, which only sets without a selector match. */
export function matchingNamespace(
  sets: readonly CompiledSidecarSet[],
  labels: Labels | undefined,
): CompiledSidecarSet[] {
  return sets.filter(
    ({ namespaceSelector }) =>
      namespaceSelector === undefined || (labels !== undefined && namespaceSelector.matches(labels)),
  );
}

/** Without the sets that a canary among them stands in for. */
export function withoutShadowed(sets: readonly CompiledSidecarSet[]): readonly CompiledSidecarSet[] {
  const bases = new Set(sets.map(({ base }) => base));
  return sets.filter(({ name }) => !bases.has(name));
}
