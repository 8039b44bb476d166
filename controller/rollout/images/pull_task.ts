/** What a job writes into a NodeImage, and what it reads back. Pure. Spec: images P4.3 to P4.7. */
import {
  apiVersionOf,
  defaultPullBackoffLimit,
  defaultPullTimeoutSeconds,
  type ImagePullJob,
  imagePullJob,
  type NodeImage,
  type NodeImageSpec,
} from "../../../crds/index.ts";
import { familiarImage, formatTime, jsonEqual, put } from "../../../kube/core/index.ts";
import type { Edit } from "../../plan/effects.ts";
import {
  currentStatus,
  type ImageSpec,
  imageOf,
  PULL_JOB,
  type SecretReference,
  type TagOwner,
  type TagSpec,
  tagOf,
  tagStatusOf,
} from "./node_image.ts";

/** The image of a job as NodeImages know it, and the job as their owner reference. */
export interface PullTarget {
  readonly name: string;
  readonly tag: string;
  readonly owner: TagOwner;
  /** What nodes need to log in. */
  readonly secrets: readonly SecretReference[];
}

/** `unassigned`: the job has not been assigned to the node; `active`: no result yet. */
export type NodeState = "unassigned" | "active" | "succeeded" | "failed";

interface TaskOptions {
  /** Seconds that a finished task of policy Always stays beyond the job's own times. */
  readonly ttlSeconds: number;
  /** At least 0 and less than 1: spreads the ends of tasks, so that not every node is written to in the same second. */
  readonly chance: number;
  /** Milliseconds since the epoch. */
  readonly now: number;
}

/** An edit of a NodeImage: it is to have the task of the job. */
export interface PullTask extends Edit {
  readonly type: "pull task";
  readonly job: Pick<ImagePullJob, "spec">;
  readonly target: PullTarget;
  readonly options: TaskOptions;
}

export function isPullTask(edit: Edit): edit is PullTask {
  return edit.type === "pull task";
}

/** Throws ParseError `InvalidImage` for an image that admission would have refused. */
export function pullTarget(job: ImagePullJob, secrets: readonly SecretReference[]): PullTarget {
  const { name = "", namespace = "", uid = "" } = job.metadata;
  const owner = { apiVersion: apiVersionOf(imagePullJob), kind: PULL_JOB, name, namespace, uid };
  return { ...familiarImage(job.spec.image), owner, secrets };
}

/** How far the node is with the job. */
export function nodeState(nodeImage: NodeImage, target: PullTarget): NodeState {
  const tag = tagOf(nodeImage, target.name, target.tag);
  if (tag === undefined || !isOwned(tag, target)) return "unassigned";
  const phase = currentStatus(nodeImage, target.name, tag)?.phase;
  if (phase === "Succeeded") return "succeeded";
  if (phase === "Failed") return "failed";
  return "active";
}

/** Whether a node that the job was assigned to, done or not, lacks a secret that exists by now: its next pull needs it. */
export function lacksSecret(nodeImage: NodeImage, target: PullTarget): boolean {
  if (target.secrets.length === 0 || nodeState(nodeImage, target) === "unassigned") return false;
  const present = imageOf(nodeImage, target.name)?.pullSecrets ?? [];
  return target.secrets.some((secret) => !present.some((each) => isSameSecret(each, secret)));
}

/** The NodeImage's spec with the job's task in it; the very object when it is there already. */
export function withTask(
  nodeImage: NodeImage,
  job: PullTask["job"],
  target: PullTarget,
  options: TaskOptions,
): NodeImageSpec {
  const state = nodeState(nodeImage, target);
  if (state !== "unassigned" && !lacksSecret(nodeImage, target)) return nodeImage.spec;
  const before = imageOf(nodeImage, target.name);
  const image: ImageSpec = { ...(before ?? { tags: [] }), tags: before?.tags ?? [] };
  const secrets = mergedSecrets(image.pullSecrets ?? [], target.secrets);
  if (secrets.length > 0) image.pullSecrets = secrets;
  if (state === "unassigned") {
    image.tags = tagsWith(nodeImage, image.tags, job, target, options);
    if (job.spec.sandboxConfig === undefined) delete image.sandboxConfig;
    else image.sandboxConfig = job.spec.sandboxConfig;
  }
  const images: NonNullable<NodeImageSpec["images"]> = { ...nodeImage.spec?.images };
  put(images, target.name, image);
  return { ...nodeImage.spec, images };
}

function tagsWith(
  nodeImage: NodeImage,
  tags: readonly TagSpec[],
  job: PullTask["job"],
  target: PullTarget,
  options: TaskOptions,
): TagSpec[] {
  const createdAt = formatTime(options.now);
  const { imagePullPolicy } = job.spec;
  const policy = imagePullPolicy === undefined ? {} : { imagePullPolicy };
  const present = tags.find(({ tag }) => tag === target.tag);
  if (present !== undefined) {
    const { imagePullPolicy: replaced, ...rest } = present;
    const owners = [...(present.ownerReferences ?? []), target.owner];
    const again = {
      ...rest,
      version: (present.version ?? 0) + 1,
      createdAt,
      ownerReferences: owners,
      ...policy,
    };
    return tags.map((each) => (each === present ? again : each));
  }
  const reported = tagStatusOf(nodeImage, target.name, target.tag);
  const added: TagSpec = {
    tag: target.tag,
    version: reported === undefined ? 0 : (reported.version ?? 0) + 1,
    createdAt,
    pullPolicy: taskPolicy(job, options),
    ownerReferences: [target.owner],
    ...policy,
  };
  return [...tags, added].sort((a, b) => (a.tag < b.tag ? -1 : 1));
}

const DAY_SECONDS = 86_400;
const NEVER_SPREAD_SECONDS = 600;
const ALWAYS_SPREAD_SECONDS = 300;
const NEVER_DEADLINE_SECONDS = 1800;
/** The API keeps the time to live of a task in 32 bits, and refuses a NodeImage with a longer one. */
const LONGEST_TTL_SECONDS = 2_147_483_647;

function taskPolicy(
  job: PullTask["job"],
  { ttlSeconds, chance }: TaskOptions,
): NonNullable<TagSpec["pullPolicy"]> {
  const { pullPolicy = {}, completionPolicy } = job.spec;
  const timeoutSeconds = pullPolicy.timeoutSeconds ?? defaultPullTimeoutSeconds;
  const backoffLimit = pullPolicy.backoffLimit ?? defaultPullBackoffLimit;
  if (completionPolicy?.type === "Never") {
    const spread = Math.floor(chance * (2 * NEVER_SPREAD_SECONDS)) - NEVER_SPREAD_SECONDS;
    return {
      timeoutSeconds,
      backoffLimit,
      ttlSecondsAfterFinished: DAY_SECONDS + spread,
      activeDeadlineSeconds: Math.max(NEVER_DEADLINE_SECONDS, timeoutSeconds),
    };
  }
  const { activeDeadlineSeconds, ttlSecondsAfterFinished } = completionPolicy ?? {};
  const own = ttlSecondsAfterFinished ?? activeDeadlineSeconds ?? timeoutSeconds * backoffLimit;
  const ttl = own + ttlSeconds + Math.floor(chance * ALWAYS_SPREAD_SECONDS);
  return {
    timeoutSeconds,
    backoffLimit,
    ttlSecondsAfterFinished: Math.min(ttl, LONGEST_TTL_SECONDS),
    ...(activeDeadlineSeconds === undefined ? {} : { activeDeadlineSeconds }),
  };
}

function isOwned(tag: TagSpec, { owner }: PullTarget): boolean {
  return tag.ownerReferences?.some(({ uid }) => uid === owner.uid) ?? false;
}

function isSameSecret(a: SecretReference, b: SecretReference): boolean {
  return a.namespace === b.namespace && a.name === b.name;
}

/** The mode of a secret that is there already is put right: an edit through v1alpha1 drops it. */
function mergedSecrets(
  present: readonly SecretReference[],
  added: readonly SecretReference[],
): SecretReference[] {
  const merged = present.map((each) => added.find((one) => isSameSecret(one, each)) ?? each);
  for (const secret of added) {
    if (!merged.some((each) => isSameSecret(each, secret) || jsonEqual(each, secret))) merged.push(secret);
  }
  return merged;
}
