/** What a manager says of itself: requests, latencies, queue depth. Names are those of controller-runtime and client-go. */
import { BenchError, messageOf } from "../errors.ts";
import {
  countOf,
  grown,
  type Histogram,
  histogramGrowth,
  histogramOf,
  histogramQuantile,
  parseMetrics,
  type Sample,
  sumBy,
} from "./prometheus_text.ts";
import type { Distribution } from "./result.ts";

const histograms = {
  /** Event received to reconcile start. */
  reaction: "workqueue_queue_duration_seconds",
  reconcile: "controller_runtime_reconcile_time_seconds",
  write: "rest_client_request_duration_seconds",
  webhook: "controller_runtime_webhook_latency_seconds",
  queueWait: "refit_stage_queue_seconds",
  windowWait: "refit_stage_window_seconds",
  urgentWindowWait: "refit_stage_window_seconds",
  answer: "refit_stage_answer_seconds",
  urgentAnswer: "refit_stage_answer_seconds",
  eventLoop: "refit_stage_event_loop_seconds",
} as const;
export type ManagerClock = keyof typeof histograms;
export const managerClocks = Object.keys(histograms).filter(
  (name): name is ManagerClock => name in histograms,
);

const requestsByResource = "refit_client_requests_total";
const requestsByMethod = "rest_client_requests_total";
const queueDepth = "workqueue_depth";

const wanted: ReadonlySet<string> = new Set([
  ...Object.values(histograms).map((name) => `${name}_bucket`),
  requestsByResource,
  requestsByMethod,
  queueDepth,
]);

/** What brings a pod back into service, its new image above all. */
const isUrgent = (labels: Readonly<Record<string, string>>): boolean => labels["priority"] === "urgent";
const isOfOthers = (labels: Readonly<Record<string, string>>): boolean => !isUrgent(labels);

const writes: ReadonlySet<string> = new Set(["POST", "PUT", "PATCH", "DELETE"]);

export interface ManagerMetrics {
  /** Keys are `PATCH pods/status`, or `PATCH` where only the method is known. */
  readonly requests: Readonly<Record<string, number>>;
  readonly clocks: Readonly<Record<ManagerClock, Histogram>>;
  /** Keys that wait, all queues together; undefined: not served. */
  readonly queueDepth: number | undefined;
}

/** `workloads` are kinds whose controllers' queues and passes count; none: those of all. */
export async function readManagerMetrics(
  url: string,
  workloads: readonly string[] = [],
): Promise<ManagerMetrics> {
  return managerMetrics(await readMetricsText(url), workloads);
}

export async function readMetricsText(url: string): Promise<string> {
  try {
    const answer = await fetch(url, { signal: AbortSignal.timeout(5000) });
    if (!answer.ok) throw new Error(`HTTP ${answer.status}`);
    return await answer.text();
  } catch (error) {
    const cause = error instanceof Error && error.cause instanceof Error ? `: ${error.cause.message}` : "";
    throw new BenchError(`the manager's metrics at ${url} cannot be read: ${messageOf(error)}${cause}`);
  }
}

export function managerMetrics(text: string, workloads: readonly string[] = []): ManagerMetrics {
  const samples = parseMetrics(text, wanted);
  // Queues of other controllers may wait on purpose, and nothing of it concerns the workload.
  const names = workloads.map((kind) => kind.toLowerCase());
  const concerns = (labels: Readonly<Record<string, string>>): boolean => {
    const controller = (labels["controller"] ?? labels["name"] ?? "").toLowerCase();
    return names.length === 0 || names.some((name) => controller.startsWith(name));
  };
  const depths = samples.filter((sample) => sample.name === queueDepth && concerns(sample.labels));
  return {
    requests: requestsIn(samples),
    clocks: {
      reaction: histogramOf(samples, histograms.reaction, concerns),
      reconcile: histogramOf(samples, histograms.reconcile, concerns),
      write: histogramOf(samples, histograms.write, (labels) => writes.has(labels["verb"] ?? "")),
      webhook: histogramOf(samples, histograms.webhook),
      queueWait: histogramOf(samples, histograms.queueWait, concerns),
      windowWait: histogramOf(samples, histograms.windowWait, isOfOthers),
      urgentWindowWait: histogramOf(samples, histograms.urgentWindowWait, isUrgent),
      answer: histogramOf(samples, histograms.answer, isOfOthers),
      urgentAnswer: histogramOf(samples, histograms.urgentAnswer, isUrgent),
      eventLoop: histogramOf(samples, histograms.eventLoop),
    },
    queueDepth: depths.length === 0 ? undefined : depths.reduce((sum, { value }) => sum + value, 0),
  };
}

function requestsIn(samples: readonly Sample[]): Record<string, number> {
  const detailed = sumBy(
    samples,
    requestsByResource,
    (labels) => `${labels["verb"] ?? ""} ${labels["resource"] ?? ""}`,
  );
  return Object.keys(detailed).length > 0
    ? detailed
    : sumBy(samples, requestsByMethod, (labels) => labels["method"] ?? "");
}

export function requestsBetween(after: ManagerMetrics, before: ManagerMetrics): Record<string, number> {
  return grown(after.requests, before.requests);
}

/** One of the manager's clocks between two scrapes, in milliseconds; undefined when nothing was observed. */
export function clockBetween(
  name: ManagerClock,
  after: ManagerMetrics,
  before: ManagerMetrics,
): Distribution | undefined {
  const growth = histogramGrowth(after.clocks[name], before.clocks[name]);
  const count = countOf(growth);
  if (count === 0) return undefined;
  const ms = (at: number): number => histogramQuantile(growth, at) * 1000;
  return { source: "manager", count, p50: ms(0.5), p90: ms(0.9), p99: ms(0.99), max: ms(1) };
}
