/** SidecarSets: within their budget, not while they are paused, and main containers stay as they are. */
import type { StoredObject } from "../../sandbox/index.ts";
import { isByController } from "./disruptions.ts";
import { amountAt, at, isActive, isReady, listAt, namespaceOf, textAt } from "./fields.ts";
import type { Rule } from "./rule.ts";

export const sidecars: Rule = (write) => {
  const { pod, cluster, seen, now, staleMs } = write;
  if (!isByController(write) || pod?.before === undefined) return [];
  const { before, now: after } = pod;
  const changed = listAt(after, "spec", "containers").filter(
    (container) => imageOf(before, textAt(container, "name")) !== textAt(container, "image"),
  );
  // One that its workload has lost counts as well.
  if (changed.length > 0 && !isReady(before)) pod.isFree = true;
  if (pod.isGone) return [];
  return changed.flatMap((container) => {
    const name = textAt(container, "name");
    const set = cluster
      .objects("sidecarsets.apps.kruise.io")
      .find((each) => listAt(each, "spec", "containers").some((one) => textAt(one, "name") === name));
    if (set === undefined) return [];
    const states = seen.recentStates(set, staleMs);
    const wrong: string[] = [];
    const strategy = ["spec", "updateStrategy"];
    if (states.every((state) => at(state, ...strategy, "paused") === true))
      wrong.push(
        `SidecarSet ${set.metadata.name} is paused, and ${after.metadata.name} got ${textAt(container, "image")}`,
      );
    const pods = cluster
      .objects("pods", namespaceOf(set))
      .filter((each) => isActive(each) && imageOf(each, name) !== undefined);
    // Pods with other sidecars count against no budget.
    const newest = textAt(container, "image");
    const updated = pods.filter((each) => imageOf(each, name) === newest && !seen.isFree(each));
    const out = updated.filter((each) => isOut(each, name)).length;
    // Pods that went by themselves a moment ago may not be known to be out.
    const unheard = seen.unheard(updated, now - staleMs);
    const most = Math.max(
      ...states.map((state) =>
        Math.max(1, amountAt(state, [...strategy, "maxUnavailable"], pods.length, Math.ceil, 1)),
      ),
    );
    const stay = Math.min(
      ...states.map((state) => amountAt(state, [...strategy, "partition"], pods.length, Math.floor, 0)),
    );
    const gone = seen.gone(namespaceOf(set), now - staleMs);
    const old = [...pods, ...gone].filter(
      (each) => ![newest, undefined].includes(imageOf(each, name)),
    ).length;
    if (old < stay)
      wrong.push(`SidecarSet ${set.metadata.name}: ${old} pods keep their sidecars, ${stay} have to`);
    if (isReady(before) && out - unheard > most)
      wrong.push(`SidecarSet ${set.metadata.name}: ${out} pods are out of service, ${most} may be`);
    return wrong;
  });
};

function isOut(pod: StoredObject, sidecar: string): boolean {
  const status = listAt(pod, "status", "containerStatuses").find((each) => textAt(each, "name") === sidecar);
  return !isReady(pod) || textAt(status, "image") !== imageOf(pod, sidecar);
}

function imageOf(pod: StoredObject, name: string): string | undefined {
  const container = listAt(pod, "spec", "containers").find((each) => textAt(each, "name") === name);
  return container === undefined ? undefined : textAt(container, "image");
}
