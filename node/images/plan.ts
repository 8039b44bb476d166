/** What the node's pulls are and what its NodeImage says of them. Pure. Spec: images 7, agent 7. */
import type { NodeImageSpec, NodeImageStatus } from "../../crds/index.ts";
import { formatTime, isJsonObject, type JsonObject, timeOf } from "../../kube/core/index.ts";

export type PullPhase = "Waiting" | "Pulling" | "Succeeded" | "Failed";

/** One tag of one image at one version. Times are milliseconds since the Unix epoch. */
export interface PullTask {
  readonly image: string;
  readonly tag: string;
  readonly version: number;
  /** When the tag was asked for, as the NodeImage says now: its controller dates anew what a clock asked for that was ahead. */
  readonly createdAt?: string;
  readonly phase: PullPhase;
  readonly progress: number;
  readonly startedAt?: number;
  readonly completedAt?: number;
  readonly imageID: string;
  readonly message: string;
  /** Place in the queue: tasks start first come, first served. */
  readonly sequence: number;
}

export interface PullPlan {
  /** Every task of the spec, by `taskKey`; those in `start` are already Pulling. */
  readonly tasks: ReadonlyMap<string, PullTask>;
  /** Keys whose pull is to be stopped: gone from the spec, or replaced by a newer version. */
  readonly stop: readonly string[];
  readonly start: readonly string[];
  readonly status: NodeImageStatus;
}

export interface ImagePullObserved {
  readonly spec: NodeImageSpec;
  /** As the server has it. */
  readonly status: NodeImageStatus | undefined;
  readonly tasks: ReadonlyMap<string, PullTask>;
  /** At most so many pulls at once; 0 or less is no limit. */
  readonly maxPulls: number;
  /** False while there is no runtime: nothing starts, tasks wait with `reason` as their message. */
  readonly runtimeReady: boolean;
  readonly reason: string;
}

export function taskKey(image: string, tag: string): string {
  return JSON.stringify([image, tag]);
}

export function planNodeImage(observed: ImagePullObserved, now: number): PullPlan {
  const tasks = new Map<string, PullTask>();
  const stop: string[] = [];
  let sequence = Math.max(0, ...[...observed.tasks.values()].map((task) => task.sequence));
  for (const { image, tag, version, createdAt } of wantedTags(observed.spec)) {
    const key = taskKey(image, tag);
    const present = observed.tasks.get(key);
    const reported = taskFromStatus(observed.status, image, tag, version, sequence + 1);
    // The controller ends what is late. A task that it has ended is not pulled: both would write over each other for ever.
    const isEnded = reported?.completedAt !== undefined && present?.completedAt === undefined;
    if (present?.version === version && !isEnded) {
      tasks.set(key, askedFor(present, createdAt));
      continue;
    }
    if (present) stop.push(key);
    sequence++;
    tasks.set(key, askedFor(reported ?? newTask(image, tag, version, sequence), createdAt));
  }
  for (const key of observed.tasks.keys()) if (!tasks.has(key)) stop.push(key);
  const start = startable(tasks, stop, observed);
  for (const key of start) {
    const task = tasks.get(key);
    if (task) tasks.set(key, { ...task, phase: "Pulling", message: "", startedAt: task.startedAt ?? now });
  }
  // Those that wait for a slot once there is a runtime do not wait for it any more.
  const message = observed.runtimeReady ? "" : observed.reason;
  for (const [key, task] of tasks) if (task.phase === "Waiting") tasks.set(key, { ...task, message });
  return { tasks, stop, start, status: pullStatus(tasks) };
}

interface WantedTag {
  readonly image: string;
  readonly tag: string;
  readonly version: number;
  readonly createdAt: string | undefined;
}

/** Sorted by image and tag; of equal tags the first counts. Objects edited by hand may lack parts. */
function wantedTags(spec: NodeImageSpec): WantedTag[] {
  const wanted = new Map<string, WantedTag>();
  for (const [image, { tags }] of Object.entries(spec.images ?? {}).sort(byKey)) {
    for (const { tag, version, createdAt } of tags ?? []) {
      const key = taskKey(image, tag);
      if (tag !== "" && !wanted.has(key))
        wanted.set(key, { image, tag, version: version ?? 0, createdAt: createdAt ?? undefined });
    }
  }
  return [...wanted.values()];
}

function byKey(a: readonly [string, unknown], b: readonly [string, unknown]): number {
  return a[0] < b[0] ? -1 : a[0] > b[0] ? 1 : 0;
}

/** The very task where the time is the same. */
function askedFor(task: PullTask, createdAt: string | undefined): PullTask {
  return createdAt === undefined || createdAt === task.createdAt ? task : { ...task, createdAt };
}

function newTask(image: string, tag: string, version: number, sequence: number): PullTask {
  return { image, tag, version, phase: "Waiting", progress: 0, imageID: "", message: "", sequence };
}

/** A tag whose status of the same version is complete is not pulled again; one that ran keeps its start (rule 7.4). */
function taskFromStatus(
  status: NodeImageStatus | undefined,
  image: string,
  tag: string,
  version: number,
  sequence: number,
): PullTask | undefined {
  const found = tagsOfStatus(status, image).find((one) => one["tag"] === tag);
  if (!found || (found["version"] ?? 0) !== version) return undefined;
  const text = (name: string): string => (typeof found[name] === "string" ? found[name] : "");
  const task = newTask(image, tag, version, sequence);
  const startedAt = timeOf(text("startTime"));
  const started = startedAt === undefined ? {} : { startedAt };
  const completedAt = timeOf(text("completionTime"));
  if (completedAt === undefined) return { ...task, ...started };
  return {
    ...task,
    ...started,
    completedAt,
    phase: found["phase"] === "Succeeded" ? "Succeeded" : "Failed",
    progress: typeof found["progress"] === "number" ? found["progress"] : 0,
    imageID: text("imageID"),
    message: text("message"),
  };
}

/** Others can write the status, too: what is no list of objects says nothing. */
function tagsOfStatus(status: NodeImageStatus | undefined, image: string): JsonObject[] {
  const entry: unknown = status?.imageStatuses?.[image];
  const tags = isJsonObject(entry) ? entry["tags"] : undefined;
  return Array.isArray(tags) ? tags.filter(isJsonObject) : [];
}

/** Waiting tasks for which there is a slot. A stopped pull gives its slot back at once: its call is cancelled. */
function startable(
  tasks: ReadonlyMap<string, PullTask>,
  stop: readonly string[],
  observed: ImagePullObserved,
): string[] {
  if (!observed.runtimeReady) return [];
  const waiting = [...tasks].filter(([, task]) => task.phase === "Waiting");
  waiting.sort(([, a], [, b]) => a.sequence - b.sequence);
  const running = [...tasks].filter(([key, task]) => task.phase === "Pulling" && !stop.includes(key)).length;
  const slots = observed.maxPulls > 0 ? Math.max(0, observed.maxPulls - running) : waiting.length;
  return waiting.slice(0, slots).map(([key]) => key);
}

export function pullStatus(tasks: ReadonlyMap<string, PullTask>): NodeImageStatus {
  const count = (phase: PullPhase): number =>
    [...tasks.values()].filter((task) => task.phase === phase).length;
  const images = new Map<string, TagStatus[]>();
  for (const task of tasks.values())
    images.set(task.image, [...(images.get(task.image) ?? []), tagStatus(task)]);
  const imageStatuses: NonNullable<NodeImageStatus["imageStatuses"]> = {};
  for (const [image, tags] of [...images].sort(byKey)) {
    tags.sort((a, b) => (a.tag < b.tag ? -1 : a.tag > b.tag ? 1 : 0));
    Object.defineProperty(imageStatuses, image, { value: { tags }, enumerable: true, configurable: true });
  }
  return {
    desired: tasks.size,
    succeeded: count("Succeeded"),
    failed: count("Failed"),
    pulling: count("Pulling"),
    waiting: count("Waiting"),
    ...(images.size > 0 ? { imageStatuses } : {}),
  };
}

type TagStatus = NonNullable<NodeImageStatus["imageStatuses"]>[string]["tags"][number];

/** Zero and empty members are left out, as the reference's writer does. */
function tagStatus(task: PullTask): TagStatus {
  const { startedAt, completedAt } = task;
  return {
    tag: task.tag,
    phase: task.phase,
    ...(task.progress > 0 ? { progress: task.progress } : {}),
    ...(startedAt === undefined ? {} : { startTime: formatTime(startedAt) }),
    ...(completedAt === undefined ? {} : { completionTime: formatTime(completedAt) }),
    ...(task.version !== 0 ? { version: task.version } : {}),
    ...(task.imageID ? { imageID: task.imageID } : {}),
    ...(task.message ? { message: task.message } : {}),
  };
}
