/** Why a BroadcastJob does not go on, for people. */
import type { Waiting } from "../rollout/actions.ts";
import { type Census, nodeOf, type Strategy } from "./observe.ts";

/** `held`: nodes whose pod must wait for another to end. */
export function waitingOf(census: Census, strategy: Strategy, held: number): Waiting[] {
  const { fitting, failed, active, standing } = census;
  const waiting: Waiting[] = [];
  if (strategy.paused) {
    const message = "the job is paused";
    waiting.push({ reason: "Paused", message, until: "spec.paused is false" });
  } else if (strategy.failurePolicy === "Pause" && failed > 0) {
    waiting.push({
      reason: "FailedPod",
      message: "the job is paused because a pod failed",
      until: "spec.failurePolicy.type is Continue, or the failed pods are deleted and run again",
      pods: namesOf(standing, "failed", "over"),
    });
  }
  if (fitting.length === 0) {
    const until = "a node matches the template's node selector, affinity, tolerations and requests";
    waiting.push({ reason: "NoNode", message: "the pod fits no node", until });
  }
  if (held > 0) {
    waiting.push({
      reason: "Parallelism",
      message: `${held} nodes wait, ${census.occupying} pods are active`,
      until: "a pod ends, or spec.parallelism is raised",
    });
  }
  const over = namesOf(standing, "over");
  if (over.length > 0) {
    const message = `${over.length} pods have been restarted more often than the limit and are still alive`;
    waiting.push({ reason: "RestartLimit", message, until: "they end or are deleted", pods: over });
  }
  if (active.length > 0) {
    const unplaced = active.filter((pod) => pod.nodeName === "");
    const until = "they end";
    waiting.push({
      reason: "Active",
      message: `${active.length} pods are at work${
        unplaced.length === 0 ? "" : `, ${unplaced.length} of them not scheduled to ${nodesOf(unplaced)} yet`
      }`,
      until,
      pods: active.map((pod) => pod.name),
    });
  } else if (strategy.endless && held === 0 && fitting.length > 0) {
    const message = "all nodes are done; completionPolicy Never keeps the job for new ones";
    waiting.push({ reason: "NewNode", message, until: "a node joins" });
  }
  return waiting;
}

function namesOf(standing: Census["standing"], ...wanted: readonly string[]): string[] {
  return [...standing].filter(([, stand]) => wanted.includes(stand)).map(([pod]) => pod.name);
}

function nodesOf(pods: Parameters<typeof nodeOf>[0][]): string {
  return pods.length === 1 && pods[0] !== undefined ? nodeOf(pods[0]) : "their nodes";
}
