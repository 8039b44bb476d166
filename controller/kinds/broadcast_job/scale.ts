/** Which pods are created, and which go. Spec: jobs B4. */
import type { Decisions } from "../../rollout/decisions.ts";
import { deletePod } from "../../rollout/writes/pod_actions.ts";
import { misplacedOn, noted, type Task, type TaskView } from "./classify.ts";
import { createBroadcastJobPod } from "./pod_manifest.ts";
import type { BroadcastJobState } from "./state.ts";

/** `limit`: pods that may be active. Returns how many nodes must wait for another one's pod to end. */
export function planScale(state: BroadcastJobState, decisions: Decisions, limit: number): number {
  const { pods } = state;
  const { missing } = pods.groups;
  planDeletions(noted(pods, misplacedOn), decisions);
  // A successor sent before a deletion is answered may be stored first: more pods at a time than parallelism allows.
  const room = Math.max(0, limit - pods.count("occupying") - pods.count("leaving"));
  /** Of new pods. */
  const names = new Set<string>();
  const nodes = missing.first(room);
  for (const node of nodes) decisions.take(createBroadcastJobPod(state, node, names));
  return missing.size - nodes.length;
}

/** Pods that are alive, those among them that were restarted too often. O(pods). */
export function living(pods: TaskView): Task[] {
  const tasks = [...pods.every()].flatMap((node) => node.tasks);
  return tasks.filter(({ state }) => state === "active" || state === "over");
}

/** Pods with a write in flight are deleted by the next pass. */
export function planDeletions(tasks: readonly Task[], decisions: Decisions): void {
  for (const { pod, busy } of tasks) {
    if (busy) continue;
    const deletion = deletePod(pod, {
      succeeded: { reason: "SuccessfulDelete", message: `Delete pod: ${pod.name}` },
      failed: { reason: "FailedDelete", message: `Error deleting pod ${pod.name}` },
    });
    decisions.take(deletion);
  }
}
