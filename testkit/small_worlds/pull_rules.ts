/** What passes of ImagePullJobs, their writes and those who answer them must not do, from the rules alone. Spec: images P4, N4, 7. */
import type { ImagePullJob, ImagePullJobStatus, NodeImage } from "../../crds/index.ts";
import { jsonEqual } from "../../kube/core/index.ts";
import { type PullPlan, taskKey } from "../../node/index.ts";
import type { Edit, PullState } from "./pull_state.ts";

type Task = NonNullable<NodeImage["spec"]["images"]>[string]["tags"][number];
type How = "unassigned" | "active" | "succeeded" | "failed";

export function tasksOf({ spec }: NodeImage): ReadonlyMap<string, Task> {
  const images = Object.entries(spec.images ?? {});
  return new Map(images.flatMap(([name, { tags }]) => tags.map((task) => [`${name}:${task.tag}`, task])));
}

function reportOf({ status }: NodeImage, image: string) {
  const [name = "", tag] = image.split(":");
  return status?.imageStatuses?.[name]?.tags.find((each) => each.tag === tag);
}

/** P4.3, P4.7. */
function howIs(nodeImage: NodeImage | undefined, { metadata, spec: { image } }: ImagePullJob): How {
  if (nodeImage === undefined) return "unassigned";
  const task = tasksOf(nodeImage).get(image);
  if (!ownersOf(task).includes(metadata.uid)) return "unassigned";
  const { phase, version = 0 } = reportOf(nodeImage, image) ?? {};
  if (version !== (task?.version ?? 0)) return "active";
  return phase === "Succeeded" ? "succeeded" : phase === "Failed" ? "failed" : "active";
}

function ownersOf(task: Task | undefined): (string | undefined)[] {
  return (task?.ownerReferences ?? []).map(({ uid }) => uid);
}

/** P4.2. Of the NodeImages: how far each one is that the job selects, in the order of names. */
export function progressOf(
  images: ReadonlyMap<string, NodeImage>,
  job: ImagePullJob,
  { pods }: Pick<PullState, "pods">,
): Map<string, How> {
  const { selector, podSelector } = job.spec;
  const isSelected = (name: string, { metadata }: NodeImage): boolean => {
    if (podSelector !== undefined) return pods.some(({ nodeName }) => nodeName === name);
    if (selector?.names !== undefined) return selector.names.includes(name);
    return Object.entries(selector?.matchLabels ?? {}).every(
      ([key, value]) => metadata.labels?.[key] === value,
    );
  };
  const names = [...images.keys()].sort();
  const selected = names.flatMap((name): [string, How][] => {
    const image = images.get(name);
    return image !== undefined && isSelected(name, image) ? [[name, howIs(image, job)]] : [];
  });
  return new Map(selected);
}

/** `told`: the nodes that the pass has begun to write to. */
export function checkPass(
  state: PullState,
  job: ImagePullJob,
  status: ImagePullJobStatus | undefined,
  told: readonly string[],
): void {
  const seen = progressOf(state.seen, job, state);
  const inFlight = new Set(
    state.writes
      .filter(({ edits, waiting }) => [...edits, ...waiting].some((edit) => isOf(edit, job)))
      .map(({ node }) => node),
  );
  checkTold(state, job, { seen, inFlight, told });
  if (status === undefined) return;
  const all = [...seen].map(([node, how]) =>
    how === "unassigned" && (inFlight.has(node) || told.includes(node)) ? "active" : how,
  );
  const count = (how: How): number => all.filter((each) => each === how).length;
  const named = (...hows: How[]): string[] =>
    [...seen].flatMap(([node, how]) => (hows.includes(how) ? [node] : []));
  const isOver = status.completionTime !== undefined;
  const expected = {
    desired: seen.size,
    active: isOver ? 0 : count("active"),
    succeeded: count("succeeded"),
    failed: isOver ? seen.size - count("succeeded") : count("failed"),
    failedNodes: isOver ? named("failed", "active", "unassigned") : named("failed"),
  };
  const { desired, active, succeeded, failed, failedNodes = [] } = status;
  const counts = { desired, active, succeeded, failed, failedNodes };
  if (!jsonEqual(counts, expected)) throw new Error(`it reports ${text(counts)} of ${text(expected)}`);
  checkEnd(state, job, isOver, count("unassigned") + count("active"));
}

/** P4.8, P4.10. `left`: nodes without a result. */
function checkEnd(
  { now, seen, nodes }: PullState,
  { spec, status }: ImagePullJob,
  isOver: boolean,
  left: number,
): void {
  const { type = "Always", activeDeadlineSeconds } = spec.completionPolicy;
  const isLate =
    activeDeadlineSeconds !== undefined &&
    status?.startTime !== undefined &&
    Date.parse(status.startTime) + activeDeadlineSeconds * 1000 <= now;
  // docs/compatibility.md: a job waits for the NodeImages of nodes that are ready.
  const mayWait = [...nodes.keys()].some((name) => !seen.has(name));
  if (isOver && type === "Never") throw new Error("it ends, and never may");
  if (isOver && left > 0 && !isLate) throw new Error(`it ends, and ${left} nodes have no result`);
  if (!isOver && type === "Always" && (isLate || (left === 0 && !mayWait)))
    throw new Error("it goes on, and is over");
}

/** P4.3: in the order of names, so many at a time, and none while the job has told it already. */
function checkTold(
  state: PullState,
  job: ImagePullJob,
  { seen, inFlight, told }: { seen: Map<string, How>; inFlight: Set<string>; told: readonly string[] },
): void {
  if (told.length === 0) return;
  const { stored, holds, now } = state;
  if (job.status?.completionTime !== undefined) throw new Error("it goes on, and has ended");
  const isHeld = (name: string): boolean =>
    holds.some(({ job: uid, node, until }) => uid === job.metadata.uid && node === name && until > now);
  const open = [...seen].flatMap(([node, how]) =>
    how === "unassigned" && !inFlight.has(node) ? [node] : [],
  );
  const allowed = open.filter((node) => told.includes(node) || !isHeld(node)).slice(0, told.length);
  if (!jsonEqual(allowed, told)) throw new Error(`${told} are told, it is the turn of ${allowed}`);
  // Of late writes nobody knows, and a pull that has ended may have been begun again by another job (P4.4).
  const isAtWork = ([node, how]: [string, How]): boolean =>
    told.includes(node) ||
    (!isDone(how) && inFlight.has(node)) ||
    (how === "active" && howIs(stored.get(node), job) === "active");
  const atWork = [...seen].filter(isAtWork).length;
  const { parallelism = 1 } = job.spec;
  if (atWork > Number(parallelism)) throw new Error(`${atWork} nodes pull, ${parallelism} may`);
}

export function isDone(how: How): boolean {
  return how === "succeeded" || how === "failed";
}

/** P4.4: what is there already stays, and is pulled again for whoever comes. */
export function checkTask(before: NodeImage, after: NodeImage, edits: readonly Edit[]): void {
  const was = tasksOf(before);
  const is = tasksOf(after);
  for (const image of new Set([...was.keys(), ...is.keys()])) {
    const old = was.get(image);
    const present = ownersOf(old);
    const added = edits
      .filter(({ job }) => job.spec.image === image)
      .map(({ job }) => job.metadata.uid)
      .filter((uid) => !present.includes(uid));
    const known = old ?? reportOf(before, image);
    const version = (known === undefined ? -1 : (known.version ?? 0)) + added.length;
    const expected = { owners: [...present, ...added], version };
    const task = is.get(image);
    const found = { owners: ownersOf(task), version: task?.version ?? 0 };
    if (!jsonEqual(found, expected))
      throw new Error(`${image} becomes ${text(found)} instead of ${text(expected)}`);
    if (added.length === 0 && !jsonEqual(task, old))
      throw new Error(`${image} changes, and nobody asked for it`);
    if (old !== undefined && !jsonEqual(task?.pullPolicy, old.pullPolicy))
      throw new Error(`${image} loses its policy`);
  }
}

/** N4.3, N4.4; docs/compatibility.md: a result stays as long as its job waits for others. */
export function checkTidied({ jobs }: PullState, before: NodeImage, after: NodeImage): void {
  const is = tasksOf(after);
  for (const [image, task] of tasksOf(before)) {
    const living = jobs.filter(({ metadata }) => ownersOf(task).includes(metadata.uid));
    const owners = is.has(image) ? ownersOf(is.get(image)) : undefined;
    const isAwaited = living.some(
      ({ spec, status }) => spec.completionPolicy.type !== "Never" && status?.completionTime === undefined,
    );
    if (owners === undefined && isAwaited) throw new Error(`${image} goes, and its job waits for it`);
    if (owners !== undefined && owners.length !== Math.max(1, living.length))
      throw new Error(`${image} stays for ${owners}, of which ${living.length} are there`);
  }
}

/** P4.9. */
export function checkRemoval({ now }: PullState, { spec, status }: ImagePullJob): void {
  const { ttlSecondsAfterFinished: ttl = Number.NaN } = spec.completionPolicy;
  if (!(Date.parse(status?.completionTime ?? "") + ttl * 1000 <= now))
    throw new Error("it is removed too early");
}

/** 7.4. */
export function checkPulls(nodeImage: NodeImage, { start }: PullPlan): void {
  for (const [image, { version = 0 }] of tasksOf(nodeImage)) {
    const [name = "", tag = ""] = image.split(":");
    const report = reportOf(nodeImage, image);
    const isComplete = report?.completionTime !== undefined && (report.version ?? 0) === version;
    if (isComplete && start.includes(taskKey(name, tag))) throw new Error(`${image} is pulled again`);
  }
}

function isOf({ job }: Edit, { metadata }: ImagePullJob): boolean {
  return job.metadata.uid === metadata.uid;
}

const text = JSON.stringify;
