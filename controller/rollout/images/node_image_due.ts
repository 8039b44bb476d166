/** When a node gets its NodeImage. Pure. Spec: images N4.1. */
import type { Labels } from "../../../kube/core/index.ts";
import type { Node } from "../../../kube/index.ts";
import { isVirtualNode } from "../../native/virtual_node.ts";

/** The node, as far as its NodeImage depends on it. */
export interface NodeForImages {
  readonly labels: Labels;
  /** Since when it is Ready, milliseconds since the epoch; undefined while it is not. */
  readonly readySince: number | undefined;
}

export function nodeForImages({ labels, conditions }: Pick<Node, "labels" | "conditions">): NodeForImages {
  const ready = conditions.find(({ type }) => type === "Ready");
  return { labels, readySince: ready?.status === "True" ? ready.lastTransitionAt : undefined };
}

/** Milliseconds since the epoch; undefined: the node gets none as it is now. `delayMs`: how long it must be Ready before. */
export function nodeImageDueAt({ labels, readySince }: NodeForImages, delayMs: number): number | undefined {
  if (readySince === undefined || isVirtualNode({ labels })) return undefined;
  return readySince + delayMs;
}
