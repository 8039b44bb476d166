/**
 * Small worlds of one AdvancedCronJob whose time comes every minute: runs that end late, writes under way while the clock goes on,
 * people, and a controller that dies between a run and the status that remembers it. Spec: jobs A4.
 */
import type { Child } from "../../controller/kinds/advanced_cron_job/observe.ts";
import { planAdvancedCronJob } from "../../controller/kinds/advanced_cron_job/plan.ts";
import { cronJobResult } from "../../controller/kinds/advanced_cron_job/reconcile.ts";
import type { KindEffect } from "../../controller/plan/effects.ts";
import type { AdvancedCronJob, AdvancedCronJobSpec } from "../../crds/index.ts";
import { applyMergePatch, createMergePatch, timeOf } from "../../kube/core/index.ts";
import {
  answered,
  type Failure,
  isMet,
  nameOfWrite,
  type Pass,
  type PassWrite,
  passOf,
  textOfWrite,
  underWay,
} from "./effect_passes.ts";
import type { Move, SmallWorld } from "./explore.ts";

/** What is asked for from some moment on. */
export interface CronStage {
  readonly name: string;
  readonly spec: Partial<AdvancedCronJobSpec>;
}

export interface CronScenario {
  readonly name: string;
  readonly stages: readonly [CronStage, ...CronStage[]];
  /** How its runs end. */
  readonly end: "succeeded" | "failed";
  /** How often the clock goes on. */
  readonly steps: number;
  readonly stepMs: number;
  readonly plan: typeof planAdvancedCronJob;
  readonly result: typeof cronJobResult;
}

export interface State {
  readonly job: AdvancedCronJob;
  readonly children: readonly Child[];
  /** Milliseconds since the epoch. */
  readonly now: number;
  /** How often the clock will go on. */
  readonly steps: number;
  /** In the background: no pass is made before it has ended. */
  readonly pass?: Pass | undefined;
  /** What a refusal holds back for a while. */
  readonly held: string;
  readonly attempt: string;
  readonly status?: PassWrite | undefined;
  /** Sent by a controller that died. */
  readonly late: readonly PassWrite[];
  /** Times that were run. */
  readonly ran: readonly number[];
  readonly stage: number;
  readonly mishaps: number;
}

const minute = 60_000;
const uid = "u";

/** `steps`: how often the clock goes on, mostly by a minute. */
export function cronScenarios(steps: number): CronScenario[] {
  const scenario = (name: string, ...stages: CronScenario["stages"]): CronScenario => ({
    name: `AdvancedCronJob ${name}`,
    stages,
    end: "succeeded",
    steps,
    stepMs: minute,
    plan: planAdvancedCronJob,
    result: cronJobResult,
  });
  const asked = (spec: Partial<AdvancedCronJobSpec>): CronStage => ({ name: "as it was", spec });
  const failing: typeof scenario = (...all) => ({ ...scenario(...all), end: "failed" });
  const none = { successfulJobsHistoryLimit: 0, failedJobsHistoryLimit: 0 };
  return [
    scenario("that allows runs beside each other", asked({ concurrencyPolicy: "Allow" })),
    scenario("that forbids runs beside each other", asked({ concurrencyPolicy: "Forbid" })),
    scenario("that replaces runs", asked({ concurrencyPolicy: "Replace" })),
    {
      ...scenario("with a deadline", asked({ concurrencyPolicy: "Forbid", startingDeadlineSeconds: 20 })),
      stepMs: minute / 2,
    },
    scenario("with a history of one", asked({ successfulJobsHistoryLimit: 1 })),
    scenario("without a history", asked(none)),
    failing("without a history of what failed", asked(none)),
    scenario(
      "paused, then resumed",
      asked({}),
      { name: "a pause", spec: { paused: true } },
      { name: "resumed", spec: { paused: false } },
    ),
    scenario("with another schedule", asked({}), {
      name: "every other minute",
      spec: { schedule: "*/2 * * * *" },
    }),
    scenario("that replaces runs after it allowed them", asked({}), {
      name: "Replace",
      spec: { concurrencyPolicy: "Replace" },
    }),
  ];
}

/** `mishaps`: how many may happen on one way. */
export function cronWorld(scenario: CronScenario, mishaps: number): SmallWorld<State> {
  const world = new CronWorld(scenario);
  return {
    start: world.start(mishaps),
    keyOf,
    movesOf: (state) => world.movesOf(state),
    unsettled,
  };
}

class CronWorld {
  readonly #scenario: CronScenario;

  constructor(scenario: CronScenario) {
    this.#scenario = scenario;
  }

  start(mishaps: number): State {
    const { stages, steps } = this.#scenario;
    const now = Date.parse("2026-01-01T00:00:30Z");
    const creationTimestamp = new Date(now).toISOString();
    const job: AdvancedCronJob = {
      apiVersion: "apps.kruise.io/v1beta1",
      kind: "AdvancedCronJob",
      metadata: {
        name: "tick",
        namespace: "ns",
        uid,
        resourceVersion: "1",
        generation: 1,
        creationTimestamp,
      },
      spec: { schedule: "*/1 * * * *", template: { broadcastJobTemplate: {} }, ...stages[0].spec },
    };
    return { job, children: [], now, steps, held: "", attempt: "", late: [], ran: [], stage: 0, mishaps };
  }

  movesOf(state: State): readonly Move<State>[] {
    const { job, children, now, steps, pass, status, held, late, stage, mishaps } = state;
    const { stages, end, stepMs } = this.#scenario;
    const moves: Move<State>[] = [{ name: "the controller passes", take: () => this.#passed(state) }];
    const move = (name: string, next: Partial<State>): void => {
      moves.push({ name, take: () => ({ ...state, ...next }) });
    };
    if (held !== "") move("the backoff has passed", { held: "" });
    if (steps > 0) move(`${stepMs / 1000} s pass`, { now: now + stepMs, steps: steps - 1 });
    const next = stages[stage + 1];
    if (next !== undefined) {
      const generation = (job.metadata.generation ?? 0) + 1;
      const changed = {
        ...job,
        metadata: { ...job.metadata, generation },
        spec: { ...job.spec, ...next.spec },
      };
      move(next.name, { stage: stage + 1, job: stored(changed) });
    }
    for (const write of underWay(pass))
      moves.push({ name: `${nameOfWrite(write)} arrives`, take: () => arrived(state, write) });
    if (status !== undefined)
      move("the status arrives", { status: undefined, job: statusWritten(job, status) });
    for (const write of late)
      moves.push({
        name: `${nameOfWrite(write)} arrives late`,
        take: () => ({ ...written(state, write), late: late.filter((other) => other !== write) }),
      });
    for (const child of children) {
      const others = children.filter((other) => other !== child);
      if (child.isGoing) move(`${child.name} is gone`, { children: others });
      else if (child.state === "active")
        move(`${child.name} has ${end}`, { children: [...others, { ...child, state: end }] });
    }
    return mishaps === 0 ? moves : [...moves, ...mishapsOf(state)];
  }

  #passed(state: State): State | undefined {
    if (state.pass !== undefined) return undefined;
    const { job, children, now, held } = state;
    const plan = this.#scenario.plan({ job, children, localZone: "UTC", now });
    const { effects = [], exactStatus = false } = this.#scenario.result(job, plan);
    check(state, plan);
    const attempt = effects.map(attemptOf).join("");
    const pass = passOf(
      effects.filter(({ type }) => type !== "patch object"),
      "",
    );
    const next = { ...state, job: annotated(job, effects) };
    // What is begun in the background changes the status.
    if (pass !== undefined && attempt !== held) return { ...next, pass, attempt };
    const news = createMergePatch(job.status ?? {}, plan.status);
    const { resourceVersion = "" } = job.metadata;
    const offered: PassWrite = {
      type: "patch status",
      status: news,
      ...(exactStatus ? { resourceVersion } : {}),
    };
    const status = state.status ?? (Object.keys(news).length === 0 ? undefined : offered);
    return status === state.status && next.job === job ? undefined : { ...next, status };
  }
}

function attemptOf(effect: KindEffect): string {
  return effect.type === "background" ? effect.attempt : "";
}

function mishapsOf(state: State): Move<State>[] {
  const { job, children, pass, status, late } = state;
  const moves: Move<State>[] = [];
  const mishap = (name: string, next: State): void => {
    moves.push({ name, isMishap: true, take: () => ({ ...next, mishaps: state.mishaps - 1 }) });
  };
  for (const write of underWay(pass))
    mishap(`${nameOfWrite(write)} is refused`, ended(state, write, "refused"));
  if (status !== undefined) mishap("the status is refused", { ...state, status: undefined });
  if (pass !== undefined || status !== undefined) {
    mishap("the controller dies", {
      ...state,
      pass: undefined,
      status: undefined,
      held: "",
      late: [...late, ...underWay(pass), ...(status === undefined ? [] : [status])],
    });
  }
  // Of one that the status does not know nothing would be left.
  const last = timeOf(job.status?.lastScheduleTime) ?? 0;
  for (const child of children) {
    if (child.isGoing || (child.scheduledAt ?? 0) > last) continue;
    mishap(`somebody deletes ${child.name}`, { ...state, children: deleted(children, child.name) });
  }
  return moves;
}

function arrived(state: State, write: PassWrite): State {
  if (write.type === "create" && !state.children.some(({ name }) => name === write.name)) {
    const time = timeIn(write);
    if (state.ran.includes(time)) throw new Error(`${write.name} runs twice`);
  }
  return ended(written(state, write), write);
}

function ended(state: State, write: PassWrite, failure?: Failure): State {
  if (state.pass === undefined) return state;
  const next = answered(state.pass, write, failure);
  if ("pass" in next) return { ...state, pass: next.pass };
  return { ...state, pass: undefined, attempt: "", held: next.over === "done" ? "" : state.attempt };
}

function written(state: State, write: PassWrite): State {
  const { job, children, ran, now } = state;
  if (write.type === "patch status") return { ...state, job: statusWritten(job, write) };
  const { name } = write;
  if (write.type === "delete") return { ...state, children: deleted(children, name) };
  if (write.type === "patch" || children.some((child) => child.name === name)) return state;
  const scheduledAt = timeIn(write);
  const child: Child = {
    kind: "BroadcastJob",
    name,
    uid: `uid-${name}`,
    resourceVersion: "1",
    createdAt: now,
    startedAt: now,
    scheduledAt,
    state: "active",
    isGoing: false,
  };
  return {
    ...state,
    children: [...children, child],
    ran: [...new Set([...ran, scheduledAt])].sort((a, b) => a - b),
  };
}

/** Rule 3. */
function timeIn(write: PassWrite): number {
  return write.type === "patch status" ? 0 : Number(write.name.slice(write.name.lastIndexOf("-") + 1)) * 1000;
}

function deleted(children: readonly Child[], name: string): Child[] {
  return children.map((child) => (child.name === name ? { ...child, isGoing: true } : child));
}

function statusWritten(job: AdvancedCronJob, write: PassWrite): AdvancedCronJob {
  if (write.type !== "patch status" || !isExpected(job, write)) return job;
  return stored({ ...job, status: Object(applyMergePatch(job.status ?? {}, write.status)) });
}

function isExpected({ metadata }: AdvancedCronJob, write: PassWrite): boolean {
  return isMet(write, { uid, resourceVersion: metadata.resourceVersion ?? "" });
}

/** As the version after the one that it was. */
function stored(job: AdvancedCronJob): AdvancedCronJob {
  const resourceVersion = `${Number(job.metadata.resourceVersion) + 1}`;
  return { ...job, metadata: { ...job.metadata, resourceVersion } };
}

function annotated(job: AdvancedCronJob, effects: readonly KindEffect[]): AdvancedCronJob {
  const [patch] = effects.flatMap((effect) => (effect.type === "patch object" ? [effect.body] : []));
  if (patch === undefined) return job;
  return stored({
    ...job,
    metadata: { ...job.metadata, ...Object(applyMergePatch(job.metadata, patch.metadata ?? {})) },
  });
}

/** What a pass is about to do. */
function check({ job, children, now }: State, plan: ReturnType<typeof planAdvancedCronJob>): void {
  const { spec, status } = job;
  const { creation, deletions } = plan;
  const { paused, concurrencyPolicy = "Allow", startingDeadlineSeconds } = spec;
  const active = children.filter((child) => child.state === "active");
  const staying = active.filter((child) => !child.isGoing && !deletions.includes(child));
  if (creation !== undefined) {
    const time = Number(creation.name.slice(creation.name.lastIndexOf("-") + 1)) * 1000;
    const { name } = creation;
    if (paused) throw new Error(`${name} is run, and the cron job is paused`);
    if (time > now) throw new Error(`${name} is run too early`);
    // Rule 6.
    if (latestDue(job, now) !== time) throw new Error(`${name} is run, and is not the latest`);
    if (time <= (timeOf(status?.lastScheduleTime) ?? 0))
      throw new Error(`${name} is run, and was run before`);
    // Rule 7.
    if (time + (startingDeadlineSeconds ?? Number.POSITIVE_INFINITY) * 1000 < now)
      throw new Error(`${name} is run too late`);
    // Rule 8.
    if (concurrencyPolicy === "Forbid" && active.length > 0)
      throw new Error(`${name} is run beside ${active[0]?.name}`);
    if (concurrencyPolicy === "Replace" && staying.length > 0)
      throw new Error(`${name} does not replace ${staying[0]?.name}`);
  }
  for (const child of deletions) {
    if (child.state !== "active") continue;
    if (creation === undefined || concurrencyPolicy !== "Replace")
      throw new Error(`${child.name} is deleted, and is active`);
  }
  // Rule 9.
  for (const [state, limit = 0] of limitsOf(spec)) {
    const kept = children.filter((child) => child.state === state && !child.isGoing);
    const gone = kept.filter((child) => deletions.includes(child));
    if (gone.length > 0 && kept.length - gone.length < limit)
      throw new Error(`of ${kept.length} ${gone.length} are deleted`);
  }
}

function limitsOf({ successfulJobsHistoryLimit = 3, failedJobsHistoryLimit = 1 }: AdvancedCronJobSpec) {
  return [
    ["succeeded", successfulJobsHistoryLimit],
    ["failed", failedJobsHistoryLimit],
  ] as const;
}

/** The newest time of its schedule; undefined: none has come since it was made. */
function latestDue({ metadata, spec }: AdvancedCronJob, now: number): number | undefined {
  const every = spec.schedule.startsWith("*/2") ? 2 * minute : minute;
  const latest = Math.floor(now / every) * every;
  return latest > (timeOf(metadata.creationTimestamp) ?? 0) ? latest : undefined;
}

function unsettled({ job, children, now, ran }: State): string | undefined {
  const { spec, status } = job;
  const due = latestDue(job, now);
  const newest = ran.at(-1);
  // What was run in the meantime, at a time of another schedule, counts as well (rule 11).
  const isTooLate =
    due !== undefined && due + (spec.startingDeadlineSeconds ?? Number.POSITIVE_INFINITY) * 1000 < now;
  if (due !== undefined && !isTooLate && spec.paused !== true && (newest ?? 0) < due)
    return `the run of ${new Date(due).toISOString()} lost`;
  if (timeOf(status?.lastScheduleTime) !== newest)
    return `${status?.lastScheduleTime} as the last run in its status`;
  if ((status?.active ?? []).length > 0) return `${status?.active?.length} active runs in its status`;
  for (const [state, limit] of limitsOf(spec)) {
    const count = children.filter((child) => child.state === state).length;
    if (count > (limit ?? 0)) return `${count} that have ${state}`;
  }
  return undefined;
}

function keyOf({ pass, status, late, children, job, ...rest }: State): string {
  const text = (write: PassWrite): string => `${isExpected(job, write)} ${textOfWrite(write)}`;
  return JSON.stringify([
    rest,
    job.spec,
    job.status,
    job.metadata.annotations,
    pass?.failure,
    pass?.batches.map((batch) => batch.map(text).sort()),
    status && text(status),
    late.map(text).sort(),
    [...children].sort((a, b) => (a.name < b.name ? -1 : 1)),
  ]);
}
