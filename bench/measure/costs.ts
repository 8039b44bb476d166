/** What the manager, the API server and the bench have spent, and what of it a phase cost. */
import type { Client } from "../../kube/index.ts";
import { BenchError } from "../errors.ts";
import {
  clockBetween,
  type ManagerMetrics,
  managerClocks,
  managerMetrics,
  readMetricsText,
  requestsBetween,
} from "./manager_metrics.ts";
import type { OwnRequests } from "./own_requests.ts";
import { type ProcessSample, sampleProcess } from "./process_stats.ts";
import { grown } from "./prometheus_text.ts";
import type { Phase } from "./result.ts";
import { readServerMetrics, type ServerMetrics, serverCpuBetween } from "./server_metrics.ts";

/** A process of the manager. */
export interface MeasuredProcess {
  readonly pid: number;
  readonly metricsUrl: string | undefined;
  /** What it had spent when the bench killed it; undefined while it runs. */
  readonly ended?: ProcessSpent | undefined;
}

/** The manager under test. */
export interface Measured {
  /** More than one where replicas share the work; a restart changes the process. */
  readonly processes: readonly [MeasuredProcess, ...MeasuredProcess[]];
  /** Errors that a faulty way to the server answered so far; undefined where there is none. */
  readonly errorsAnswered?: number | undefined;
}

export interface ProcessSpent {
  readonly sample: ProcessSample;
  /** Text of its metrics; undefined where it serves none. */
  readonly metrics: string | undefined;
}

interface Spent {
  readonly processes: ReadonlyMap<number, ProcessSpent>;
  /** Resident memory of those that run. */
  readonly residentMb: number;
  readonly server: ServerMetrics | undefined;
  readonly bench: Record<string, number>;
}

export interface Spending {
  readonly manager: Measured;
  readonly client: Client;
  readonly own: OwnRequests;
}

export async function spent({ manager, client, own }: Spending): Promise<Spent> {
  const [server, ...entries] = await Promise.all([
    readServerMetrics(client),
    ...manager.processes.map(async (each) => [each.pid, each.ended ?? (await processSpent(each))] as const),
  ]);
  const processes = new Map(entries);
  const running = manager.processes.filter(({ ended }) => ended === undefined);
  return {
    processes,
    residentMb: sum(running.map(({ pid }) => processes.get(pid)?.sample.residentMb ?? 0)),
    server,
    bench: own.counts(),
  };
}

/** Throws BenchError when it is gone. */
export async function processSpent({ pid, metricsUrl }: MeasuredProcess): Promise<ProcessSpent> {
  const metrics = metricsUrl === undefined ? undefined : await readMetricsText(metricsUrl);
  const sample = sampleProcess(pid);
  if (sample === undefined) throw gone(pid);
  return { sample, metrics };
}

export function gone(pid: number): BenchError {
  return new BenchError(`process ${pid} is gone: the manager under test ended`);
}

export interface PhaseOf {
  readonly pods: number;
  /** Whose controllers' clocks are read. */
  readonly kinds: readonly string[];
  readonly peakMb: number;
}

type Costs = Pick<
  Phase,
  | "requests"
  | "wire"
  | "cpuSeconds"
  | "cpuMsPerPod"
  | "serverCpuMsPerPod"
  | "storeMb"
  | "residentMb"
  | "replicas"
  | "clocks"
>;

/** Of the processes that there are at the end; one that began in between had spent nothing before. */
export function costsBetween(before: Spent, after: Spent, { pods, kinds, peakMb }: PhaseOf): Costs {
  const spans = [...after.processes].map(([pid, is]) => ({ was: before.processes.get(pid), is }));
  const of = spans.map(spentBetween);
  const cpuSeconds = sum(of.map((each) => each.cpuSeconds));
  const metrics = metricsOf(spans, kinds);
  return {
    requests: requestsOf(pods, before, after, metrics),
    cpuSeconds,
    cpuMsPerPod: (cpuSeconds * 1000) / pods,
    ...serverCost(pods, before.server, after.server),
    residentMb: {
      before: before.residentMb,
      after: after.residentMb,
      peak: Math.max(peakMb, after.residentMb),
    },
    ...wireOf(pods, of),
    ...(spans.length === 1 ? {} : { replicas: spans.map((span) => replicaCost(span)) }),
    clocks: metrics === undefined ? {} : clocksOf(metrics),
  };
}

interface Span {
  readonly was: ProcessSpent | undefined;
  readonly is: ProcessSpent;
}

function spentBetween({ was, is }: Span): Pick<ProcessSample, "cpuSeconds" | "io"> {
  const { cpuSeconds, io } = is.sample;
  const before = was?.sample;
  return {
    cpuSeconds: cpuSeconds - (before?.cpuSeconds ?? 0),
    ...(io === undefined
      ? {}
      : {
          io: {
            readBytes: io.readBytes - (before?.io?.readBytes ?? 0),
            writtenBytes: io.writtenBytes - (before?.io?.writtenBytes ?? 0),
          },
        }),
  };
}

function replicaCost(span: Span): NonNullable<Phase["replicas"]>[number] {
  const metrics = metricsOf([span], []);
  return {
    cpuSeconds: spentBetween(span).cpuSeconds,
    residentMb: span.is.sample.residentMb,
    ...(metrics === undefined ? {} : { requests: sum(Object.values(requestsBetween(...metrics))) }),
  };
}

type Metrics = readonly [after: ManagerMetrics, before: ManagerMetrics];

/** Samples of one name add up, whichever process they are of. */
function metricsOf(spans: readonly Span[], kinds: readonly string[]): Metrics | undefined {
  const texts = spans.map(({ is }) => is.metrics);
  if (texts.some((text) => text === undefined)) return undefined;
  const earlier = spans.map(({ was }) => was?.metrics ?? "");
  return [managerMetrics(texts.join("\n"), kinds), managerMetrics(earlier.join("\n"), kinds)];
}

function wireOf(pods: number, spans: readonly Pick<ProcessSample, "io">[]): Pick<Phase, "wire"> {
  const all = spans.map(({ io }) => io).filter((io) => io !== undefined);
  if (all.length < spans.length) return {};
  const readBytes = sum(all.map((io) => io.readBytes));
  const writtenBytes = sum(all.map((io) => io.writtenBytes));
  return { wire: { readBytes, writtenBytes, perPod: (readBytes + writtenBytes) / pods } };
}

function serverCost(
  pods: number,
  before: ServerMetrics | undefined,
  after: ServerMetrics | undefined,
): Pick<Phase, "serverCpuMsPerPod" | "storeMb"> {
  const seconds = serverCpuBetween(before, after);
  return {
    ...(seconds === undefined ? {} : { serverCpuMsPerPod: (seconds * 1000) / pods }),
    ...(after?.storeMb === undefined ? {} : { storeMb: after.storeMb }),
  };
}

function requestsOf(
  pods: number,
  before: Spent,
  after: Spent,
  metrics: Metrics | undefined,
): Phase["requests"] {
  const bench = grown(after.bench, before.bench);
  const server =
    after.server === undefined || before.server === undefined
      ? undefined
      : grown(after.server.requests, before.server.requests);
  const own = metrics === undefined ? undefined : requestsBetween(...metrics);
  const by = own ?? (server === undefined ? {} : without(server, bench));
  const total = sum(Object.values(by));
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

function clocksOf([after, before]: Metrics): Phase["clocks"] {
  const clocks: Phase["clocks"] = {};
  for (const name of managerClocks) {
    const found = clockBetween(name, after, before);
    if (found !== undefined) clocks[name] = found;
  }
  return clocks;
}

function sum(values: readonly number[]): number {
  return values.reduce((total, value) => total + value, 0);
}
