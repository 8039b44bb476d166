/** What pods are told of the set: whether their sidecars can be updated in place. Spec: sidecarset, rules 32, 36. */
import { counted } from "../../../kube/core/index.ts";
import type { Decisions } from "../../rollout/decisions.ts";
import { membersOf } from "../../rollout/pods/pod_view.ts";
import { patchPod } from "../../rollout/writes/pod_actions.ts";
import type { SidecarSetState } from "./state.ts";
import { upgradableChange } from "./upgradable.ts";

/** More than images differ: such pods are left as they are until somebody recreates them (rule 32). */
export function planRefusals(state: SidecarSetState, decisions: Decisions): void {
  const { pods } = state;
  const count = pods.count("not upgradable");
  if (count === 0) return;
  decisions.wait({
    reason: "NotUpgradable",
    message: `${counted(count, "pod")} cannot be updated in place: more than images of their sidecars differ`,
    until: "they are recreated",
  });
  if (reportUpgradable(state, decisions, pods.groups.toRefuse, false) === 0) return;
  decisions.take({
    type: "event",
    event: {
      type: "Normal",
      reason: "NotUpgradablePods",
      message: `SidecarSet in-place update detected ${count} not upgradable pod(s) in this round, will skip them.`,
    },
  });
}

/** How many pods it was reported to. */
export function reportUpgradable(
  { pods, target, now }: SidecarSetState,
  decisions: Decisions,
  slots: Iterable<string>,
  upgradable: boolean,
): number {
  let reported = 0;
  for (const member of membersOf(pods.entries(slots))) {
    if (!decisions.isFree(member)) continue;
    const condition = upgradableChange(member.pod, target.rollout.name, upgradable);
    decisions.take(patchPod(member.pod, { conditions: [condition] }, now, "refresh"));
    reported++;
  }
  return reported;
}
