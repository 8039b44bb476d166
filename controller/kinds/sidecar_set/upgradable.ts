/** The condition that says on a pod, set by set, whether its sidecars can be updated in place. Spec: sidecarset 5, rules 32, 36. */
import { upgradableCondition } from "../../../crds/index.ts";
import { compareBytes, goJson, isJsonObject } from "../../../kube/core/index.ts";
import type { Pod } from "../../../kube/index.ts";
import { conditionOf } from "../../rollout/pods/pod_state.ts";
import type { ConditionChange } from "../../rollout/writes/pod_patch.ts";

/** What the pod says of one set; undefined: nothing. */
export function reportedUpgradable(pod: Pod, set: string): boolean | undefined {
  return conditionOf(pod, upgradableCondition) === undefined ? undefined : entriesOf(pod).get(set);
}

/** The condition with an entry of this set; True when all sets say so. */
export function upgradableChange(pod: Pod, set: string, upgradable: boolean): ConditionChange {
  const entries = entriesOf(pod).set(set, upgradable);
  const sorted = [...entries].sort(([left], [right]) => compareBytes(left, right));
  const message = `{${sorted.map(([name, value]) => `${goJson(name)}:${value}`).join(",")}}`;
  return [...entries.values()].every(Boolean)
    ? { type: upgradableCondition, status: "True", reason: "AllSidecarsetUpgradable", message }
    : { type: upgradableCondition, status: "False", reason: "UpdateImmutableField", message };
}

/** Anybody may have written the message: what is not of its form counts as absent. */
function entriesOf(pod: Pod): Map<string, boolean> {
  const entries = new Map<string, boolean>();
  try {
    const parsed: unknown = JSON.parse(conditionOf(pod, upgradableCondition)?.message || "{}");
    for (const [name, value] of Object.entries(isJsonObject(parsed) ? parsed : {}))
      if (typeof value === "boolean") entries.set(name, value);
  } catch {
    return entries;
  }
  return entries;
}
