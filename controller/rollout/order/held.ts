/** Why pods stay at an old revision though no budget keeps them there, in words for people. Pure. */
import { counted } from "../../../kube/core/index.ts";
import type { Waiting } from "../writes/actions.ts";

/** `count`: pods at an old revision. */
export function heldWaiting(reason: "Paused" | "OnDelete" | "Partition", count: number): Waiting {
  const staying = `${counted(count, "pod stays", "pods stay")} at an old revision`;
  switch (reason) {
    case "Paused":
      return {
        reason,
        message: `${counted(count, "pod is", "pods are")} held at an old revision by paused`,
        until: "paused is set to false",
      };
    case "OnDelete":
      return { reason, message: staying, until: "they are deleted" };
    case "Partition":
      return { reason, message: `${staying} by partition`, until: "partition is lowered" };
  }
}
