/** Reading stored objects, whose shape nobody promises. */
import type { StoredObject } from "../../sandbox/index.ts";

export function at(value: unknown, ...path: readonly string[]): unknown {
  let found = value;
  for (const name of path) {
    if (typeof found !== "object" || found === null) return undefined;
    found = Reflect.get(found, name);
  }
  return found;
}

export function numberAt(value: unknown, ...path: readonly string[]): number {
  const found = at(value, ...path);
  return typeof found === "number" ? found : 0;
}

export function textAt(value: unknown, ...path: readonly string[]): string {
  const found = at(value, ...path);
  return typeof found === "string" ? found : "";
}

export function listAt(value: unknown, ...path: readonly string[]): readonly unknown[] {
  const found = at(value, ...path);
  return Array.isArray(found) ? found : [];
}

/** A number, or that share of `total`, rounded `up` or down. Absent: `absent`. */
export function amountAt(
  value: unknown,
  path: readonly string[],
  total: number,
  round: (share: number) => number,
  absent: number,
): number {
  const found = at(value, ...path);
  if (typeof found === "number") return found;
  if (typeof found === "string" && found.endsWith("%"))
    return round((Number.parseFloat(found) * total) / 100);
  return absent;
}

export function controllerOf({
  metadata,
}: StoredObject): { uid: string; kind: string; name: string } | undefined {
  return metadata.ownerReferences?.find(({ controller }) => controller === true);
}

export function conditionIs(object: StoredObject, type: string, status: string): boolean {
  return conditionOf(object, type)?.status === status;
}

/** `since`: milliseconds since the epoch. */
export function conditionOf(
  object: StoredObject,
  type: string,
): { status: string; since: number } | undefined {
  const found = listAt(object, "status", "conditions").find(
    (condition) => textAt(condition, "type") === type,
  );
  if (found === undefined) return undefined;
  return { status: textAt(found, "status"), since: Date.parse(textAt(found, "lastTransitionTime")) };
}

export function isTerminating({ metadata }: StoredObject): boolean {
  return metadata.deletionTimestamp !== undefined;
}

/** Neither over nor on its way out. */
export function isActive(pod: StoredObject): boolean {
  return !isTerminating(pod) && !["Failed", "Succeeded"].includes(textAt(pod, "status", "phase"));
}

/** In service, as far as its kubelet and its controller say: a gate that was just closed counts at once. */
export function isReady(pod: StoredObject): boolean {
  return (
    isActive(pod) && conditionIs(pod, "Ready", "True") && !conditionIs(pod, "InPlaceUpdateReady", "False")
  );
}

export function keyOf({ metadata }: StoredObject): string {
  return `${metadata.namespace ?? ""}/${metadata.name ?? ""}`;
}

/** Names of the claims that a pod uses. */
export function claimsOf(pod: StoredObject): string[] {
  return listAt(pod, "spec", "volumes")
    .map((volume) => textAt(volume, "persistentVolumeClaim", "claimName"))
    .filter((name) => name !== "");
}

/** Where it is, or where its affinity wants it to be. */
export function nodeOf(pod: StoredObject): string {
  const name = textAt(pod, "spec", "nodeName");
  if (name !== "") return name;
  const required = ["spec", "affinity", "nodeAffinity", "requiredDuringSchedulingIgnoredDuringExecution"];
  const [term] = listAt(pod, ...required, "nodeSelectorTerms");
  const [field] = listAt(term, "matchFields");
  const [value] = listAt(field, "values");
  return typeof value === "string" ? value : "";
}

/** Of a SidecarSet of this simulation, which has one: v1beta1 says it by a selector. */
export function namespaceOf(set: StoredObject): string {
  const label = "kubernetes.io/metadata.name";
  return textAt(set, "spec", "namespace") || textAt(set, "spec", "namespaceSelector", "matchLabels", label);
}

export const stateLabel = "lifecycle.apps.kruise.io/state";

/** Of the name of a revision: labels of some kinds hold no more. */
export function shortOf(revision: string): string {
  return revision.replace(/^.*-/, "");
}
