/** What one node's NodeImage needs. Pure. Spec: images N4. */
import type { NodeImage, NodeImageSpec, NodeImageStatus } from "../../crds/index.ts";
import { jsonEqual, type Labels } from "../../kube/core/index.ts";
import { FAKE_LABEL } from "./model.ts";
import { earlier, type Facts, pruneNodeImage } from "./prune.ts";
import { type FailedTask, judgeSilence } from "./silence.ts";

/** The node, as far as its NodeImage depends on it. */
export interface SeenNode {
  readonly labels: Labels;
  /** Since when it is Ready, milliseconds since the epoch; undefined while it is not. */
  readonly readySince: number | undefined;
}

export interface NodeImageSeen extends Omit<Facts, "now"> {
  readonly node: SeenNode | undefined;
  readonly nodeImage: NodeImage | undefined;
}

interface NodeImageOptions {
  /** How long a node must be Ready before it gets its NodeImage. */
  readonly creationDelayMs: number;
}

export type NodeImageAction =
  | { readonly type: "create"; readonly labels: Labels }
  | { readonly type: "delete"; readonly nodeImage: NodeImage }
  | {
      readonly type: "patch";
      readonly nodeImage: NodeImage;
      /** Absent: they are as they should be. */
      readonly labels?: Labels;
      readonly spec?: NodeImageSpec;
    }
  | {
      readonly type: "fail tasks";
      readonly nodeImage: NodeImage;
      readonly status: NodeImageStatus;
      readonly tasks: readonly FailedTask[];
    };

interface NodeImagePlan {
  readonly action: NodeImageAction | undefined;
  readonly wakeAfterMs: number | undefined;
}

const VIRTUAL = { label: "type", value: "virtual-kubelet" };

/** One write at a time: the plan is made anew from what it returns. `now`: milliseconds since the epoch. */
export function planOneNodeImage(seen: NodeImageSeen, options: NodeImageOptions, now: number): NodeImagePlan {
  const { node, nodeImage } = seen;
  if (nodeImage === undefined) return node === undefined ? nothing : planCreation(node, options, now);
  const { deletionTimestamp, labels = {} } = nodeImage.metadata;
  if (deletionTimestamp !== undefined) return nothing;
  if (node === undefined && !(FAKE_LABEL in labels)) {
    return { action: { type: "delete", nodeImage }, wakeAfterMs: undefined };
  }
  const pruned = pruneNodeImage(nodeImage, { ...seen, now });
  const wanted = node !== undefined && !jsonEqual(labels, node.labels) ? { labels: node.labels } : {};
  const spec = pruned.spec === nodeImage.spec ? {} : { spec: pruned.spec };
  if ("labels" in wanted || "spec" in spec) {
    return { action: { type: "patch", nodeImage, ...wanted, ...spec }, wakeAfterMs: undefined };
  }
  const judged = judgeSilence(nodeImage, now);
  if (judged.status !== undefined) {
    const action = { type: "fail tasks", nodeImage, status: judged.status, tasks: judged.failed } as const;
    return { action, wakeAfterMs: undefined };
  }
  const nextAt = earlier(pruned.nextAt, judged.nextAt);
  return { action: undefined, wakeAfterMs: nextAt === undefined ? undefined : Math.max(1, nextAt - now) };
}

const nothing: NodeImagePlan = { action: undefined, wakeAfterMs: undefined };

function planCreation(node: SeenNode, { creationDelayMs }: NodeImageOptions, now: number): NodeImagePlan {
  if (node.readySince === undefined || node.labels[VIRTUAL.label] === VIRTUAL.value) return nothing;
  const wait = node.readySince + creationDelayMs - now;
  if (wait > 0) return { action: undefined, wakeAfterMs: wait };
  return { action: { type: "create", labels: node.labels }, wakeAfterMs: undefined };
}
