/** Which nodes the rollout reaches, and in which order. Spec: daemonset 4.5, rules 25 and 26. */
import type { DaemonNode, DaemonView } from "./classify.ts";
import type { Daemon, DaemonSetStrategy } from "./strategy.ts";

/** What lives on a node, as the rollout counts: terminating and failed pods are the scale's matter (rules 14, 27). */
export interface Site {
  node: DaemonNode;
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

/** Nodes that need no look. */
type QuietNodes = Pick<DaemonView, "groups" | "count" | "at">;

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
  open: readonly DaemonNode[],
  pods: QuietNodes,
  strategy: Pick<DaemonSetStrategy, "partition" | "nodeSelector">,
  options: { pruneIneligible: boolean },
): UpdateWindow {
  const { begun, empty, due, heldBySelector } = groupsOf(open, strategy, options);
  const { groups } = pods;
  const held = heldBySelector + pods.count("held");
  const begunTotal = begun.length + groups.begun.size;
  const emptyTotal = empty.length + groups.missing.size;
  const dueTotal = due.length + groups.due.size;
  const reach = Math.max(0, begunTotal + emptyTotal + dueTotal + held - strategy.partition);
  const dueReach = Math.max(0, Math.min(dueTotal, reach - begunTotal - emptyTotal));
  const emptyReach = Math.max(0, Math.min(emptyTotal, reach - begunTotal));
  const emptyReached = empty.filter(
    (site, index) => index + groups.missing.above(site.node.name) < emptyReach,
  );
  const reached = [
    ...begun.filter((site, index) => index + groups.begun.above(site.node.name) < reach),
    ...emptyReached,
  ];
  const dueReached = due.filter((site, index) => index + groups.due.above(site.node.name) < dueReach);
  const old = [...begun, ...empty].filter((site) => site.old.length > 0).length;
  const oldReached = reached.filter((site) => site.old.length > 0).length;
  return {
    sites: [...reached, ...dueReached],
    due: () => merged(dueReached, pods, dueReach),
    quietDue: dueReach - dueReached.length,
    starting: reach < begunTotal ? 0 : pods.count("starting"),
    missing: emptyReach - emptyReached.length,
    heldByPartition: old - oldReached + dueTotal - dueReach,
    heldBySelector: held,
  };
}

function groupsOf(
  open: readonly DaemonNode[],
  strategy: Pick<DaemonSetStrategy, "nodeSelector">,
  options: { pruneIneligible: boolean },
): Groups {
  const groups: Groups = { begun: [], empty: [], due: [], heldBySelector: 0 };
  for (let index = open.length - 1; index >= 0; index--) {
    const node = open[index];
    if (node === undefined || (options.pruneIneligible && node.eligibility !== "run")) continue;
    const site = siteOf(node);
    const [old, second] = site.old;
    if (site.fresh.length > 0 || second !== undefined) groups.begun.push(site);
    else if (old === undefined || old.preparing) groups.empty.push(site);
    else if (strategy.nodeSelector?.matches(node.labels) ?? true) groups.due.push(site);
    else groups.heldBySelector++;
  }
  return groups;
}

/** Quiet nodes are looked up only as far as somebody asks. */
function* merged(due: readonly Site[], pods: QuietNodes, reach: number): Generator<Site> {
  let taken = 0;
  let next = 0;
  for (const name of pods.groups.due.descending()) {
    for (let site = due[next]; site !== undefined && site.node.name > name; site = due[next]) {
      yield site;
      taken++;
      next++;
    }
    if (taken >= reach) return;
    const node = pods.at(name);
    if (node !== undefined) yield siteOf(node);
    taken++;
  }
  yield* due.slice(next);
}

function siteOf(node: DaemonNode): Site {
  const fresh: Daemon[] = [];
  const old: Daemon[] = [];
  // The scale takes its pods in this very pass: it counts as it will when they are terminating.
  if (node.eligibility === "none") return { node, fresh, old };
  for (const daemon of node.daemons) {
    if (daemon.terminating || daemon.failed) continue;
    (daemon.updated ? fresh : old).push(daemon);
  }
  return { node, fresh, old };
}
