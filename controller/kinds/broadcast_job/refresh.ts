/** What each pod needs whatever becomes of the job: its readiness gate. Spec: pod-webhook 4.1. */
import type { Decisions } from "../../rollout/decisions.ts";
import { KRUISE_READY } from "../../rollout/pods/pod_state.ts";
import { writePod } from "../../rollout/writes/pod_actions.ts";
import { type PodChange, podWrite } from "../../rollout/writes/pod_patch.ts";
import { awaitsReadiness, noted } from "./classify.ts";
import type { BroadcastJobState } from "./state.ts";

export function planRefresh({ pods, now }: BroadcastJobState, decisions: Decisions): void {
  for (const task of noted(pods, ({ tasks }) => tasks)) {
    if (!decisions.isFree(task) || !awaitsReadiness(task)) continue;
    const { pod } = task;
    const change: PodChange = { conditions: [{ type: KRUISE_READY, status: "True" }] };
    // True whatever the pod's status says by now, so only the UID is a precondition: the scheduler writes at that time.
    const write = podWrite(pod, change, now, { subresource: "status" });
    decisions.take(writePod(pod, write, "refresh"));
  }
}
