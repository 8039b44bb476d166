/** What a manager holds, sampled while nothing is asked of it, and whether it stays level. */
import type { Client, Clock } from "../../kube/index.ts";
import { BenchError } from "../errors.ts";
import type { Measured } from "./costs.ts";
import { readManagerMetrics } from "./manager_metrics.ts";
import { openFiles } from "./open_files.ts";
import { sampleProcess } from "./process_stats.ts";
import type { Steadiness } from "./result.ts";
import { readServerMetrics } from "./server_metrics.ts";
import { type Level, steadinessOf } from "./steadiness.ts";

const levels = {
  heap: { name: "heap after a collection", unit: "MB", allowed: 2 },
  resident: { name: "resident memory", unit: "MB", allowed: 20 },
  handles: { name: "open handles", unit: "", allowed: 3 },
  files: { name: "open files", unit: "", allowed: 0 },
  watches: { name: "watches at the server, all clients", unit: "", allowed: 3 },
  renewals: { name: "lease renewals", unit: "a minute", allowed: 3, bothWays: true },
} as const satisfies Readonly<Record<string, Level>>;

export interface SampledManager {
  readonly client: Client;
  readonly clock: Clock;
  readonly manager: Measured;
  readonly collectedHeapMb?: () => Promise<number>;
}

interface Renewals {
  readonly count: number;
  readonly atMs: number;
}

export class SoakSamples {
  readonly #of: SampledManager;
  readonly #atMs: number[] = [];
  readonly #values: Record<string, number[]> = {};
  #renewals: Renewals | undefined;

  constructor(of: SampledManager) {
    this.#of = of;
  }

  /** Rejects when the manager is gone, or its heap cannot be collected. */
  async take(): Promise<void> {
    const { client, clock, manager, collectedHeapMb } = this.#of;
    if (collectedHeapMb === undefined) throw new BenchError("the heap of this manager cannot be collected");
    const heap = await collectedHeapMb();
    const [{ pid }] = manager.processes;
    const process = sampleProcess(pid);
    if (process === undefined) throw new BenchError(`process ${pid} is gone`);
    this.#atMs.push(clock.monotonic());
    this.#keep({ heap, resident: process.residentMb, ...openFiles(pid) });
    const server = await readServerMetrics(client);
    if (server !== undefined) this.#keep({ watches: server.watches });
    await this.#keepRenewals();
  }

  /** Throws BenchError when there were too few for a verdict. */
  result(): { atMs: number[]; values: Record<string, number[]>; levels: Steadiness[] } {
    const found = Object.entries(levels).flatMap(([key, level]) => {
      const values = this.#values[key];
      return values === undefined ? [] : [steadinessOf(level, this.#atMs.slice(-values.length), values)];
    });
    return { atMs: this.#atMs, values: this.#values, levels: found };
  }

  #keep(sample: Readonly<Record<string, number>>): void {
    for (const [key, value] of Object.entries(sample)) {
      this.#values[key] ??= [];
      this.#values[key].push(value);
    }
  }

  /** Since the sample before: the first one only begins the count. */
  async #keepRenewals(): Promise<void> {
    const { clock, manager } = this.#of;
    const [{ metricsUrl }] = manager.processes;
    if (metricsUrl === undefined) return;
    const { requests } = await readManagerMetrics(metricsUrl);
    const count = (requests["PUT leases"] ?? 0) + (requests["PATCH leases"] ?? 0);
    const atMs = clock.monotonic();
    const before = this.#renewals;
    this.#renewals = { count, atMs };
    if (before !== undefined)
      this.#keep({ renewals: ((count - before.count) * 60_000) / (atMs - before.atMs) });
  }
}
