/** What is asked of one pull, and what is reported of its end. Pure. Spec: images 7.5 to 7.9, N2. */
import type { NodeImageSpec } from "../../crds/index.ts";
import { goDuration } from "../../kube/core/index.ts";
import type { PullTask } from "./plan.ts";

type ImageSpec = NonNullable<NodeImageSpec["images"]>[string];
type TagSpec = ImageSpec["tags"][number];
export type SecretRef = NonNullable<ImageSpec["pullSecrets"]>[number];
export type OwnerRef = NonNullable<TagSpec["ownerReferences"]>[number];

export interface PullOrder {
  readonly image: string;
  readonly tag: string;
  readonly onlyIfAbsent: boolean;
  readonly timeoutSeconds: number;
  /** Attempts after the first. */
  readonly backoffLimit: number;
  /** Milliseconds left of activeDeadlineSeconds; undefined: no limit. */
  readonly deadlineMs: number | undefined;
  readonly labels: Readonly<Record<string, string>>;
  readonly annotations: Readonly<Record<string, string>>;
  readonly secrets: readonly SecretRef[];
  /** The jobs that asked for the tag. */
  readonly owners: readonly OwnerRef[];
}

const defaultTimeoutSeconds = 600;
const defaultBackoffLimit = 3;

/** Undefined when the spec does not want it any more. An empty imagePullPolicy means Always at the agent. */
export function pullOrder(task: PullTask, spec: NodeImageSpec, now: number): PullOrder | undefined {
  const image = spec.images?.[task.image];
  const tag = image?.tags.find((one) => one.tag === task.tag);
  if (!image || !tag) return undefined;
  const { timeoutSeconds = 0, backoffLimit = -1, activeDeadlineSeconds } = tag.pullPolicy ?? {};
  const spentMs = Math.max(0, now - (task.startedAt ?? now));
  return {
    image: task.image,
    tag: task.tag,
    onlyIfAbsent: tag.imagePullPolicy === "IfNotPresent",
    timeoutSeconds: timeoutSeconds > 0 ? timeoutSeconds : defaultTimeoutSeconds,
    backoffLimit: backoffLimit < 0 ? defaultBackoffLimit : backoffLimit,
    deadlineMs:
      typeof activeDeadlineSeconds !== "number"
        ? undefined
        : Math.max(0, activeDeadlineSeconds * 1000 - spentMs),
    labels: image.sandboxConfig?.labels ?? {},
    annotations: image.sandboxConfig?.annotations ?? {},
    secrets: image.pullSecrets ?? [],
    owners: tag.ownerReferences ?? [],
  };
}

export type PullResult =
  | { readonly ok: true; readonly imageID: string; readonly pulled: boolean }
  | { readonly ok: false; readonly message: string };

export function endedTask(task: PullTask, result: PullResult, now: number): PullTask {
  return {
    ...task,
    completedAt: now,
    ...(result.ok
      ? { phase: "Succeeded", progress: 100, imageID: result.imageID, message: "" }
      : { phase: "Failed", progress: 0, imageID: "", message: shortened(result.message) }),
  };
}

/** Longest message in the status: a registry may answer with a whole page, and all tags share one object. */
const longestMessage = 1024;

function shortened(message: string): string {
  return message.length > longestMessage ? `${message.slice(0, longestMessage - 1)}…` : message;
}

/** The event about a pull's end. A failure is reported on the jobs that asked for the tag as well. */
export function pullEvent({ image, tag }: PullTask, result: PullResult, tookMs: number) {
  const name = `${image}:${tag}`;
  return result.ok
    ? ({
        type: "Normal",
        reason: "PullImageSucceed",
        message: `Image ${name}, ecalpsedTime ${goDuration(tookMs)}`,
      } as const)
    : ({ type: "Warning", reason: "PullImageFailed", message: `Image ${name} ${result.message}` } as const);
}
