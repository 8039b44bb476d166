/** Conflicts between SidecarSets that may select the same pod. Spec: sidecarset 6, end. */
import {
  compileSelector,
  type FieldError,
  invalid,
  type LabelSelector,
  ParseError,
  type Selector,
} from "../../kube/core/index.ts";
import { requirementsByKey, requirementsIntersect } from "../pod_unavailable_budget/selector_overlap.ts";
import { sameAsTyped } from "../typed_equality.ts";
import { canaryBase } from "./canary.ts";
import { podContainerNames, type SidecarList } from "./hot_upgrade.ts";
import type { SidecarSet, SidecarSetSpec } from "./schema.ts";

type Overlapping = Pick<SidecarSet, "metadata" | "spec">;

/** What `next` has in common with each of the others that it must not. A canary and its base share everything. */
export function sidecarSetConflicts(next: Overlapping, others: readonly SidecarSet[]): FieldError[] {
  const name = next.metadata.name ?? "";
  return others.flatMap((other) => {
    const otherName = other.metadata.name ?? "";
    if (otherName === name || canaryBase(next.metadata) === otherName || canaryBase(other.metadata) === name)
      return [];
    return mayShareAPod(next.spec, other.spec) ? conflictsWith(next.spec, other.spec, otherName) : [];
  });
}

function conflictsWith(next: SidecarSetSpec, other: SidecarSetSpec, otherName: string): FieldError[] {
  return [
    ...containerConflicts("initContainers", next, other, otherName),
    ...containerConflicts("containers", next, other, otherName),
    ...volumeConflicts(next, other, otherName),
    ...annotationConflicts(next, other, otherName),
  ];
}

/** In the sets, or in a pod that gets the sidecars of both: HotUpgrade gives its containers names of its own. */
function containerConflicts(
  list: SidecarList,
  { [list]: next = [] }: SidecarSetSpec,
  { [list]: other = [] }: SidecarSetSpec,
  otherName: string,
): FieldError[] {
  const names = new Set(other.map(({ name }) => name));
  const made = new Set(other.flatMap((one) => podContainerNames(one, list)));
  return next.flatMap((container) => {
    const taken = names.has(container.name)
      ? container.name
      : podContainerNames(container, list).find((name) => made.has(name));
    if (taken === undefined) return [];
    return [invalid("spec.containers", container.name, `container ${taken} already exist in ${otherName}`)];
  });
}

function volumeConflicts(next: SidecarSetSpec, other: SidecarSetSpec, otherName: string): FieldError[] {
  const taken = new Map((other.volumes ?? []).map((volume) => [volume.name, volume]));
  return (next.volumes ?? []).flatMap((volume) => {
    const theirs = taken.get(volume.name);
    if (theirs === undefined || sameAsTyped(theirs, volume, "Volume")) return [];
    const words = `volume ${volume.name} is in conflict with sidecarset ${otherName}`;
    return [invalid("spec.volumes", volume.name, words)];
  });
}

/** Whoever retains what is there conflicts with nobody; merged values live side by side. */
function annotationConflicts(next: SidecarSetSpec, other: SidecarSetSpec, otherName: string): FieldError[] {
  const taken = policiesByKey(other);
  return [...policiesByKey(next)].flatMap(([key, policy]) => {
    const theirs = taken.get(key);
    if (theirs === undefined || (policy === "MergePatchJson" && theirs === "MergePatchJson")) return [];
    const words = `annotation ${key} is in conflict with sidecarset ${otherName}`;
    return [invalid("spec.patchPodMetadata", key, words)];
  });
}

function policiesByKey({ patchPodMetadata }: SidecarSetSpec): Map<string, string> {
  const policies = new Map<string, string>();
  for (const { annotations, patchPolicy } of patchPodMetadata ?? []) {
    if (!patchPolicy || patchPolicy === "Retain") continue;
    for (const key of Object.keys(annotations ?? {})) policies.set(key, patchPolicy);
  }
  return policies;
}

function mayShareAPod(a: SidecarSetSpec, b: SidecarSetSpec): boolean {
  if (!a.selector || !b.selector || !selectorsMayOverlap(a.selector, b.selector)) return false;
  if (!a.namespaceSelector || !b.namespaceSelector) return true;
  return selectorsMayOverlap(a.namespaceSelector, b.namespaceSelector);
}

/**
 * False where one key shows that no object matches both. The reference also lets `Exists` prove that, where the other
 * selector wants no value of the key. A stored selector that cannot be read matches nothing.
 */
export function selectorsMayOverlap(a: LabelSelector, b: LabelSelector): boolean {
  try {
    const [left, right] = [compileSelector(a), compileSelector(b)];
    return sharedKeysIntersect(left, right) && existsOverlaps(left, right) && existsOverlaps(right, left);
  } catch (error) {
    if (error instanceof ParseError) return false;
    throw error;
  }
}

function sharedKeysIntersect(a: Selector, b: Selector): boolean {
  const theirs = requirementsByKey(b);
  return a.requirements.every((one) =>
    (theirs.get(one.key) ?? []).every((other) => requirementsIntersect(one, other)),
  );
}

function existsOverlaps(a: Selector, b: Selector): boolean {
  const wanted = new Set(
    b.requirements
      .filter(({ operator }) => operator === "=" || operator === "in" || operator === "exists")
      .map(({ key }) => key),
  );
  return a.requirements.every(({ operator, key }) => operator !== "exists" || wanted.has(key));
}
