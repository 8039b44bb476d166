/** Why a BroadcastJob does not go on, for people. */

import { counted } from "../../../kube/core/index.ts";
import { nodeOf } from "../../rollout/pods/node_pods.ts";
import type { Waiting } from "../../rollout/writes/actions.ts";
import { isBeingCreated } from "../../rollout/writes/pending_pods.ts";
import { occupies, type Task } from "./classify.ts";
import type { BroadcastJobState } from "./state.ts";

/** `held`: nodes whose pod must wait for another to end. O(pods). */
export function waitingOf({ pods, strategy }: BroadcastJobState, held: number): Waiting[] {
  const tasks = [...pods.every()].flatMap((node) => node.tasks);
  const waiting: Waiting[] = [];
  if (strategy.paused) {
    const message = "the job is paused";
    waiting.push({ reason: "Paused", message, until: "spec.paused is false" });
  } else if (strategy.failurePolicy === "Pause" && pods.count("failed") > 0) {
    waiting.push({
      reason: "FailedPod",
      message: "the job is paused because a pod failed",
      until: "spec.failurePolicy.type is Continue, or the failed pods are deleted and run again",
      pods: namesOf(tasks, "failed", "over"),
    });
  }
  if (pods.count("desired") === 0) {
    const until = "a node matches the template's node selector, affinity, tolerations and requests";
    waiting.push({ reason: "NoNode", message: "the pod fits no node", until });
  }
  if (held > 0) {
    waiting.push({
      reason: "Parallelism",
      message: `${counted(held, "node waits", "nodes wait")}, ${counted(pods.count("occupying"), "pod is", "pods are")} active`,
      until: "a pod ends, or spec.parallelism is raised",
    });
  }
  const over = namesOf(tasks, "over");
  if (over.length > 0) {
    const message = `${counted(over.length, "pod has", "pods have")} been restarted more often than the limit and ${over.length === 1 ? "is" : "are"} still alive`;
    waiting.push({ reason: "RestartLimit", message, until: "they end or are deleted", pods: over });
  }
  const active = tasks.filter((task) => occupies(task) && !isBeingCreated(task.pod));
  if (active.length > 0) {
    const unplaced = active.filter(({ pod }) => pod.nodeName === "");
    const until = "they end";
    waiting.push({
      reason: "Active",
      message: `${counted(active.length, "pod is", "pods are")} at work${
        unplaced.length === 0 ? "" : `, ${unplaced.length} of them not scheduled to ${nodesOf(unplaced)} yet`
      }`,
      until,
      pods: active.map(({ pod }) => pod.name),
    });
  } else if (strategy.endless && held === 0 && pods.count("desired") > 0) {
    const message = "all nodes are done; completionPolicy Never keeps the job for new ones";
    waiting.push({ reason: "NewNode", message, until: "a node joins" });
  }
  return waiting;
}

function namesOf(tasks: readonly Task[], ...wanted: readonly string[]): string[] {
  return tasks.filter(({ state }) => wanted.includes(state)).map(({ pod }) => pod.name);
}

function nodesOf([task, ...others]: readonly Task[]): string {
  return task === undefined || others.length > 0 ? "their nodes" : nodeOf(task.pod);
}
