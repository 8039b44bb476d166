/** StatefulSets that start in order: a pod is created when all below it are in service. */
import { isByController } from "./disruptions.ts";
import { isReady, textAt } from "./fields.ts";
import type { Rule } from "./rule.ts";
import type { SeenOwner } from "./seen.ts";
import { hasOrdinal, ordinalOf } from "./workloads.ts";

export const ordered: Rule = (write) => {
  const { pod, seen, verb, resource, now, staleMs } = write;
  const owner = pod && seen.owner(pod.owner);
  if (!isByController(write) || verb !== "create" || resource !== "pods") return [];
  if (pod === undefined || owner === undefined || owner.isGone) return [];
  const states = seen.recent(owner, staleMs);
  if (!states.every((state) => textAt(state, "spec", "podManagementPolicy") === "OrderedReady")) return [];
  const ordinal = ordinalOf(pod.now);
  const below = Array.from({ length: ordinal }, (_, index) => index);
  const lacking = states.map((state) =>
    below.find((each) => hasOrdinal(state, each) && !wasReady(owner, each, now - staleMs)),
  );
  const [first] = lacking;
  return lacking.every((each) => each !== undefined)
    ? [`${owner.name}: ${pod.now.metadata.name} was created before ${first} was in service`]
    : [];
};

/** Of the pods of this ordinal: at `since` or later. */
function wasReady({ pods }: SeenOwner, ordinal: number, since: number): boolean {
  return [...pods.values()].some(
    ({ now, isGone, isOrphan, outSince }) =>
      ordinalOf(now) === ordinal &&
      (((!isGone || isOrphan) && isReady(now)) || (outSince !== undefined && outSince >= since)),
  );
}
