/** One measured phase: from a change until its last pod has arrived, and what that cost. The same for every scenario. */
import { performance } from "node:perf_hooks";
import type { Change, Client, Clock } from "../../kube/index.ts";
import type { PodObject } from "../../sandbox/index.ts";
import { BenchError, Interrupted } from "../errors.ts";
import type { Progress } from "../progress.ts";
import { BudgetCheck, type BudgetRules } from "./budget_check.ts";
import {
  clockBetween,
  type ManagerMetrics,
  managerClocks,
  managerMetrics,
  readManagerMetrics,
  requestsBetween,
} from "./manager_metrics.ts";
import type { OwnRequests } from "./own_requests.ts";
import { type PodBoard, workloadOf } from "./pod_board.ts";
import { busyShare, type ProcessSample, processorTimes, sampleProcess } from "./process_stats.ts";
import { grown } from "./prometheus_text.ts";
import type { Clocks, Phase } from "./result.ts";
import { Sampler } from "./sampler.ts";
import { readServerMetrics, type ServerMetrics, serverCpuBetween } from "./server_metrics.ts";
import { ServiceTimes } from "./service_times.ts";
import { ascending, distributionOf, thinned } from "./statistics.ts";

/** The manager under test; a restart changes its process. */
export interface Measured {
  readonly pid: number;
  readonly metricsUrl: string | undefined;
  /** Errors that a faulty way to the server answered so far; undefined where there is none. */
  readonly errorsAnswered?: number | undefined;
}

export interface Bench {
  readonly client: Client;
  readonly clock: Clock;
  readonly board: PodBoard;
  readonly manager: Measured;
  /** Kinds whose controllers' clocks are read. */
  readonly kinds: readonly string[];
  readonly own: OwnRequests;
  readonly progress: Progress;
  /** Aborted by Ctrl-C. */
  readonly signal: AbortSignal;
  readonly timeoutMs: number;
  /** How long writes are awaited that follow the last pod: status, the last gates. */
  readonly settleMs: number;
  readonly sampleMs: number;
}

export interface PhasePlan {
  readonly name: string;
  /** Pods that the phase is about; figures a pod are by it. */
  readonly pods: number;
  begin(): Promise<unknown>;
  /** A pod that has arrived. The phase ends when `wanted` have, and no others are left over `remaining`. */
  arrived?(pod: PodObject): boolean;
  /** Default `pods`. */
  readonly wanted?: number;
  /** The phase ends only when no more than so many pods exist. */
  readonly remaining?: number;
  /** The first trace of the manager's work. */
  touched(pod: PodObject): boolean;
  readonly budget?: BudgetRules;
  /** Whose budget a pod uses; undefined: nobody's. Default: its workload's. */
  budgetOf?(pod: PodObject): string | undefined;
  /** Whether nothing more is to come, for as long as `settleMs` does not say so; the phase waits up to `timeoutMs` for it. */
  isSettled?(): boolean;
  /** Read when the phase is over. */
  facts?(): Record<string, number>;
  /** Clocks that the scenario reads itself, in place of the manager's. */
  clocks?(): Clocks;
}

const keptSamples = 500;

export async function runPhase(bench: Bench, plan: PhasePlan): Promise<Phase> {
  const { clock, board, progress } = bench;
  progress.begin(plan.name, plan.wanted ?? plan.pods);
  const before = await spent(bench);
  const errorsBefore = bench.manager.errorsAnswered ?? 0;
  const arrivals = new Arrivals(bench, plan);
  board.markRevisions();
  const sampler = new Sampler({
    clock,
    board,
    pid: () => bench.manager.pid,
    queueDepth: queueDepthOf(bench),
    unavailable: () => arrivals.unavailable,
    everyMs: bench.sampleMs,
    onSample: () => progress.update(arrivals.done),
  });
  const busy = performance.eventLoopUtilization();
  const processors = processorTimes();
  try {
    arrivals.start();
    await plan.begin();
    await arrivals.all();
    const benchBusy = performance.eventLoopUtilization(busy).utilization;
    const machineBusy = busyShare(processors, processorTimes());
    const tookMs = arrivals.lastMs;
    await settled(bench, plan);
    const after = await spent(bench);
    const from = before.pid === after.pid ? before : anew(before);
    const { series, peakMb } = sampler.stop();
    progress.end();
    const ready = arrivals.sorted();
    return {
      name: plan.name,
      pods: plan.pods,
      tookMs,
      ...arrivals.firsts(),
      readyMs: thinned(ready, keptSamples).map(Math.round),
      ...costs(plan.pods, from, after, peakMb),
      clocks: { ...clocksOf(from, after, ready), ...arrivals.serviceClocks(), ...plan.clocks?.() },
      podEventsPerPod: arrivals.events / plan.pods,
      ...(after.server?.storeMb === undefined ? {} : { storeMb: after.server.storeMb }),
      series,
      ...(plan.budget === undefined ? {} : { budget: arrivals.budgetResult() }),
      facts: { ...errorFacts(bench, errorsBefore), ...plan.facts?.() },
      benchBusy,
      machineBusy,
    };
  } finally {
    sampler.stop();
    arrivals.stop();
  }
}

function errorFacts({ manager }: Bench, before: number): Record<string, number> {
  return manager.errorsAnswered === undefined ? {} : { "errors answered": manager.errorsAnswered - before };
}

/** Waits for what follows the last pod. */
async function settled(bench: Bench, { isSettled = () => true }: PhasePlan): Promise<void> {
  const givenUp = bench.clock.monotonic() + bench.timeoutMs;
  do await sleep(bench, bench.settleMs);
  while (!isSettled() && bench.clock.monotonic() < givenUp && !bench.signal.aborted);
}

/** Waits, unless Ctrl-C comes first. */
export async function sleep({ clock, signal }: Pick<Bench, "clock" | "signal">, ms: number): Promise<void> {
  await clock.sleep(ms, signal).catch((error: unknown) => {
    throw signal.aborted ? new Interrupted() : error;
  });
}

/** Follows the pods of a phase. */
class Arrivals {
  readonly #bench: Bench;
  readonly #plan: PhasePlan;
  readonly #at = new Map<string, number>();
  /** Pods that had arrived before the change: not of this phase. */
  readonly #before = new Set<string>();
  readonly #over = Promise.withResolvers<void>();
  readonly #check: BudgetCheck | undefined;
  readonly #service: ServiceTimes;
  #unsubscribe: () => void = () => undefined;
  #started = 0;
  #firstTouched: number | undefined;
  #firstReady: number | undefined;
  #eventsBefore = 0;
  #isOver = false;
  lastMs = 0;

  constructor(bench: Bench, plan: PhasePlan) {
    this.#bench = bench;
    this.#plan = plan;
    const { budget, budgetOf = workloadOf } = plan;
    const now = () => bench.clock.monotonic();
    if (budget !== undefined) this.#check = new BudgetCheck(budget, budgetOf, now, bench.board.pods());
    this.#service = new ServiceTimes(now, bench.board.pods());
  }

  get events(): number {
    return this.#bench.board.events - this.#eventsBefore;
  }

  /** For the progress bar: pods that have arrived, or that are gone. */
  get done(): number {
    const { remaining, arrived, pods } = this.#plan;
    if (arrived !== undefined) return this.#at.size;
    return pods - Math.max(0, this.#bench.board.size - (remaining ?? 0));
  }

  start(): void {
    const { board, clock } = this.#bench;
    const { arrived } = this.#plan;
    if (arrived !== undefined)
      for (const pod of board.pods()) if (arrived(pod)) this.#before.add(pod.metadata.uid ?? "");
    this.#eventsBefore = board.events;
    this.#started = clock.monotonic();
    this.#unsubscribe = board.subscribe((change) => this.#see(change));
  }

  stop(): void {
    this.#unsubscribe();
  }

  /** Resolves when the phase is over; rejects when it takes too long, is interrupted, or the manager ends. */
  async all(): Promise<void> {
    const { clock, signal, timeoutMs } = this.#bench;
    const giveUp = new AbortController();
    const interrupted = Promise.withResolvers<never>();
    const onAbort = (): void => interrupted.reject(new Interrupted());
    signal.addEventListener("abort", onAbort, { once: true });
    const late = clock.sleep(timeoutMs, giveUp.signal).then(() => {
      throw new BenchError(
        `${this.#plan.name}: only ${this.done} of ${this.#plan.pods} pods had arrived after ${timeoutMs / 1000} s (--timeout)`,
      );
    });
    late.catch(() => undefined);
    interrupted.promise.catch(() => undefined);
    try {
      if (signal.aborted) throw new Interrupted();
      this.#settle();
      await Promise.race([this.#over.promise, late, interrupted.promise, this.#managerEnds(giveUp.signal)]);
    } finally {
      giveUp.abort();
      signal.removeEventListener("abort", onAbort);
    }
  }

  firsts(): Pick<Phase, "firstTouchedMs" | "firstReadyMs"> {
    return {
      ...(this.#firstTouched === undefined ? {} : { firstTouchedMs: this.#firstTouched }),
      ...(this.#firstReady === undefined ? {} : { firstReadyMs: this.#firstReady }),
    };
  }

  sorted(): number[] {
    return ascending(this.#at.values());
  }

  /** Pods of the workloads that are not in service now; undefined where nothing bounds them. */
  get unavailable(): number | undefined {
    return this.#plan.budget?.maxUnavailable === undefined ? undefined : this.#check?.unavailable;
  }

  serviceClocks(): Clocks {
    return this.#service.clocks();
  }

  budgetResult(): NonNullable<Phase["budget"]> {
    const result = this.#check?.result();
    if (result === undefined) throw new Error(`${this.#plan.name} has no budget`);
    return { ...result, examples: [...result.examples] };
  }

  async #managerEnds(signal: AbortSignal): Promise<void> {
    const { clock, manager } = this.#bench;
    while (!signal.aborted) {
      if (sampleProcess(manager.pid) === undefined) throw gone(manager.pid);
      await clock.sleep(500, signal).catch(() => undefined);
    }
  }

  #see(change: Change<PodObject>): void {
    const { clock } = this.#bench;
    const { arrived, touched } = this.#plan;
    const pod = change.object;
    const uid = pod.metadata.uid ?? "";
    const now = clock.monotonic() - this.#started;
    this.#check?.see(change);
    this.#service.see(change);
    if (this.#firstTouched === undefined && change.type !== "removed" && touched(pod))
      this.#firstTouched = now;
    if (this.#isOver || this.#before.has(uid)) {
      // Of an earlier phase, or too late for this one.
    } else if (arrived !== undefined && change.type !== "removed" && arrived(pod)) {
      this.#firstReady ??= now;
      if (!this.#at.has(uid)) this.#at.set(uid, now);
    } else if (arrived !== undefined) {
      this.#at.delete(uid);
    } else if (change.type === "removed") {
      this.#firstReady ??= now;
      this.#at.set(uid, now);
    }
    if (!this.#isOver) this.lastMs = now;
    this.#settle();
  }

  #settle(): void {
    const { arrived, pods, wanted = pods, remaining } = this.#plan;
    if (remaining !== undefined && this.#bench.board.size > remaining) return;
    if (arrived !== undefined && this.#at.size < wanted) return;
    this.#isOver = true;
    this.#over.resolve();
  }
}

interface Spent {
  pid: number;
  process: ProcessSample;
  manager: ManagerMetrics | undefined;
  server: ServerMetrics | undefined;
  bench: Record<string, number>;
}

async function spent({ manager, client, own, kinds }: Bench): Promise<Spent> {
  const { pid, metricsUrl } = manager;
  const [metrics, server] = await Promise.all([
    metricsUrl === undefined ? undefined : readManagerMetrics(metricsUrl, kinds),
    readServerMetrics(client),
  ]);
  const process = sampleProcess(pid);
  if (process === undefined) throw gone(pid);
  return { pid, process, manager: metrics, server, bench: own.counts() };
}

/** What a process has spent that began after `before`: it counts from zero. */
function anew(before: Spent): Spent {
  const process = { cpuSeconds: 0, residentMb: before.process.residentMb };
  return { ...before, process, manager: before.manager === undefined ? undefined : managerMetrics("") };
}

function gone(pid: number): BenchError {
  return new BenchError(`process ${pid} is gone: the manager under test ended`);
}

function queueDepthOf({ manager, kinds }: Bench): (() => Promise<number | undefined>) | undefined {
  if (manager.metricsUrl === undefined) return undefined;
  return async () => {
    const { metricsUrl } = manager;
    return metricsUrl === undefined ? undefined : (await readManagerMetrics(metricsUrl, kinds)).queueDepth;
  };
}

type Costs = Pick<
  Phase,
  "requests" | "wire" | "cpuSeconds" | "cpuMsPerPod" | "serverCpuMsPerPod" | "residentMb"
>;

function costs(pods: number, before: Spent, after: Spent, peakMb: number): Costs {
  const was = before.process;
  const cpuSeconds = after.process.cpuSeconds - was.cpuSeconds;
  const { io } = after.process;
  const readBytes = (io?.readBytes ?? 0) - (was.io?.readBytes ?? 0);
  const writtenBytes = (io?.writtenBytes ?? 0) - (was.io?.writtenBytes ?? 0);
  return {
    requests: requestsOf(pods, before, after),
    cpuSeconds,
    cpuMsPerPod: (cpuSeconds * 1000) / pods,
    ...serverCost(pods, before.server, after.server),
    residentMb: {
      before: before.process.residentMb,
      after: after.process.residentMb,
      peak: Math.max(peakMb, after.process.residentMb),
    },
    ...(io === undefined
      ? {}
      : { wire: { readBytes, writtenBytes, perPod: (readBytes + writtenBytes) / pods } }),
  };
}

function serverCost(
  pods: number,
  before: ServerMetrics | undefined,
  after: ServerMetrics | undefined,
): Pick<Phase, "serverCpuMsPerPod"> {
  const seconds = serverCpuBetween(before, after);
  return seconds === undefined ? {} : { serverCpuMsPerPod: (seconds * 1000) / pods };
}

function requestsOf(pods: number, before: Spent, after: Spent): Phase["requests"] {
  const bench = grown(after.bench, before.bench);
  const server =
    after.server === undefined || before.server === undefined
      ? undefined
      : grown(after.server.requests, before.server.requests);
  const own =
    after.manager === undefined || before.manager === undefined
      ? undefined
      : requestsBetween(after.manager, before.manager);
  const by = own ?? (server === undefined ? {} : without(server, bench));
  const total = Object.values(by).reduce((sum, count) => sum + count, 0);
  return {
    source: own !== undefined ? "manager" : server !== undefined ? "server" : "none",
    total,
    perPod: total / pods,
    by,
    ...(server === undefined ? {} : { server }),
    bench,
  };
}

function without(all: Record<string, number>, own: Record<string, number>): Record<string, number> {
  const rest: Record<string, number> = {};
  for (const [key, count] of Object.entries(all))
    if (count > (own[key] ?? 0)) rest[key] = count - (own[key] ?? 0);
  return rest;
}

function clocksOf(before: Spent, after: Spent, ready: readonly number[]): Phase["clocks"] {
  const clocks: Phase["clocks"] = {};
  if (before.manager !== undefined && after.manager !== undefined) {
    for (const name of managerClocks) {
      const found = clockBetween(name, after.manager, before.manager);
      if (found !== undefined) clocks[name] = found;
    }
  }
  if (ready.length > 0) clocks.ready = distributionOf(ready, "watch");
  return clocks;
}
