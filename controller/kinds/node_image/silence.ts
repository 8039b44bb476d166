/** What the controller says of tasks whose node does not. Pure. Spec: images N4.5. */
import type { NodeImage, NodeImageStatus } from "../../../crds/index.ts";
import { formatTime, put, timeOf } from "../../../kube/core/index.ts";
import { earliest } from "../../plan/earliest.ts";
import {
  currentStatus,
  type TagOwner,
  type TagSpec,
  type TagStatus,
  tagOf,
  tagStatusOf,
} from "../../rollout/images/node_image.ts";

/** How long a node may leave a task unanswered, and how late it may be after the task's own deadline. */
const RESPONSE_MS = 10 * 60_000;
const SILENT = "node has not responded for a long time";
const LATE = "pulling exceeds the activeDeadlineSeconds";

export interface FailedTask {
  /** `name:tag` */
  readonly image: string;
  readonly message: string;
  readonly owners: readonly TagOwner[];
}

interface SilentTasks {
  readonly failed: readonly FailedTask[];
  /** The status with the failed tasks in it; undefined when there are none. */
  readonly status: NodeImageStatus | undefined;
  /** When time alone fails the next task; milliseconds since the epoch. */
  readonly nextAt: number | undefined;
}

/** `now`: milliseconds since the epoch. */
export function classifySilence(nodeImage: NodeImage, now: number): SilentTasks {
  const failed: FailedTask[] = [];
  const failures: { name: string; status: TagStatus }[] = [];
  let nextAt: number | undefined;
  for (const [name, image] of Object.entries(nodeImage.spec?.images ?? {})) {
    for (const tag of image.tags ?? []) {
      // Of equal tags, which no admission lets through, the first counts, as for agents: the status has one entry for them.
      if (tagOf(nodeImage, name, tag.tag) !== tag) continue;
      const due = dueAt(nodeImage, name, tag);
      if (due === undefined) continue;
      if (due.at > now) {
        nextAt = earliest([nextAt, due.at]);
        continue;
      }
      const { message } = due;
      failed.push({ image: `${name}:${tag.tag}`, message, owners: tag.ownerReferences ?? [] });
      failures.push({ name, status: failedStatus(nodeImage, name, tag, message, now) });
    }
  }
  return { failed, status: failures.length === 0 ? undefined : statusWith(nodeImage, failures), nextAt };
}

function dueAt(
  nodeImage: NodeImage,
  name: string,
  tag: TagSpec,
): { at: number; message: string } | undefined {
  const createdAt = timeOf(tag.createdAt);
  if (createdAt === undefined) return undefined;
  const status = currentStatus(nodeImage, name, tag);
  if (status === undefined) return { at: createdAt + RESPONSE_MS, message: SILENT };
  const deadline = tag.pullPolicy?.activeDeadlineSeconds;
  if (typeof deadline !== "number" || timeOf(status.completionTime) !== undefined) return undefined;
  return { at: createdAt + deadline * 1000 + RESPONSE_MS, message: LATE };
}

function failedStatus(
  nodeImage: NodeImage,
  name: string,
  tag: TagSpec,
  message: string,
  now: number,
): TagStatus {
  const startTime = currentStatus(nodeImage, name, tag)?.startTime;
  return {
    tag: tag.tag,
    phase: "Failed",
    ...(startTime === undefined ? {} : { startTime }),
    completionTime: formatTime(now),
    ...(tag.version ? { version: tag.version } : {}),
    message,
  };
}

/** The status with the failures in the place of what was there, counted again. */
function statusWith(
  nodeImage: NodeImage,
  failures: readonly { name: string; status: TagStatus }[],
): NodeImageStatus {
  const imageStatuses: NonNullable<NodeImageStatus["imageStatuses"]> = {};
  for (const [name, image] of Object.entries(nodeImage.status?.imageStatuses ?? {})) {
    put(imageStatuses, name, { tags: [...(image.tags ?? [])] });
  }
  for (const { name, status } of failures) {
    const tags = Object.hasOwn(imageStatuses, name) ? (imageStatuses[name]?.tags ?? []) : [];
    const others = tags.filter((each) => each.tag !== status.tag);
    const sorted = [...others, status].sort((a, b) => (a.tag < b.tag ? -1 : 1));
    put(imageStatuses, name, { tags: sorted });
  }
  return {
    ...nodeImage.status,
    ...countTasks({ ...nodeImage, status: { desired: 0, imageStatuses } }),
    imageStatuses,
  };
}

type Counters = Pick<NodeImageStatus, "desired" | "succeeded" | "failed" | "pulling" | "waiting">;

/** Tasks of the spec by what the status says of their current version. */
function countTasks(nodeImage: NodeImage): Counters {
  const counts = { desired: 0, succeeded: 0, failed: 0, pulling: 0, waiting: 0 };
  for (const [name, image] of Object.entries(nodeImage.spec?.images ?? {})) {
    for (const { tag, version = 0 } of image.tags ?? []) {
      counts.desired++;
      const status = tagStatusOf(nodeImage, name, tag);
      if (status === undefined || (status.version ?? 0) !== version) continue;
      if (status.phase === "Succeeded") counts.succeeded++;
      else if (status.phase === "Failed") counts.failed++;
      else if (status.phase === "Pulling") counts.pulling++;
      else counts.waiting++;
    }
  }
  return counts;
}
