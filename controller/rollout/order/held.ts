/** Why pods stay at an old revision though no budget keeps them there, in words for people. Pure. */
import { counted, type IntOrString } from "../../../kube/core/index.ts";
import type { Waiting } from "../writes/actions.ts";

/** `pods`: names of those at an old revision. */
export function heldWaiting(reason: "Paused" | "OnDelete", pods: readonly string[]): Waiting {
  const count = pods.length;
  if (reason === "OnDelete") return { reason, message: staying(count), until: "they are deleted", pods };
  return {
    reason,
    message: `${counted(count, "pod is", "pods are")} held at an old revision by paused`,
    until: "paused is set to false",
    pods,
  };
}

/** `partition`: as it is given, a number or a percentage. */
export function partitionWaiting(partition: IntOrString, pods: readonly string[]): Waiting {
  const message = `${staying(pods.length)} by partition ${partition}`;
  return { reason: "Partition", message, until: "partition is lowered", pods };
}

const staying = (count: number): string => `${counted(count, "pod stays", "pods stay")} at an old revision`;
