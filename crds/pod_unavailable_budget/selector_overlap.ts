/** Whether two selectors may select the same pod, decided loosely. Spec: protection A6, end. */
import type { Selector, SelectorRequirement } from "../../kube/core/index.ts";

/** Only selectors about exactly the same keys are compared: on every key what they ask for must intersect. */
export function selectorsOverlap(a: Selector, b: Selector): boolean {
  const [left, right] = [requirementsByKey(a), requirementsByKey(b)];
  if (left.size !== right.size) return false;
  for (const [key, theirs] of left) {
    const ours = right.get(key);
    if (ours === undefined) return false;
    for (const one of theirs) for (const other of ours) if (!requirementsIntersect(one, other)) return false;
  }
  return true;
}

export function requirementsByKey({ requirements }: Selector): Map<string, SelectorRequirement[]> {
  const keys = new Map<string, SelectorRequirement[]>();
  for (const requirement of requirements) {
    keys.set(requirement.key, [...(keys.get(requirement.key) ?? []), requirement]);
  }
  return keys;
}

type Sort = "in" | "notin" | "exists" | "absent";

function sortOf({ operator }: SelectorRequirement): Sort {
  switch (operator) {
    case "exists":
      return "exists";
    case "!":
      return "absent";
    case "!=":
    case "notin":
      return "notin";
    default:
      return "in";
  }
}

/** Whether one value, or its absence, is what both ask of a key. */
export function requirementsIntersect(a: SelectorRequirement, b: SelectorRequirement): boolean {
  const [one, other] = [sortOf(a), sortOf(b)];
  if (one === "in" && other === "in") return a.values.some((value) => b.values.includes(value));
  if (one === "in" && other === "notin") return a.values.some((value) => !b.values.includes(value));
  if (one === "notin" && other === "in") return requirementsIntersect(b, a);
  if (one === "absent" || other === "absent") {
    const present = one === "absent" ? other : one;
    return present === "absent" || present === "notin";
  }
  return true;
}
