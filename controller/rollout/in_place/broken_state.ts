/** State that somebody edited into nonsense: the pod goes on as if it had none, and its workload says so. */
import type { Pod } from "../../../kube/index.ts";
import type { Action } from "../writes/actions.ts";
import type { Parsed } from "./state.ts";

/** One Warning for each state of the pod that cannot be read. */
export function brokenStateEvents(pod: Pod, ...states: readonly Parsed<object>[]): Action[] {
  return states.flatMap((parsed): Action[] => {
    if (parsed.value !== undefined || parsed.broken === undefined) return [];
    const message = `pod ${pod.name}: ${parsed.broken}; it is treated as absent`;
    return [{ type: "event", event: { type: "Warning", reason: "BrokenPodState", message } }];
  });
}
