/** Which nodes the rollout reaches, and in which order. Spec: daemonset 4.5, rules 25 and 26. */
import type { Daemon, Place, Strategy } from "./observe.ts";
import type { Quiet } from "./roster.ts";

/** What lives on a node, as the rollout counts: terminating and failed pods are the scale's matter (rules 14, 27). */
export interface Site {
  place: Place;
  fresh: readonly Daemon[];
  old: readonly Daemon[];
}

export interface UpdateWindow {
  /** To look at. Highest names first within each group: those begun, those without an old pod, those still to do. */
  sites: readonly Site[];
  /** Nodes with an old pod that may be updated, quiet ones included, and how many of them are quiet. */
  due(): Iterable<Site>;
  quietDue: number;
  /** Nodes with an up to date pod that is not ready yet, besides the sites. */
  starting: number;
  /** Nodes without a pod that it reaches, besides the sites. */
  missing: number;
  /** Nodes with an old pod that the partition or the node selector leaves out. */
  heldByPartition: number;
  heldBySelector: number;
}

interface Groups {
  begun: Site[];
  empty: Site[];
  due: Site[];
  heldBySelector: number;
}

/**
 * The first `nodes - partition` sites: nodes that are new already come before those without a pod, those before nodes
 * to update; so the lowest names stay old. With a selector, nodes of old pods that it does not match are out.
 */
export function updateWindow(
  places: readonly Place[],
  quiet: Quiet,
  strategy: Pick<Strategy, "partition" | "nodeSelector">,
  options: { pruneIneligible: boolean },
): UpdateWindow {
  const { begun, empty, due, heldBySelector } = groupsOf(places, strategy, options);
  const held = heldBySelector + quiet.held;
  const begunTotal = begun.length + quiet.begun.size;
  const emptyTotal = empty.length + quiet.missing.size;
  const dueTotal = due.length + quiet.due.size;
  const reach = Math.max(0, begunTotal + emptyTotal + dueTotal + held - strategy.partition);
  const dueReach = Math.max(0, Math.min(dueTotal, reach - begunTotal - emptyTotal));
  const emptyReach = Math.max(0, Math.min(emptyTotal, reach - begunTotal));
  const emptyReached = empty.filter(
    (site, index) => index + quiet.missing.above(site.place.name) < emptyReach,
  );
  const reached = [
    ...begun.filter((site, index) => index + quiet.begun.above(site.place.name) < reach),
    ...emptyReached,
  ];
  const dueReached = due.filter((site, index) => index + quiet.due.above(site.place.name) < dueReach);
  const old = [...begun, ...empty].filter((site) => site.old.length > 0).length;
  const oldReached = reached.filter((site) => site.old.length > 0).length;
  return {
    sites: [...reached, ...dueReached],
    due: () => merged(dueReached, quiet, dueReach),
    quietDue: dueReach - dueReached.length,
    starting: reach < begunTotal ? 0 : quiet.starting,
    missing: emptyReach - emptyReached.length,
    heldByPartition: old - oldReached + dueTotal - dueReach,
    heldBySelector: held,
  };
}

function groupsOf(
  places: readonly Place[],
  strategy: Pick<Strategy, "nodeSelector">,
  options: { pruneIneligible: boolean },
): Groups {
  const groups: Groups = { begun: [], empty: [], due: [], heldBySelector: 0 };
  for (let index = places.length - 1; index >= 0; index--) {
    const place = places[index];
    if (place === undefined || (options.pruneIneligible && place.verdict !== "run")) continue;
    const site = siteOf(place);
    const [old, second] = site.old;
    if (site.fresh.length > 0 || second !== undefined) groups.begun.push(site);
    else if (old === undefined || old.preparing) groups.empty.push(site);
    else if (strategy.nodeSelector?.matches(place.labels) ?? true) groups.due.push(site);
    else groups.heldBySelector++;
  }
  return groups;
}

/** Quiet nodes are looked up only as far as somebody asks. */
function* merged(due: readonly Site[], quiet: Quiet, reach: number): Generator<Site> {
  let taken = 0;
  let next = 0;
  for (const name of quiet.due.descending()) {
    for (let site = due[next]; site !== undefined && site.place.name > name; site = due[next]) {
      yield site;
      taken++;
      next++;
    }
    if (taken >= reach) return;
    const place = quiet.placeOf(name);
    if (place !== undefined) yield siteOf(place);
    taken++;
  }
  yield* due.slice(next);
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
