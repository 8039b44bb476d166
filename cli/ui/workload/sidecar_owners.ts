/** Versions of a SidecarSet's sidecars over all owners of pods that have them. */
import { parseInjectedSidecars, sidecarSetHashAnnotation } from "../../../crds/index.ts";
import { type AnyObject, at, listAt, textAt } from "../../fields.ts";
import { shownName, shownText } from "../../why/causes/shown_text.ts";
import type { OwnerItem } from "../shared/detail_items.ts";
import { revisionEnd } from "../watching/workload_item.ts";
import { type HotPair, hotPairs } from "./hot_upgrades.ts";

const mostOwners = 200;
const mostVersions = 8;

/** Of one pod: who made it, and what it has of the set. */
export interface InjectedPod {
  readonly namespace: string;
  /** Its own name. */
  readonly pod: string;
  readonly hot: readonly HotPair[];
  readonly kind: string;
  readonly name: string;
  /** As the set's annotation has it; empty where the pod does not tell. */
  readonly hash: string;
  /** For people. */
  readonly version: string;
}

export function injectedPod(pod: AnyObject, set: string): InjectedPod {
  const { namespace = "", annotations = {}, labels = {} } = pod.metadata;
  const entry = parseInjectedSidecars(annotations[sidecarSetHashAnnotation])?.get(set);
  const owner = listAt(pod, "metadata", "ownerReferences").find((each) => at(each, "controller") === true);
  const name = textAt(owner, "name") ?? pod.metadata.name ?? "";
  const kind = textAt(owner, "kind") ?? "Pod";
  const hash = labels["pod-template-hash"];
  const isOfDeployment = kind === "ReplicaSet" && hash !== undefined && name.endsWith(`-${hash}`);
  return {
    namespace: shownName(namespace),
    pod: shownName(pod.metadata.name ?? ""),
    hot: hotPairs(pod),
    kind: isOfDeployment ? "Deployment" : shownName(kind),
    name: shownName(isOfDeployment ? name.slice(0, -hash.length - 1) : name),
    hash: entry?.hash ?? "",
    version: shownText(revisionEnd(entry?.controllerRevision ?? "") || (entry?.hash ?? "").slice(0, 8)),
  };
}

/** Those with the most pods at other versions than the newest first. `newest`: hash of the set as it is. */
export function ownerItems(pods: Iterable<InjectedPod>, newest: string): ReadonlyMap<string, OwnerItem> {
  const byOwner = Map.groupBy(pods, ({ namespace, kind, name }) => `owner/${namespace}/${kind}/${name}`);
  const items = [...byOwner].flatMap(([key, owned]) =>
    ownerOf(owned, newest).map((item) => [key, item] as const),
  );
  items.sort(([a, left], [b, right]) => outdated(right) - outdated(left) || (a < b ? -1 : 1));
  return new Map(items.slice(0, mostOwners));
}

const outdated = ({ pods, updated }: OwnerItem): number => pods - updated;

function ownerOf(pods: readonly InjectedPod[], newest: string): OwnerItem[] {
  const [first] = pods;
  if (first === undefined) return [];
  const { namespace, kind, name } = first;
  const versions = [...Map.groupBy(pods, ({ hash }) => hash)].map(([hash, same]) => ({
    version: same[0]?.version ?? "",
    pods: same.length,
    isNewest: hash === newest && newest !== "",
  }));
  const updated = versions.reduce((sum, each) => sum + (each.isNewest ? each.pods : 0), 0);
  versions.sort((a, b) => Number(b.isNewest) - Number(a.isNewest) || b.pods - a.pods);
  return [
    {
      is: "owner",
      namespace,
      kind,
      name,
      pods: pods.length,
      updated,
      versions: versions.slice(0, mostVersions),
    },
  ];
}
