/** What one node's NodeImage needs. Pure. Spec: images N4. */
import { apiVersionOf, imagePullJob, type NodeImage } from "../../../crds/index.ts";
import { createMergePatch, jsonEqual } from "../../../kube/core/index.ts";
import { earliest } from "../../plan/earliest.ts";
import type { KindEffect } from "../../plan/effects.ts";
import { FAKE_LABEL, PULL_JOB } from "../../rollout/images/node_image.ts";
import { type NodeForImages, nodeImageDueAt } from "../../rollout/images/node_image_due.ts";
import { type PruneFacts, pruneNodeImage } from "./prune.ts";
import { classifySilence, type FailedTask } from "./silence.ts";

export interface NodeImageObserved extends Omit<PruneFacts, "now"> {
  readonly node: NodeForImages | undefined;
  readonly nodeImage: NodeImage | undefined;
}

interface NodeImageOptions {
  /** How long a node must be Ready before it gets its NodeImage. */
  readonly creationDelayMs: number;
}

interface NodeImagePlan {
  /** At most one write, and what is said of it. */
  readonly effects: readonly KindEffect[];
  readonly requeueAfterMs: number | undefined;
}

/** One write at a time: the plan is made again from what it returns. `now`: milliseconds since the epoch. */
export function planOneNodeImage(
  observed: NodeImageObserved,
  options: NodeImageOptions,
  now: number,
): NodeImagePlan {
  const { node, nodeImage } = observed;
  if (nodeImage === undefined) return node === undefined ? nothing : planCreation(node, options, now);
  const { deletionTimestamp, labels = {} } = nodeImage.metadata;
  if (deletionTimestamp !== undefined) return nothing;
  if (node === undefined && !(FAKE_LABEL in labels)) {
    return { effects: [{ type: "delete object" }], requeueAfterMs: undefined };
  }
  const pruned = pruneNodeImage(nodeImage, { ...observed, now });
  const isLabelled = node === undefined || jsonEqual(labels, node.labels);
  if (!isLabelled || pruned.spec !== nodeImage.spec) {
    const body = {
      ...(isLabelled ? {} : { metadata: { labels: createMergePatch(labels, node.labels) } }),
      ...(pruned.spec === nodeImage.spec ? {} : { spec: createMergePatch(nodeImage.spec, pruned.spec) }),
    };
    return { effects: [{ type: "patch object", body, exact: true }], requeueAfterMs: undefined };
  }
  const silent = classifySilence(nodeImage, now);
  if (silent.status !== undefined) {
    const status = createMergePatch(nodeImage.status ?? {}, silent.status);
    const events = silent.failed.flatMap((task) => eventsOf(nodeImage, task));
    return { effects: [{ type: "patch status", status, exact: true }, ...events], requeueAfterMs: undefined };
  }
  const nextAt = earliest([pruned.nextAt, silent.nextAt]);
  return { effects: [], requeueAfterMs: nextAt === undefined ? undefined : Math.max(1, nextAt - now) };
}

const nothing: NodeImagePlan = { effects: [], requeueAfterMs: undefined };

function planCreation(
  node: NodeForImages,
  { creationDelayMs }: NodeImageOptions,
  now: number,
): NodeImagePlan {
  const dueAt = nodeImageDueAt(node, creationDelayMs);
  if (dueAt === undefined) return nothing;
  if (dueAt > now) return { effects: [], requeueAfterMs: dueAt - now };
  const body = { metadata: { labels: node.labels }, spec: {} };
  return { effects: [{ type: "create object", body }], requeueAfterMs: undefined };
}

/** About the NodeImage and about each job that asked for the image. */
function eventsOf({ metadata }: NodeImage, { image, message, owners }: FailedTask): KindEffect[] {
  const text = `Failed to pull image ${image} on node ${metadata.name} for ${message}`;
  const event = { type: "Warning", reason: "PullImageFailed", message: text } as const;
  const jobs = owners.map(({ apiVersion, kind = PULL_JOB, namespace, name = "", uid = "" }) => ({
    apiVersion: apiVersion ?? apiVersionOf(imagePullJob),
    kind,
    name,
    uid,
    ...(namespace ? { namespace } : {}),
  }));
  return [{ type: "event", event }, ...jobs.map((about) => ({ type: "event", event, about }) as const)];
}
