/** Why a workload's rollout does not go on, in sentences; kinds whose plans are not known here give none. */
import type { ClusterAccess, Host } from "../command.ts";
import { readTarget, type Target } from "../target.ts";
import { describeWaiting } from "./describe.ts";
import { planOf, toCloneSet } from "./observe_clone_set.ts";

export async function reasonsOf(
  access: ClusterAccess,
  target: Target,
  host: Pick<Host, "clock" | "random">,
): Promise<string[]> {
  if (!canPlan(target)) return [];
  const set = toCloneSet(await readTarget(access, target), "stored");
  const { plan } = await planOf(access, set, "", host);
  return plan.waiting.map(describeWaiting);
}

/** Whether plans of this kind can be made here. */
export function canPlan(target: Pick<Target, "type">): boolean {
  return target.type.group === "apps.kruise.io" && target.type.kind === "CloneSet";
}
