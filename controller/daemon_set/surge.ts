/** A rolling update with a new pod beside the old one, node by node. Spec: daemonset 4.6. */
import type { Place } from "./observe.ts";
import type { Site } from "./order.ts";
import type { Pass } from "./pass.ts";
import { planCreations } from "./scale.ts";

/** Rule 33: new pods for nodes that have only an old one. The old pod of a pair is the scale's to delete (rule 34). */
export function planSurge(pass: Pass, sites: readonly Site[]): void {
  const { strategy, decided } = pass;
  const urgent: Place[] = [];
  const candidates: Place[] = [];
  let surging = 0;
  for (const { place, fresh, old } of sites) {
    const [oldest] = old;
    if (isPair(place)) surging++;
    else if (fresh.length > 0 || oldest === undefined || place.verdict !== "run") continue;
    else (oldest.available && !oldest.preparing ? candidates : urgent).push(place);
  }
  // Nodes whose old pod serves nobody do not wait for room, but they take it.
  const room = Math.max(0, strategy.maxSurge - surging - urgent.length);
  planCreations(pass, [...urgent, ...candidates.slice(0, room)]);
  if (candidates.length <= room) return;
  decided.waiting.push({
    reason: "Surge",
    message: `${candidates.length - room} nodes wait for their new pod: maxSurge is ${strategy.maxSurge} and ${Math.max(surging, strategy.maxSurge)} nodes run two`,
    until: "new pods become available and the old ones beside them go",
  });
}

/** Two pods that live, as far as the server has confirmed: a deletion that is not answered yet may still be refused. */
function isPair({ daemons }: Place): boolean {
  return daemons.filter(({ failed, terminating, busy }) => !failed && (!terminating || busy)).length > 1;
}
