/** Small worlds of one ImageListPullJob: its jobs are made, pull and go, and the list changes meanwhile. Spec: images L2, L3. */
import { HASH_LABEL, planImageListPullJob } from "../../controller/kinds/image_list_pull_job/plan.ts";
import type {
  ImageListPullJob,
  ImageListPullJobSpec,
  ImageListPullJobStatus,
  ImagePullJob,
  ImagePullJobSpec,
} from "../../crds/index.ts";
import { formatTime, jsonEqual } from "../../kube/core/index.ts";
import { startMs } from "../controller/image_pull_job_builder.ts";
import type { Move, SmallWorld } from "./explore.ts";
import { put } from "./pull_state.ts";

type Jobs = ReadonlyMap<string, ImagePullJob>;
type Write = { readonly isStored: boolean; readonly name: string } & (
  | { readonly type: "create"; readonly job: ImagePullJob }
  | { readonly type: "delete" }
);

/** One pass: writes that are under way, and those that follow. No other begins before it ends. */
interface Run {
  readonly sent: readonly Write[];
  readonly next: readonly (readonly Write[])[];
}

interface ListState {
  readonly list: ImageListPullJob | undefined;
  readonly stored: Jobs;
  /** What the controller has heard of. */
  readonly seen: Jobs;
  readonly run: Run | undefined;
  /** Nobody waits for these any more, and the server has yet to carry them out. */
  readonly late: readonly Write[];
  /** Planned, and not stored yet. */
  readonly end: ImageListPullJobStatus | undefined;
  readonly made: number;
  readonly stage: number;
  readonly mishaps: number;
  readonly now: number;
}

interface ListStage {
  readonly name: string;
  /** Undefined: somebody deletes it. */
  readonly spec: Partial<ImageListPullJobSpec> | undefined;
  /** Whether the list is there in the end. */
  readonly stays: boolean;
}

export interface ListScenario {
  readonly name: string;
  readonly stages: readonly [ListStage, ...ListStage[]];
  readonly plan: typeof planImageListPullJob;
}

/** Its pulls fail. */
const BAD = "image-1";

export function imageListPullScenarios(images: number): ListScenario[] {
  const all = Array.from({ length: images }, (_, at) => `image-${at + 2}`);
  const stage = (name: string, spec: ListStage["spec"], stays = spec !== undefined): ListStage => ({
    name,
    spec,
    stays,
  });
  const scenario = (name: string, ...stages: ListScenario["stages"]): ListScenario => ({
    name: `ImageListPullJob ${name}`,
    stages,
    plan: planImageListPullJob,
  });
  const go = stage("go", { images: all });
  const more = stage("an image more", { images: [...all, "image-0"] });
  const endless = { completionPolicy: { type: "Never" } };
  return [
    scenario("as it was made", go),
    scenario("with an image that fails", stage("go", { images: [...all.slice(1), BAD] })),
    scenario("with an image more", go, more),
    scenario("with an image less", go, stage("an image less", { images: all.slice(1) })),
    scenario("with other images", go, stage("others", { images: all.map((image) => `${image}-new`) })),
    scenario("with another template", go, stage("another template", { parallelism: 2 })),
    scenario(
      "with another template, undone",
      go,
      stage("another", { parallelism: 2 }),
      stage("undone", { parallelism: 1 }),
    ),
    scenario("deleted meanwhile", go, stage("deleted", undefined)),
    scenario("with a time to live", {
      ...go,
      spec: { images: all, completionPolicy: { type: "Always", ttlSecondsAfterFinished: 20 } },
      stays: false,
    }),
    scenario("that never ends", { ...go, spec: { images: all, ...endless } }, more),
  ];
}

/** `mishaps`: how many may happen on one way. */
export function imageListPullWorld({ stages, plan }: ListScenario, mishaps: number): SmallWorld<ListState> {
  const start: ListState = {
    list: {
      metadata: { name: "list", namespace: "ns", uid: "list", generation: 1 },
      spec: { completionPolicy: { type: "Always" }, parallelism: 1, images: [], ...stages[0].spec },
    },
    stored: new Map(),
    seen: new Map(),
    run: undefined,
    late: [],
    end: undefined,
    made: 0,
    stage: 0,
    mishaps,
    now: startMs,
  };
  return {
    start,
    keyOf,
    movesOf: (state) => movesOf(state, plan, stages[state.stage + 1]),
    unsettled: (state) => unsettled(state, stages[state.stage]?.stays === true, mishaps - state.mishaps),
  };
}

/** Names mean nothing but their order: of two jobs that were made in one second the first by name is kept. */
function keyOf({ list, stored, seen, run, late, end, stage, mishaps, now }: ListState): string {
  const writes = [...(run?.sent ?? []), ...(run?.next.flat() ?? []), ...late];
  const names = [...new Set([...stored.keys(), ...seen.keys(), ...writes.map(({ name }) => name)])].sort(
    inOrder,
  );
  const of = (job: ImagePullJob | undefined) => job && [job.spec, job.status, job.metadata.deletionTimestamp];
  const ofWrite = (write: Write) => [
    names.indexOf(write.name),
    write.type === "create" && of(write.job),
    write.isStored,
  ];
  return JSON.stringify([
    list && [list.spec, list.status, list.metadata.labels],
    names.map((name) => [of(stored.get(name)), of(seen.get(name))]),
    run && [run.sent.map(ofWrite).sort(), run.next.map((batch) => batch.map(ofWrite))],
    late.map(ofWrite).sort(),
    end,
    stage,
    mishaps,
    now - startMs,
  ]);
}

function inOrder(a: string, b: string): number {
  return a < b ? -1 : 1;
}

function movesOf(
  state: ListState,
  plan: ListScenario["plan"],
  next: ListStage | undefined,
): Move<ListState>[] {
  const { stored, seen, run, late, end } = state;
  const moves: Move<ListState>[] = [{ name: "the controller passes", take: () => pass(state, plan) }];
  if (next !== undefined) moves.push({ name: next.name, take: () => asked(state, next) });
  for (const [name, job] of stored) moves.push({ name: `${name} goes on`, take: () => goesOn(state, job) });
  for (const name of new Set([...stored.keys(), ...seen.keys()]))
    if (stored.get(name) !== seen.get(name))
      moves.push({
        name: `the watch tells of ${name}`,
        take: () => ({ ...state, seen: put(seen, name, stored.get(name)) }),
      });
  for (const write of run?.sent ?? [])
    moves.push(
      write.isStored
        ? { name: `${write.type} ${write.name} is answered`, take: () => answered(state, write) }
        : { name: `${write.type} ${write.name} arrives`, take: () => arrives(state, write) },
    );
  for (const write of late)
    moves.push({
      name: `${write.type} ${write.name} arrives late`,
      take: () => ({ ...carriedOut(state, write), late: late.filter((other) => other !== write) }),
    });
  if (end !== undefined)
    moves.push({ name: "the end is stored", take: () => withStatus({ ...state, end: undefined }, end) });
  return state.mishaps > 0 ? [...moves, ...mishapsOf(state)] : moves;
}

function pass(state: ListState, planOf: ListScenario["plan"]): ListState | undefined {
  const { list, seen, run, end, now } = state;
  if (list === undefined || run !== undefined) return undefined;
  const plan = planOf({ job: list, children: [...seen.values()] }, now);
  const { remove, label, hash, status, requeueAfterMs } = plan;
  checkPass(state, list, plan);
  if (remove) return { ...state, list: undefined };
  const jobs = plan.create.map((spec, at) => jobOf(spec, hash, `job-${1000 + state.made + at}`, now));
  const creations = jobs.map((job): Write => ({ type: "create", name: nameOf(job), job, isStored: false }));
  const deletions = plan.delete.map((job): Write => ({ type: "delete", name: nameOf(job), isStored: false }));
  let after: ListState = { ...state, made: state.made + jobs.length };
  if (label !== undefined)
    after = { ...after, list: { ...list, metadata: { ...list.metadata, labels: { [HASH_LABEL]: label } } } };
  after = begun(after, [deletions, ...slowly(creations)]);
  if (status?.completionTime !== undefined) after = { ...after, end: status };
  else if (status !== undefined) after = withStatus({ ...after, end: undefined }, status);
  if (keyOf(after) !== keyOf(state)) return after;
  // Nothing but time is left.
  const isQuiet = end === undefined && [...state.stored].every(([name, job]) => seen.get(name) === job);
  return isQuiet && requeueAfterMs !== undefined ? { ...state, now: now + requeueAfterMs } : undefined;
}

function jobOf(spec: ImagePullJobSpec, hash: string, name: string, now: number): ImagePullJob {
  const metadata = {
    name,
    namespace: "ns",
    uid: name,
    labels: { [HASH_LABEL]: hash },
    creationTimestamp: formatTime(now),
  };
  return { metadata, spec };
}

function nameOf({ metadata }: ImagePullJob): string {
  return metadata.name ?? "";
}

/** L3.2: 1, 2, 4 and so on at a time. */
function slowly(writes: readonly Write[], size = 1): (readonly Write[])[] {
  return writes.length === 0 ? [] : [writes.slice(0, size), ...slowly(writes.slice(size), 2 * size)];
}

function begun(state: ListState, batches: readonly (readonly Write[])[]): ListState {
  const [sent, ...next] = batches.filter((batch) => batch.length > 0);
  return { ...state, run: sent && { sent, next } };
}

function carriedOut(state: ListState, write: Write): ListState {
  const { stored, now } = state;
  if (write.type === "create") return { ...state, stored: put(stored, write.name, write.job) };
  const job = stored.get(write.name);
  if (job === undefined) return state;
  const metadata = { ...job.metadata, deletionTimestamp: formatTime(now) };
  return { ...state, stored: put(stored, write.name, { ...job, metadata }) };
}

function arrives(state: ListState, write: Write): ListState {
  const sent = state.run?.sent.map((other) => (other === write ? { ...write, isStored: true } : other)) ?? [];
  return { ...carriedOut(state, write), run: { sent, next: state.run?.next ?? [] } };
}

/** What it returned is seen, unless something newer is. */
function answered(state: ListState, write: Write): ListState {
  const { seen, stored, run } = state;
  const isNews =
    write.type === "create" ? !seen.has(write.name) && stored.has(write.name) : seen.has(write.name);
  const known = write.type === "create" ? write.job : stored.get(write.name);
  return ended({ ...state, seen: isNews ? put(seen, write.name, known) : seen }, write, run?.next ?? []);
}

function ended(state: ListState, write: Write, next: Run["next"]): ListState {
  const sent = state.run?.sent.filter((other) => other !== write) ?? [];
  return sent.length > 0 ? { ...state, run: { sent, next } } : begun(state, next);
}

/** The controller of jobs and the collector. */
function goesOn(state: ListState, job: ImagePullJob): ListState | undefined {
  const { list, stored, now } = state;
  const { metadata, spec, status } = job;
  const become = (after: ImagePullJob | undefined): ListState => ({
    ...state,
    stored: put(stored, nameOf(job), after),
  });
  if (metadata.deletionTimestamp !== undefined || list === undefined) return become(undefined);
  const startTime = formatTime(now);
  if (status === undefined) return become({ ...job, status: { startTime, desired: 2, active: 1 } });
  if (status.active === 0) return undefined;
  const failed = spec.image === BAD ? 1 : 0;
  return become({ ...job, status: { startTime, desired: 2, active: 0, succeeded: 2 - failed, failed } });
}

function asked(state: ListState, { spec }: ListStage): ListState {
  const { list, stage } = state;
  const next = { ...state, stage: stage + 1 };
  if (list === undefined || spec === undefined) return { ...next, list: undefined };
  return { ...next, list: { ...list, spec: { ...list.spec, ...spec } } };
}

function withStatus(state: ListState, status: ImageListPullJobStatus): ListState {
  return { ...state, list: state.list && { ...state.list, status } };
}

function mishapsOf(state: ListState): Move<ListState>[] {
  const { stored, run, late, end } = state;
  const left = { ...state, mishaps: state.mishaps - 1 };
  const moves: Move<ListState>[] = [...stored.keys()].map((name) => ({
    name: `somebody deletes ${name}`,
    isMishap: true,
    take: () => carriedOut(left, { type: "delete", name, isStored: false }),
  }));
  const sent = (run?.sent ?? []).filter(({ isStored }) => !isStored);
  for (const write of sent)
    moves.push({
      name: `${write.type} ${write.name} is refused`,
      isMishap: true,
      take: () => ended(left, write, []),
    });
  if (run !== undefined || end !== undefined)
    moves.push({
      name: "the controller dies",
      isMishap: true,
      take: () => ({ ...left, run: undefined, end: undefined, seen: stored, late: [...late, ...sent] }),
    });
  return moves;
}

/** L3.2: the job of an image is the first one that was made of the template as it is. */
function kept(jobs: Jobs, { spec }: ImageListPullJob): Map<string, ImagePullJob> {
  const { images, ...template } = spec;
  const found = new Map<string, ImagePullJob>();
  for (const [, job] of [...jobs].sort(([a], [b]) => inOrder(a, b))) {
    const { image, ...rest } = job.spec;
    const isOne =
      job.metadata.deletionTimestamp === undefined && images.includes(image) && jsonEqual(rest, template);
    if (isOne && !found.has(image)) found.set(image, job);
  }
  return found;
}

function countsOf(jobs: Iterable<ImagePullJob>) {
  const begun = [...jobs].flatMap(({ status }) => status ?? []);
  const done = begun.filter(({ desired, succeeded = 0, failed = 0 }) => desired === succeeded + failed);
  return {
    active: begun.filter(({ active = 0 }) => active > 0).length,
    completed: done.length,
    succeeded: done.filter(({ failed = 0 }) => failed === 0).length,
  };
}

function checkPass(
  { seen, now }: ListState,
  list: ImageListPullJob,
  plan: ReturnType<ListScenario["plan"]>,
): void {
  const { images, completionPolicy } = list.spec;
  const completedAt = Date.parse(list.status?.completionTime ?? "");
  if (plan.remove && !(completedAt + (completionPolicy.ttlSecondsAfterFinished ?? Number.NaN) * 1000 <= now))
    throw new Error("it is removed too early");
  if (list.status?.completionTime !== undefined) {
    if (plan.create.length + plan.delete.length > 0) throw new Error("it goes on, and has ended");
    return;
  }
  const jobs = kept(seen, list);
  const created = plan.create.map(({ image }) => image).sort();
  const missing = images.filter((image) => !jobs.has(image)).sort();
  if (!jsonEqual(created, missing)) throw new Error(`it makes jobs for ${created}, ${missing} have none`);
  const counted = new Set(jobs.values());
  const others = [...seen.values()].filter(
    (job) => job.metadata.deletionTimestamp === undefined && !counted.has(job),
  );
  const found = plan.delete.map(nameOf).sort().join();
  const expected = others.map(nameOf).sort().join();
  if (found !== expected) throw new Error(`it deletes ${found} instead of ${expected}`);
  const { desired, active, completed, succeeded, completionTime } = plan.status ?? {};
  const counts = { desired: images.length, ...countsOf(counted) };
  if (!jsonEqual({ desired, active, completed, succeeded }, counts))
    throw new Error(`it reports ${JSON.stringify(plan.status)} of ${JSON.stringify(counts)}`);
  const mayEnd =
    completionPolicy.type === "Always" && counts.completed === images.length && others.length === 0;
  if (mayEnd !== (completionTime !== undefined))
    throw new Error(mayEnd ? "it goes on, and is over" : "it ends too early");
}

/** `mishaps`: how many have happened. A job may be gone, or come late, when the list has ended. */
function unsettled({ list, stored }: ListState, stays: boolean, mishaps: number): string | undefined {
  if (list === undefined) return stays || stored.size > 0 ? `no list, and ${stored.size} jobs` : undefined;
  if (!stays) return "a list";
  const { spec, status } = list;
  const isOver = status?.completionTime !== undefined;
  if (isOver !== (spec.completionPolicy.type === "Always")) return `the status ${JSON.stringify(status)}`;
  const failed = spec.images.filter((image) => image === BAD);
  const { desired, active, completed, succeeded, failedImageStatuses = [] } = status ?? {};
  const counts = [desired, active, completed, succeeded, failedImageStatuses.map(({ name }) => name)];
  const all = status?.desired ?? 0;
  if (!jsonEqual(counts, [all, 0, all, all - failed.length, failed]))
    return `the status ${JSON.stringify(status)}`;
  const present = [...stored.values()].map((job) => job.spec.image).sort();
  // L3.4: a list that has ended is not followed any more.
  if (isOver) return present.length === all || mishaps > 0 ? undefined : `${present.length} jobs of ${all}`;
  return jsonEqual(present, [...spec.images].sort()) ? undefined : `the jobs of ${present}`;
}
