/**
 * EphemeralJobs as a small world: the reconciler, which hears late of jobs and pods, pods that others write as well, and people.
 * What a pass must not do, `ephemeral_rules.ts` says. Spec: containers 5.4.
 */
import { CLEANUP_FINALIZER } from "../../controller/kinds/ephemeral_job/model.ts";
import type { KindEffect } from "../../controller/plan/effects.ts";
import type { Result } from "../../controller/runtime/reconciler.ts";
import type { EphemeralJob } from "../../crds/index.ts";
import { createMergePatch, type JsonObject, jsonEqual } from "../../kube/core/index.ts";
import {
  answered,
  type Failure,
  nameOfWrite,
  type PassWrite,
  passOf,
  textOfWrite,
  underWay,
} from "./effect_passes.ts";
import { isFollowedUp, type JobObserved, type Pods, type passOver } from "./ephemeral_pass.ts";
import {
  atWork,
  checkInjection,
  checkRemoval,
  checkStatus,
  isGoing,
  isSelected,
  lackingPods,
  unsettledStatus,
} from "./ephemeral_rules.ts";
import {
  containersWritten,
  type Habit,
  jobWritten,
  startMs,
  stepOfNode,
  withoutJob,
  withPod,
} from "./ephemeral_server.ts";
import type {
  EphemeralState,
  JobPass,
  JobWrite,
  LateWrite,
  StatusWrite,
  Stored,
  Worker,
} from "./ephemeral_state.ts";
import type { Move, SmallWorld } from "./explore.ts";
import { put } from "./pull_state.ts";

/** What is asked for from some moment on. */
export interface EphemeralStage {
  readonly name: string;
  /** Undefined: the time for it has not come. */
  readonly change: (stored: Stored) => Partial<Stored> | undefined;
}

export interface EphemeralScenario {
  readonly name: string;
  readonly pods: Pods;
  readonly stages: readonly [EphemeralStage, ...EphemeralStage[]];
  /** Phases in which the jobs that are left may be at rest, by their names. */
  readonly ends: Readonly<Record<string, readonly string[]>>;
  readonly habits: Readonly<Record<string, Habit>>;
  /** Nobody waits for what time alone would change after that. */
  readonly lastsMs: number;
  readonly pass: typeof passOver;
}

/** As the shell waits after a race, and the queue after a refusal. */
const AGAIN_MS = { race: 100, refused: 1000 };

const idle: Worker = { isQueued: false, isFollowing: false, outcomes: new Map() };

/** `mishaps`: how many may happen on one way. */
export function ephemeralWorld(scenario: EphemeralScenario, mishaps: number): SmallWorld<EphemeralState> {
  const world = new EphemeralWorld(scenario, mishaps);
  return {
    start: world.start(),
    keyOf: (state) => world.keyOf(state),
    movesOf: (state) => world.movesOf(state),
    unsettled: (state) => world.unsettled(state),
  };
}

class EphemeralWorld {
  readonly #scenario: EphemeralScenario;
  readonly #mishaps: number;
  /** Of objects, which never change. */
  readonly #texts = new WeakMap<object, string>();

  constructor(scenario: EphemeralScenario, mishaps: number) {
    this.#scenario = scenario;
    this.#mishaps = mishaps;
  }

  start(): EphemeralState {
    const { pods, stages } = this.#scenario;
    const before = { jobs: new Map(), pods, now: startMs };
    const seen = { jobs: before.jobs, pods: undefined };
    const nothing = { seen, workers: new Map(), late: [], stage: 0, mishaps: this.#mishaps };
    return { ...before, ...stages[0].change(before), ...nothing };
  }

  keyOf(state: EphemeralState): string {
    const { jobs, pods, now, seen, workers, late, stage, mishaps } = state;
    const seenAs = (stored: object | undefined, held: object | undefined): string =>
      stored === held ? "=" : this.#textOf(held);
    const ofPods = (pods: Pods | undefined): unknown =>
      pods && [...pods].map(([name, pod]) => [name, this.#textOf(pod)]).sort();
    const ofJobWrite = (name: string, write: JobWrite): unknown => [
      write.is,
      write.base === jobs.get(name),
      write.base === seen.jobs.get(name),
      write.is === "status" && [write.patch, write.sent, write.isExact],
    ];
    const ofPass = (name: string, pass: JobPass | undefined): unknown => {
      if (pass === undefined || pass.is !== "containers") return pass && ofJobWrite(name, pass);
      const { job, writes, outcomes, requeueAfterMs } = pass;
      return [
        writes.failure,
        writes.batches.map((batch) => batch.map(textOfWrite).sort()),
        ofOutcomes(outcomes),
        this.#textOf(job.spec),
        requeueAfterMs,
      ];
    };
    const ofWorker = (name: string, worker: Worker): unknown => {
      const { isQueued, wakeAt, pass, status, isFollowing, outcomes, ended } = worker;
      const ofStatus = status && [ofJobWrite(name, status), jsonEqual(status.sent, status.offered)];
      const ofEnd = ended?.job === seen.jobs.get(name) && ended && [ended.now, ofPods(ended.pods)];
      return [name, isQueued, wakeAt, ofPass(name, pass), ofStatus, isFollowing, ofOutcomes(outcomes), ofEnd];
    };
    const ofLate = (one: LateWrite): string =>
      JSON.stringify([
        one.job,
        "write" in one ? ofJobWrite(one.job, one.write) : textOfWrite(one.containers),
      ]);
    return JSON.stringify([
      [...jobs].map(([name, job]) => [name, this.#textOf(job)]).sort(),
      namesOf(jobs, seen.jobs).map((name) => seenAs(jobs.get(name), seen.jobs.get(name))),
      ofPods(pods),
      seen.pods && namesOf(pods, seen.pods).map((name) => seenAs(pods.get(name), seen.pods?.get(name))),
      [...workers].map(([name, worker]) => ofWorker(name, worker)).sort(),
      late.map(ofLate).sort(),
      now - startMs,
      stage,
      mishaps,
    ]);
  }

  #textOf(object: object | undefined): string {
    if (object === undefined) return "";
    const text = this.#texts.get(object) ?? JSON.stringify(object);
    this.#texts.set(object, text);
    return text;
  }

  movesOf(state: EphemeralState): readonly Move<EphemeralState>[] {
    const moves = [...this.#workerMoves(state), ...watchMoves(state), ...this.#nodeMoves(state)];
    const next = this.#scenario.stages[state.stage + 1];
    const change = next?.change(state);
    const isAtRest = moves.length === 0;
    if (next !== undefined && change !== undefined)
      moves.push({ name: next.name, take: () => ({ ...state, ...change, stage: state.stage + 1 }) });
    if (isAtRest) moves.push({ name: "time passes", take: () => this.#timePasses(state) });
    return state.mishaps === 0 ? moves : [...moves, ...this.#mishapsOf(state)];
  }

  #workerMoves(state: EphemeralState): Move<EphemeralState>[] {
    const moves: Move<EphemeralState>[] = [];
    const move = (name: string, take: () => EphemeralState): void => void moves.push({ name, take });
    for (const [name, worker] of state.workers) {
      const { isQueued, pass, status } = worker;
      if (isQueued && pass === undefined)
        move(`the controller passes ${name}`, () => this.#passed(state, name, worker));
      if (pass?.is === "containers")
        for (const write of underWay(pass.writes))
          move(`${name}: ${nameOfWrite(write)} arrives`, () => this.#arrived(state, name, write));
      else if (pass !== undefined) move(`${name}: ${pass.is} arrives`, () => jobAnswered(state, name, pass));
      if (status !== undefined) move(`${name}: the status arrives`, () => jobAnswered(state, name, status));
    }
    for (const one of state.late)
      move(`${one.job}: a write arrives late`, () => this.#arrivedLate(state, one));
    return moves;
  }

  #nodeMoves(state: EphemeralState): Move<EphemeralState>[] {
    return [...state.pods.keys()].flatMap((name) => {
      const stored = stepOfNode(state, name, this.#scenario.habits[name]);
      return stored === undefined
        ? []
        : [{ name: `the node of ${name}`, take: () => ({ ...state, ...stored }) }];
    });
  }

  #passed(state: EphemeralState, name: string, { wakeAt: _, ...worker }: Worker): EphemeralState {
    const { seen, now } = state;
    const job = seen.jobs.get(name);
    const begun: Worker = { ...worker, isQueued: false };
    if (job === undefined) return withWorker(state, name, begun);
    const { deletionTimestamp, finalizers = [] } = job.metadata;
    if (deletionTimestamp === undefined && !finalizers.includes(CLEANUP_FINALIZER))
      return withWorker(state, name, { ...begun, pass: { is: "add finalizer", base: job } });
    const { isFollowing, outcomes } = worker;
    const before = worker.ended?.job === job ? worker.ended : undefined;
    const observed = { job, pods: seen.pods, isFollowing, outcomes, now };
    const { result, ...passed } = this.#scenario.pass({ ...observed, ended: before });
    const ended = before ?? (isEnd(job, result) ? observed : undefined);
    const next = { ...begun, ...passed, ended };
    if (result === undefined) return withWorker(state, name, next);
    check(before ?? observed, worker, result);
    const offered = { ...next, ...offeredStatus(job, worker, result) };
    return withWorker(state, name, { ...offered, ...begunPass(job, result, now) });
  }

  /** `lost`: its answer is. */
  #arrived(state: EphemeralState, name: string, write: PassWrite, lost?: "refused"): EphemeralState {
    const stored = containersWritten(state, write, this.#scenario.habits);
    if (typeof stored === "string") return this.#answered(state, name, write, stored);
    const written = { ...state, ...stored };
    const { pass } = workerOf(state, name);
    if (state.mishaps === this.#mishaps && pass?.is === "containers") checkBusy(written, pass.job);
    if (lost !== undefined) return this.#answered(written, name, write, lost);
    return this.#answered(podHeard(written, nameOfPod(write)), name, write);
  }

  #answered(state: EphemeralState, name: string, write: PassWrite, failure?: Failure): EphemeralState {
    const worker = workerOf(state, name);
    const { pass } = worker;
    if (pass?.is !== "containers" || write.type !== "patch") throw new Error("an answer to nothing");
    const outcome = failure === undefined ? {} : { error: failure };
    const outcomes = new Map(pass.outcomes).set(write.id ?? "", outcome);
    const next = answered(pass.writes, write, failure);
    if ("pass" in next)
      return withWorker(state, name, { ...worker, pass: { ...pass, writes: next.pass, outcomes } });
    const error = next.over === "done" ? undefined : next.over;
    const { seen, now } = state;
    const job = seen.jobs.get(name);
    const again = earliestOf(pass.requeueAfterMs, error && AGAIN_MS[error]);
    const wakeAt = again === undefined ? undefined : now + again;
    const over = { ...worker, pass: undefined, wakeAt };
    if (job === undefined) return withWorker(state, name, over);
    const observed: JobObserved = { ...worker, job, pods: undefined, now };
    const isQueued = worker.isQueued || isFollowedUp(observed, outcomes, error);
    // The newest come last.
    const older = [...worker.outcomes].filter(([uid]) => !outcomes.has(uid));
    const known = new Map([...older, ...outcomes]);
    return withWorker(state, name, { ...over, isQueued, outcomes: known });
  }

  #arrivedLate(state: EphemeralState, one: LateWrite): EphemeralState {
    const stored =
      "write" in one
        ? jobWritten(state, one.job, one.write)
        : containersWritten(state, one.containers, this.#scenario.habits);
    const next = typeof stored === "string" ? state : { ...state, ...stored };
    return { ...next, late: state.late.filter((other) => other !== one) };
  }

  /** Where nothing else can happen. */
  #timePasses(state: EphemeralState): EphemeralState | undefined {
    const now = earliestOf(...[...state.workers.values()].map(({ wakeAt }) => wakeAt));
    if (now === undefined || now > startMs + this.#scenario.lastsMs) return undefined;
    const workers = new Map(
      [...state.workers].map(([name, worker]) => [name, worker.wakeAt === now ? woken(worker) : worker]),
    );
    return { ...state, workers, now };
  }

  #mishapsOf(state: EphemeralState): Move<EphemeralState>[] {
    const moves: Move<EphemeralState>[] = [];
    const mishap = (name: string, take: (less: EphemeralState) => EphemeralState): void => {
      moves.push({ name, isMishap: true, take: () => take({ ...state, mishaps: state.mishaps - 1 }) });
    };
    if ([...state.workers.values()].some((worker) => worker !== idle)) mishap("the controller dies", died);
    for (const [name, { pass, status }] of state.workers) {
      if (pass?.is === "containers")
        for (const write of underWay(pass.writes)) {
          const what = `${name}: ${nameOfWrite(write)}`;
          mishap(`${what} is refused`, (less) => this.#answered(less, name, write, "refused"));
          mishap(`the answer to ${what} is lost`, (less) => this.#arrived(less, name, write, "refused"));
        }
      if (status !== undefined) {
        mishap(`${name}: the status is refused`, (less) => jobRefused(less, name, status, "refused"));
        mishap(`${name}: the answer to the status is lost`, (less) => {
          const stored = jobWritten(less, name, status);
          return jobRefused({ ...less, ...(stored === "race" ? {} : stored) }, name, status, "refused");
        });
      }
    }
    for (const [name, pod] of state.pods)
      if (!isGoing(pod)) {
        const going = { metadata: { deletionTimestamp: "2026-01-01T00:00:00Z" } };
        mishap(`somebody deletes ${name}`, (less) => ({ ...less, ...withPod(less, name, going) }));
        mishap(`${name} ends`, (less) => ({
          ...less,
          ...withPod(less, name, { status: { phase: "Failed" } }),
        }));
      }
    for (const [name, { metadata }] of state.jobs)
      if (metadata.deletionTimestamp === undefined)
        mishap(`somebody deletes ${name}`, (less) => ({ ...less, ...withoutJob(less, name) }));
    return moves;
  }

  unsettled(state: EphemeralState): string | undefined {
    const { jobs, pods, now, workers, mishaps } = state;
    const { ends, habits } = this.#scenario;
    const willing = new Map([...pods].filter(([name]) => habits[name] !== "refuses"));
    for (const [name, job] of jobs) {
      const wrong = unsettledStatus(job, pods, now) ?? lackingPods(job, willing);
      if (wrong !== undefined) return `${name}: ${wrong}`;
      const isWatching = workerOf(state, name).isFollowing;
      if (isWatching !== (job.status?.completionTime === undefined))
        return `${name} following pods: ${isWatching}`;
    }
    if (mishaps < this.#mishaps) return undefined;
    const phases = Object.fromEntries([...jobs].map(([name, { status }]) => [name, status?.phase ?? ""]));
    const isMeant = Object.entries(ends).every(([name, allowed]) => allowed.includes(phases[name] ?? "gone"));
    const isLeft = [...workers.keys()].some((name) => !jobs.has(name) && workerOf(state, name).isFollowing);
    return isMeant && !isLeft ? undefined : JSON.stringify(phases);
  }
}

function ofOutcomes(outcomes: Worker["outcomes"]): unknown {
  return [...outcomes].map(([uid, { error }]) => `${uid} ${error !== undefined}`);
}

function namesOf(one: ReadonlyMap<string, unknown>, other: ReadonlyMap<string, unknown>): string[] {
  return [...new Set([...one.keys(), ...other.keys()])].sort();
}

function earliestOf(...times: readonly (number | undefined)[]): number | undefined {
  const known = times.filter((time) => time !== undefined);
  return known.length === 0 ? undefined : Math.min(...known);
}

function workerOf({ workers }: EphemeralState, name: string): Worker {
  return workers.get(name) ?? idle;
}

/** A selection is watched for as long as a job follows its pods. */
function withWorker(state: EphemeralState, name: string, worker: Worker): EphemeralState {
  const workers = put(state.workers, name, worker);
  const isFollowed = [...workers.values()].some(({ isFollowing }) => isFollowing);
  const { jobs, pods } = state.seen;
  return { ...state, workers, seen: { jobs, pods: isFollowed ? pods : undefined } };
}

function queued(worker: Worker): Worker {
  return worker.isQueued ? worker : { ...worker, isQueued: true };
}

function woken({ wakeAt: _, ...worker }: Worker): Worker {
  return queued(worker);
}

function offeredStatus(job: EphemeralJob, { status }: Worker, result: Result): Pick<Worker, "status"> {
  const { status: offered, exactStatus = false } = result;
  if (offered === undefined) return {};
  if (status !== undefined) return { status: { ...status, offered } };
  const patch = createMergePatch(job.status ?? {}, offered);
  if (Object.keys(patch).length === 0) return {};
  const isExact = exactStatus || isEnd(job, result);
  return { status: { is: "status", base: job, patch, sent: offered, isExact, offered } };
}

function isEnd({ status: before }: EphemeralJob, result: Result | undefined): boolean {
  const { status = {} } = result ?? {};
  return before?.completionTime === undefined && "completionTime" in status;
}

function begunPass(
  job: EphemeralJob,
  { effects = [], requeueAfterMs }: Result,
  now: number,
): Partial<Worker> {
  const write = effects.find(isAboutJob);
  if (write !== undefined) return { pass: { is: write.type, base: job } };
  const writes = passOf(effects, "");
  if (writes !== undefined)
    return { pass: { is: "containers", writes, outcomes: new Map(), job, requeueAfterMs } };
  return requeueAfterMs === undefined ? {} : { wakeAt: now + requeueAfterMs };
}

function nameOfPod(write: PassWrite): string {
  return write.type === "patch status" ? "" : write.name;
}

function isAboutJob(
  effect: KindEffect,
): effect is KindEffect & { type: "remove finalizer" | "delete object" } {
  return effect.type === "remove finalizer" || effect.type === "delete object";
}

/** What a pass is about to do. */
function check(observed: JobObserved, worker: Worker, { status, effects = [] }: Result): void {
  const { job, now } = observed;
  const pods = observed.pods ?? new Map();
  if (status !== undefined) checkStatus(job, pods, now, status);
  const given = effects.flatMap((effect) => (effect.type === "writes" ? effect.writes : []));
  const refusing = [...worker.outcomes].flatMap(([uid, { error }]) => (error === undefined ? [] : [uid]));
  if (given.length > 0) {
    const names = given.map((write) => write.name);
    if (worker.ended?.job === job)
      throw new Error(`${names} are given containers, and the end of the job is planned`);
    checkInjection(job, pods, names, refusing);
  }
  const types = effects.map(({ type }) => type);
  if (types.includes("delete object")) checkRemoval(job, now);
  if (types.includes("remove finalizer") && worker.isFollowing && observed.pods !== undefined) {
    const left = atWork(job, pods);
    if (types.includes("event") !== left > 0)
      throw new Error(`it goes, and says the wrong thing of ${left} pods`);
  }
}

/** In truth, too: what was given is known to whoever gives more. */
function checkBusy({ pods }: EphemeralState, job: EphemeralJob): void {
  const busy = atWork(job, pods);
  const { parallelism = 1 } = job.spec;
  if (busy > parallelism) throw new Error(`the job is at work in ${busy} pods, ${parallelism} may be`);
}

function jobAnswered(state: EphemeralState, name: string, write: JobWrite): EphemeralState {
  const stored = jobWritten(state, name, write);
  if (stored === "race") return jobRefused(state, name, write, stored);
  const { status: _, pass: __, ...worker } = workerOf(state, name);
  const { status, pass } = workerOf(state, name);
  if (write.is !== "status") {
    // What was deleted is known to be going; the finalizer was the first step of a pass.
    const isQueued = worker.isQueued || write.is === "add finalizer";
    const next = withWorker({ ...state, ...stored }, name, { ...worker, status, isQueued });
    return jobHeard(next, name);
  }
  const isBehind = !jsonEqual(status?.sent, status?.offered);
  const next = { ...worker, pass, isQueued: worker.isQueued || isBehind };
  return jobHeard(withWorker({ ...state, ...stored }, name, next), name, write);
}

/** Who has lost a race with a write of the job alone reads what the other wrote; for its status the watch is waited for. */
function jobRefused(state: EphemeralState, name: string, write: JobWrite, failure: Failure): EphemeralState {
  const { status, pass, ...worker } = workerOf(state, name);
  const wakeAt = earliestOf(worker.wakeAt, state.now + AGAIN_MS[failure]);
  if (write.is !== "status") return jobHeard(withWorker(state, name, { ...worker, status, wakeAt }), name);
  const next = withWorker(state, name, { ...worker, pass, wakeAt });
  return state.jobs.has(name) ? next : jobHeard(next, name);
}

/** `own`: a write of the status that has just been answered. */
function jobHeard(state: EphemeralState, name: string, own?: StatusWrite): EphemeralState {
  const before = state.seen.jobs.get(name);
  const after = state.jobs.get(name);
  const seen = { ...state.seen, jobs: put(state.seen.jobs, name, after) };
  const worker = workerOf(state, name);
  const isSame = before?.metadata.uid === after?.metadata.uid;
  const kept = isSame ? worker : { ...worker, isFollowing: false, outcomes: idle.outcomes };
  const isByOthers = !jsonEqual(before?.status, after?.status) && !jsonEqual(own?.sent, after?.status);
  const isNews = before?.metadata.generation !== after?.metadata.generation || isByOthers || !isSame;
  return withWorker({ ...state, seen }, name, isNews && after !== undefined ? queued(kept) : kept);
}

/** Those that follow pods hear of a change of one. */
function podHeard(state: EphemeralState, name: string): EphemeralState {
  const { jobs, pods } = state.seen;
  const pod = shown(state.pods.get(name));
  if (pods === undefined || pods.get(name) === pod) return state;
  return followersQueued({ ...state, seen: { jobs, pods: put(pods, name, pod) } });
}

function podsListed(state: EphemeralState): EphemeralState {
  const pods = new Map([...state.pods].filter(([, pod]) => shown(pod) !== undefined));
  return followersQueued({ ...state, seen: { jobs: state.seen.jobs, pods } });
}

/** Only pods with the labels of the selection are. */
function shown(pod: JsonObject | undefined): JsonObject | undefined {
  return pod !== undefined && isSelected(pod) ? pod : undefined;
}

function followersQueued(state: EphemeralState): EphemeralState {
  const workers = [...state.workers].map(([name, worker]): [string, Worker] => [
    name,
    worker.isFollowing ? queued(worker) : worker,
  ]);
  return { ...state, workers: new Map(workers) };
}

function watchMoves(state: EphemeralState): Move<EphemeralState>[] {
  const { jobs, pods, seen, workers } = state;
  const moves: Move<EphemeralState>[] = [];
  for (const name of namesOf(jobs, seen.jobs))
    if (jobs.get(name) !== seen.jobs.get(name))
      moves.push({ name: `the watch tells of ${name}`, take: () => jobHeard(state, name) });
  if (seen.pods !== undefined) {
    for (const name of namesOf(pods, seen.pods))
      if (shown(pods.get(name)) !== seen.pods.get(name))
        moves.push({ name: `the watch tells of ${name}`, take: () => podHeard(state, name) });
  } else if ([...workers.values()].some(({ isFollowing }) => isFollowing))
    moves.push({ name: "the pods are listed", take: () => podsListed(state) });
  return moves;
}

/** What was sent arrives late, if it does. */
function died(state: EphemeralState): EphemeralState {
  const late = [...state.workers].flatMap(([job, { pass, status }]): LateWrite[] => [
    ...(status === undefined ? [] : [{ job, write: status }]),
    ...(pass === undefined
      ? []
      : pass.is === "containers"
        ? underWay(pass.writes).map((containers) => ({ job, containers }))
        : [{ job, write: pass }]),
  ]);
  const workers = new Map([...state.jobs.keys()].map((name) => [name, queued(idle)]));
  return { ...state, workers, late: [...state.late, ...late], seen: { jobs: state.jobs, pods: undefined } };
}
