/**
 * WorkloadSpreads: no new pod is put into a subset that is full. Pods that were there before may be taken into it all the same (spec
 * workloadspread, rule 18).
 */
import type { StoredObject } from "../../sandbox/index.ts";
import { at, controllerOf, isActive, listAt, textAt } from "./fields.ts";
import type { Rule } from "./rule.ts";

const matched = "apps.kruise.io/matched-workloadspread";

export const spreads: Rule = ({ cluster, pod, seen, verb, resource, staleMs }) => {
  if (pod === undefined || verb !== "create" || resource !== "pods") return [];
  const { spread, subset } = placeOf(pod.now);
  const { namespace } = pod.now.metadata;
  const object = cluster
    .objects("workloadspreads.apps.kruise.io", namespace)
    .find(({ metadata }) => metadata.name === spread);
  if (object === undefined) return [];
  // No pod counts while the workload is to have none (rule 16), and a creation may be late.
  const owner = seen.owner(controllerOf(pod.now)?.uid ?? "");
  if (owner !== undefined && seen.recent(owner, staleMs).some((state) => at(state, "spec", "replicas") === 0))
    return [];
  const limits = seen.recentStates(object, staleMs).map((state) => {
    const found = listAt(state, "spec", "subsets").find((each) => textAt(each, "name") === subset);
    const most = at(found, "maxReplicas");
    return typeof most === "number" ? most : Number.POSITIVE_INFINITY;
  });
  const most = Math.max(...limits);
  const going = namesGoing(object);
  // What was there before a spread counts in it once the controller has looked: admission does not wait for that.
  const isUnknown = seen
    .recentStates(object, staleMs)
    .some((state) => at(state, "status", "observedGeneration") === undefined);
  const since = isUnknown ? Date.parse(object.metadata.creationTimestamp ?? "") : Number.NEGATIVE_INFINITY;
  const there = cluster.objects("pods", namespace).filter((each) => {
    const { name = "", creationTimestamp } = each.metadata;
    const place = placeOf(seen.pod(namespace ?? "", name)?.born ?? each);
    const isCounted =
      isActive(each) &&
      // Pods of a former workload of that name do not count (rule 16).
      seen.owner(controllerOf(each)?.uid ?? "")?.isGone !== true &&
      seen.pod(namespace ?? "", name)?.isAside !== true &&
      !going.has(name) &&
      Date.parse(creationTimestamp ?? "") >= since;
    return isCounted && place.spread === spread && place.subset === subset;
  }).length;
  return there > most
    ? [`WorkloadSpread ${namespace}/${spread}: ${there} pods are in ${subset}, ${most} may be`]
    : [];
};

/** Pods whose deletion has been admitted, and is stored in a moment. */
function namesGoing(spread: StoredObject): ReadonlySet<string> {
  const versions = Object.keys(Object(at(spread, "status", "versionedSubsetStatuses")));
  const subsets = versions.flatMap((version) => listAt(spread, "status", "versionedSubsetStatuses", version));
  return new Set(subsets.flatMap((subset) => Object.keys(Object(at(subset, "deletingPods")))));
}

function placeOf({ metadata }: StoredObject): { spread: string; subset: string } {
  try {
    const place: unknown = JSON.parse(metadata.annotations?.[matched] ?? "");
    return { spread: textAt(place, "name"), subset: textAt(place, "subset") };
  } catch {
    return { spread: "", subset: "" };
  }
}
