/** Which nodes the rollout reaches, and in which order. Spec: daemonset 4.5, rules 25 and 26. */
import type { Daemon, Place, Strategy } from "./observe.ts";

/** What lives on a node, as the rollout counts: terminating and failed pods are the scale's matter (rules 14, 27). */
export interface Site {
  place: Place;
  fresh: readonly Daemon[];
  old: readonly Daemon[];
}

export interface UpdateWindow {
  /** Highest names first within each group: those begun, those without an old pod, those still to do. */
  sites: readonly Site[];
  /** Nodes with an old pod that the partition or the node selector leaves out. */
  heldByPartition: number;
  heldBySelector: number;
}

/**
 * The first `nodes - partition` sites: nodes that are new already come before those without a pod, those before nodes
 * to update; so the lowest names stay old. With a selector, nodes of old pods that it does not match are out.
 */
export function updateWindow(
  places: readonly Place[],
  strategy: Pick<Strategy, "partition" | "nodeSelector">,
  options: { pruneIneligible: boolean },
): UpdateWindow {
  const begun: Site[] = [];
  const empty: Site[] = [];
  const due: Site[] = [];
  let total = 0;
  let heldBySelector = 0;
  for (let index = places.length - 1; index >= 0; index--) {
    const place = places[index];
    if (place === undefined || (options.pruneIneligible && place.verdict !== "run")) continue;
    total++;
    const site = siteOf(place);
    const [old, second] = site.old;
    if (site.fresh.length > 0 || second !== undefined) begun.push(site);
    else if (old === undefined || old.preparing) empty.push(site);
    else if (strategy.nodeSelector?.matches(place.labels) ?? true) due.push(site);
    else heldBySelector++;
  }
  const sites = [...begun, ...empty, ...due];
  const reach = Math.max(0, total - strategy.partition);
  const heldByPartition = sites.slice(reach).filter(({ old }) => old.length > 0).length;
  return { sites: sites.slice(0, reach), heldByPartition, heldBySelector };
}

function siteOf(place: Place): Site {
  const fresh: Daemon[] = [];
  const old: Daemon[] = [];
  for (const daemon of place.daemons) {
    if (daemon.terminating || daemon.failed) continue;
    (daemon.updated ? fresh : old).push(daemon);
  }
  return { place, fresh, old };
}
