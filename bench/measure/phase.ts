/** One measured phase: from a change until its last pod has arrived, and what that cost. The same for every scenario. */
import { performance } from "node:perf_hooks";
import type { Change, Client, Clock } from "../../kube/index.ts";
import type { PodObject } from "../../sandbox/index.ts";
import { BenchError, Interrupted } from "../errors.ts";
import type { Progress } from "../progress.ts";
import { BudgetCheck, type BudgetRules } from "./budget_check.ts";
import { costsBetween, gone, type Measured, type MeasuredProcess, spent } from "./costs.ts";
import { readManagerMetrics } from "./manager_metrics.ts";
import type { OwnRequests } from "./own_requests.ts";
import { type PodBoard, workloadOf } from "./pod_board.ts";
import { busyShare, processorTimes, sampleProcess } from "./process_stats.ts";
import type { Clocks, Phase } from "./result.ts";
import { Sampler } from "./sampler.ts";
import { ServiceTimes } from "./service_times.ts";
import { ascending, distributionOf, thinned } from "./statistics.ts";

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
  /** Samples what the manager allocates from now on; undefined: nobody asked for it. */
  startAllocations?(): Promise<PhaseAllocations>;
}

export interface PhaseAllocations {
  /** Bytes since its start; where they were allocated is kept by the name of the phase. */
  stop(phase: string): Promise<number>;
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
  const allocations = await bench.startAllocations?.();
  const arrivals = new Arrivals(bench, plan);
  board.markRevisions();
  const sampler = new Sampler({
    clock,
    board,
    processes: () => running(bench).map(({ pid }) => pid),
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
    const { series, peakMb } = sampler.stop();
    const allocated = await allocations?.stop(plan.name);
    progress.end();
    const ready = arrivals.sorted();
    const { clocks, ...costs } = costsBetween(before, after, { pods: plan.pods, kinds: bench.kinds, peakMb });
    return {
      name: plan.name,
      pods: plan.pods,
      tookMs,
      ...arrivals.firsts(),
      readyMs: thinned(ready, keptSamples).map(Math.round),
      ...costs,
      clocks: {
        ...clocks,
        ...(ready.length === 0 ? {} : { ready: distributionOf(ready, "watch") }),
        ...arrivals.serviceClocks(),
        ...plan.clocks?.(),
      },
      podEventsPerPod: arrivals.events / plan.pods,
      series,
      ...(plan.budget === undefined ? {} : { budget: arrivals.budgetResult() }),
      facts: {
        ...errorFacts(bench, errorsBefore),
        ...(allocated === undefined ? {} : { "allocated a pod, kB": allocated / 1000 / plan.pods }),
        ...plan.facts?.(),
      },
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

const lookMs = 100;

/** Looks again and again; throws BenchError when `--timeout` is over. */
export async function until(bench: Bench, what: string, isReached: () => Promise<boolean>): Promise<void> {
  const givenUp = bench.clock.monotonic() + bench.timeoutMs;
  while (!(await isReached())) {
    if (bench.clock.monotonic() > givenUp)
      throw new BenchError(`${what}: not within ${bench.timeoutMs / 1000} s (--timeout)`);
    await sleep(bench, lookMs);
  }
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
    const { clock } = this.#bench;
    while (!signal.aborted) {
      for (const { pid } of running(this.#bench)) if (sampleProcess(pid) === undefined) throw gone(pid);
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

/** Without those that the bench killed. */
function running({ manager }: Bench): readonly MeasuredProcess[] {
  return manager.processes.filter(({ ended }) => ended === undefined);
}

function queueDepthOf(bench: Bench): (() => Promise<number | undefined>) | undefined {
  if (bench.manager.processes.some(({ metricsUrl }) => metricsUrl === undefined)) return undefined;
  return async () => {
    const urls = running(bench).map(({ metricsUrl }) => metricsUrl ?? "");
    const read = await Promise.all(urls.map((url) => readManagerMetrics(url, bench.kinds)));
    const depths = read.map(({ queueDepth }) => queueDepth).filter((depth) => depth !== undefined);
    return depths.length === 0 ? undefined : depths.reduce((sum, depth) => sum + depth, 0);
  };
}
