/** A rolling update with a new pod beside the old one, node by node. Spec: daemonset 4.6. */
import { counted } from "../../../kube/core/index.ts";
import type { DaemonNode } from "./classify.ts";
import type { DaemonSetDecisions } from "./decisions.ts";
import type { Site, UpdateWindow } from "./order.ts";
import { needsPod, planCreations } from "./scale.ts";
import type { DaemonSetState } from "./state.ts";

/** Rule 33: new pods for nodes that have only an old one. The old pod of a pair is the scale's to delete (rule 34). */
export function planSurge(state: DaemonSetState, decisions: DaemonSetDecisions, window: UpdateWindow): void {
  const { strategy } = state;
  const urgent: string[] = [];
  let candidates = window.quietDue;
  let surging = 0;
  for (const site of window.sites) {
    const { node, fresh, old } = site;
    const [oldest] = old;
    if (isPair(state, node)) surging++;
    else if (isCandidate(state, site)) candidates++;
    else if (fresh.length === 0 && oldest !== undefined && node.eligibility === "run") urgent.push(node.name);
  }
  // Nodes whose old pod serves nobody do not wait for room, but they take it.
  const room = Math.max(0, strategy.maxSurge - surging - urgent.length);
  planCreations(state, decisions, [...urgent, ...firstOf(state, window, room)]);
  if (candidates <= room) return;
  decisions.wait({
    reason: "Surge",
    message: `${counted(candidates - room, "node waits", "nodes wait")} for a new pod: maxSurge is ${strategy.maxSurge} and ${counted(Math.max(surging, strategy.maxSurge), "node runs", "nodes run")} two`,
    until: "new pods become available and the old ones beside them go",
  });
}

/** A node whose only pod is old and serves. */
function isCandidate(state: DaemonSetState, { node, fresh, old }: Site): boolean {
  const [oldest] = old;
  if (fresh.length > 0 || oldest === undefined || node.eligibility !== "run") return false;
  return oldest.available && !oldest.preparing && !isPair(state, node);
}

function firstOf(state: DaemonSetState, window: UpdateWindow, count: number): string[] {
  const first: string[] = [];
  if (count === 0) return first;
  for (const site of window.due()) {
    if (!isCandidate(state, site)) continue;
    first.push(site.node.name);
    if (first.length === count) break;
  }
  return first;
}

/**
 * Two pods that live, as far as the server has confirmed, or one beside the successor that the scale makes: a deletion that is not
 * answered yet may still be refused.
 */
function isPair(state: DaemonSetState, node: DaemonNode): boolean {
  const living = node.daemons.filter(({ failed, terminating, busy }) => !failed && (!terminating || busy));
  return living.length + (needsPod(state, node) ? 1 : 0) > 1;
}
