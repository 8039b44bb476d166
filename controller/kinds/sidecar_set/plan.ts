/** What a SidecarSet needs now, as a pure function of what is observed: no I/O, no clock. Spec: sidecarset 4, rule 30. */
import type { SidecarSetStatus } from "../../../crds/index.ts";
import { counted } from "../../../kube/core/index.ts";
import { Decisions } from "../../rollout/decisions.ts";
import { deleteRevision } from "../../rollout/revisions/revision_actions.ts";
import { countedRevisions } from "../../rollout/revisions/revision_counts.ts";
import type { Plan } from "../../rollout/writes/actions.ts";
import { planRefusals, reportUpgradable } from "./refresh.ts";
import { planRevision, surplusSidecarRevisions } from "./revisions.ts";
import type { SidecarSetState } from "./state.ts";
import { statusOf } from "./status.ts";
import { planResets, planUpdate } from "./update.ts";

export function planSidecarSet(state: SidecarSetState): Plan<SidecarSetStatus> {
  const decisions = new Decisions();
  if (state.observed.set.metadata.deletionTimestamp === undefined) decide(state, decisions);
  return decisions.plan(statusOf(state), state);
}

function decide(state: SidecarSetState, decisions: Decisions): void {
  const { observed, options, write } = state;
  decisions.takeAll(planRevision(observed.set, state, options.systemNamespace));
  // Pods may only carry the name of a revision that exists.
  if (write === "create") return;
  planHistory(state, decisions);
  planPods(state, decisions);
  reportRefusal(state, decisions);
}

function planHistory({ observed, pods, target }: SidecarSetState, decisions: Decisions): void {
  const { set, revisions } = observed;
  const used = () => new Set(countedRevisions(pods.counted));
  const surplus = surplusSidecarRevisions(set, revisions, target.revision, used);
  decisions.takeAll(surplus.map(deleteRevision));
}

/** A pod gets at most one action a pass: what its sidecars need goes before what is said of it. */
function planPods(state: SidecarSetState, decisions: Decisions): void {
  const { pods, strategy } = state;
  if (strategy.notUpdated) {
    reportHeld(state, decisions, "NotUpdate", "updateStrategy.type is changed");
    return;
  }
  if (strategy.paused) {
    reportHeld(state, decisions, "Paused", "paused is set to false");
  } else {
    const disrupted = planResets(state, decisions);
    planUpdate(state, decisions, disrupted);
    reportUnselected(state, decisions);
    planRefusals(state, decisions);
  }
  reportUpgradable(state, decisions, pods.groups.toAllow, true);
}

function reportHeld({ pods }: SidecarSetState, decisions: Decisions, reason: string, until: string): void {
  const old = pods.count("old");
  if (old === 0) return;
  const message = `${counted(old, "pod keeps its", "pods keep their")} old sidecars`;
  decisions.wait({ reason, message, until });
}

function reportUnselected({ pods }: SidecarSetState, decisions: Decisions): void {
  const count = pods.count("not selected");
  if (count === 0) return;
  decisions.wait({
    reason: "Selector",
    message: `${counted(count, "pod keeps its", "pods keep their")} old sidecars: updateStrategy.selector does not match them`,
    until: "the selector matches them or is removed",
  });
}

/** Who creates pods sees why they are refused; the set says it, too, as it was fine when it was written. */
function reportRefusal({ refusal }: SidecarSetState, decisions: Decisions): void {
  if (refusal === undefined) return;
  const message = `new pods that the selector matches are refused: ${refusal}`;
  const until = "injectionStrategy.revision is changed";
  decisions.wait({ reason: "InjectionRevision", message, until });
  decisions.take({ type: "event", event: { type: "Warning", reason: "InjectionRevision", message } });
}
