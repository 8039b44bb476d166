/** Lifecycle hooks: a pod that somebody holds is neither deleted nor updated in place. */
import { heldLabel } from "../applied.ts";
import { isByController } from "./disruptions.ts";
import { at, isActive, listAt, textAt } from "./fields.ts";
import type { Rule } from "./rule.ts";

export const hooks: Rule = (write) => {
  const { pod, seen, staleMs } = write;
  const owner = pod && seen.owner(pod.owner);
  if (!isByController(write) || pod?.before === undefined || owner === undefined || owner.isGone) return [];
  const { before, now, isGone, isAside } = pod;
  if (before.metadata.labels?.[heldLabel] !== "true" || !isActive(before) || isAside) return [];
  const states = seen.recent(owner, staleMs);
  const isHeld = (hook: string): boolean =>
    states.every((state) => at(state, "spec", "lifecycle", hook, "labelsHandler", heldLabel) === "true");
  const what = `${owner.name}: ${now.metadata.name} is held`;
  if (isGone || !isActive(now)) return isHeld("preDelete") ? [`${what}, and was deleted`] : [];
  return mainImage(before) !== mainImage(now) && isHeld("inPlaceUpdate") ? [`${what}, and was updated`] : [];
};

function mainImage(pod: unknown): string {
  const main = listAt(pod, "spec", "containers").find((container) => textAt(container, "name") === "main");
  return textAt(main, "image");
}
