/** Budget and partition of a SidecarSet in absolute numbers. Spec: sidecarset, rule 35. */
import { type IntOrString, partitionReplicas } from "../../../kube/core/index.ts";
import { amountOf } from "../../rollout/order/amounts.ts";

/** Pods that keep the sidecars they have. A number counts as it is, however few pods there are. */
export function keptByPartition(partition: IntOrString | undefined, total: number): number {
  if (typeof partition === "number") return Math.max(0, partition);
  try {
    return Math.max(0, partitionReplicas(partition, total));
  } catch {
    // Text that is no number: admission refuses it, older objects may hold it.
    return 0;
  }
}

/** A percentage is rounded up; 0 for text that is no number. */
export function mostUnavailable(value: IntOrString, total: number): number {
  return Math.max(0, amountOf(value, total, true) ?? 0);
}
