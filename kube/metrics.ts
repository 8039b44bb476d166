/** Metrics under the names that dashboards for the API know (spec platform 3), and a few of our own: `refit_*`. */
import { Counter, Gauge, Histogram, Registry } from "prom-client";
import { type Metrics, unexpectedPlaces } from "./metrics_types.ts";

export type { Registry } from "prom-client";

/** A registry of its own for each process instance; there is no global one. */
export function createRegistry(): Registry {
  return new Registry();
}

const reconcileBuckets = [
  0.005, 0.01, 0.025, 0.05, 0.1, 0.15, 0.2, 0.25, 0.3, 0.35, 0.4, 0.45, 0.5, 0.6, 0.7, 0.8, 0.9, 1, 1.25, 1.5,
  1.75, 2, 2.5, 3, 3.5, 4, 4.5, 5, 6, 7, 8, 9, 10, 15, 20, 25, 30, 40, 50, 60,
];
const queueBuckets = [1e-8, 1e-7, 1e-6, 1e-5, 1e-4, 1e-3, 0.01, 0.1, 1, 10, 100, 1000];
const stepBuckets = [1e-5, 1e-4, 1e-3, 0.01, 0.1, 1];
const requestBuckets = [0.005, 0.025, 0.1, 0.25, 0.5, 1, 2, 4, 8, 15, 30, 60];

export function createMetrics(registry: Registry): Metrics {
  return {
    ...clientMetrics(registry),
    ...reconcileMetrics(registry),
    ...queueMetrics(registry),
    ...processState(registry),
  };
}

function clientMetrics(registry: Registry) {
  const make = makers(registry);
  const requests = make.counter(
    "rest_client_requests_total",
    "Number of HTTP requests, partitioned by status code, method, and host.",
    ["code", "method", "host"],
  );
  const byResource = make.counter("refit_client_requests_total", "Requests by verb, resource and status.", [
    "verb",
    "resource",
    "code",
  ]);
  const duration = make.histogram(
    "rest_client_request_duration_seconds",
    "Request latency in seconds.",
    ["verb", "host"],
    requestBuckets,
  );
  const bytesIn = make.counter("refit_client_received_bytes_total", "Bytes of answers, watches left out.", [
    "verb",
    "resource",
  ]);
  const bytesOut = make.counter("refit_client_sent_bytes_total", "Bytes of request bodies.", [
    "verb",
    "resource",
  ]);
  const retries = make.counter("refit_client_retries_total", "Requests sent again, by the reason.", [
    "verb",
    "resource",
    "reason",
  ]);
  const limit = make.gauge("refit_client_window_limit", "Requests that may be in flight now.", []);
  const inFlight = make.gauge("refit_client_window_in_flight", "Requests in flight.", []);
  const waiting = make.gauge("refit_client_window_waiting", "Requests that wait for a place.", []);
  const events = make.counter("refit_watch_events_total", "Watch events received.", ["resource", "type"]);
  const restarts = make.counter(
    "refit_watch_restarts_total",
    "Watches that had to start anew, by the reason.",
    ["resource", "reason"],
  );
  return {
    request(host, { verb, method, resource, code, durationMs, bytesIn: received, bytesOut: sent }) {
      requests.inc({ code, method, host });
      byResource.inc({ verb, resource, code });
      duration.observe({ verb, host }, durationMs / 1000);
      if (received > 0) bytesIn.inc({ verb, resource }, received);
      if (sent > 0) bytesOut.inc({ verb, resource }, sent);
    },
    retry: (verb, resource, reason) => retries.inc({ verb, resource, reason }),
    window(size, flying, queued) {
      limit.set(size);
      inFlight.set(flying);
      waiting.set(queued);
    },
    watchEvents: (resource, type, count) => events.inc({ resource, type }, count),
    watchRestart: (resource, reason) => restarts.inc({ resource, reason }),
  } satisfies Partial<Metrics>;
}

function reconcileMetrics(registry: Registry) {
  const make = makers(registry);
  const prefix = "controller_runtime";
  const total = make.counter(`${prefix}_reconcile_total`, "Total number of reconciliations per controller", [
    "controller",
    "result",
  ]);
  const errors = make.counter(
    `${prefix}_reconcile_errors_total`,
    "Total number of reconciliation errors per controller",
    ["controller"],
  );
  const terminal = make.counter(
    `${prefix}_terminal_reconcile_errors_total`,
    "Total number of terminal reconciliation errors per controller",
    ["controller"],
  );
  const panics = make.counter(
    `${prefix}_reconcile_panics_total`,
    "Total number of reconciliation panics per controller",
    ["controller"],
  );
  const time = make.histogram(
    `${prefix}_reconcile_time_seconds`,
    "Length of time per reconciliation per controller",
    ["controller"],
    reconcileBuckets,
  );
  const most = make.gauge(
    `${prefix}_max_concurrent_reconciles`,
    "Maximum number of concurrent reconciles per controller",
    ["controller"],
  );
  const active = make.gauge(`${prefix}_active_workers`, "Number of currently used workers per controller", [
    "controller",
  ]);
  const webhooks = make.counter(
    `${prefix}_webhook_requests_total`,
    "Total number of admission requests by HTTP status code.",
    ["webhook", "code"],
  );
  const webhookTime = make.histogram(
    `${prefix}_webhook_latency_seconds`,
    "Histogram of the latency of processing admission requests",
    ["webhook"],
    requestBuckets,
  );
  const webhooksInFlight = make.gauge(
    `${prefix}_webhook_requests_in_flight`,
    "Current number of admission requests being served.",
    ["webhook"],
  );
  const podSteps = make.histogram(
    "refit_pod_admission_step_seconds",
    "Time that each step of the admission of a new pod takes.",
    ["step"],
    stepBuckets,
  );
  return {
    reconcileStarted: (controller) => active.inc({ controller }),
    reconcileFinished(controller, result, tookMs) {
      active.dec({ controller });
      time.observe({ controller }, tookMs / 1000);
      const failed = result === "error" || result === "terminal_error" || result === "panic";
      total.inc({ controller, result: failed ? "error" : result });
      if (failed) errors.inc({ controller });
      if (result === "terminal_error") terminal.inc({ controller });
      if (result === "panic") panics.inc({ controller });
    },
    workers: (controller, count) => most.set({ controller }, count),
    webhookStarted: (webhook) => webhooksInFlight.inc({ webhook }),
    webhookFinished(webhook, code, tookMs) {
      webhooksInFlight.dec({ webhook });
      webhooks.inc({ webhook, code: String(code) });
      webhookTime.observe({ webhook }, tookMs / 1000);
    },
    podAdmissionStep: (step, tookMs) => podSteps.observe({ step }, tookMs / 1000),
  } satisfies Partial<Metrics>;
}

function queueMetrics(registry: Registry) {
  const make = makers(registry);
  const labels = ["name", "controller"];
  const depth = make.gauge("workqueue_depth", "Current depth of workqueue", labels);
  const adds = make.counter("workqueue_adds_total", "Total number of adds handled by workqueue", labels);
  const waited = make.histogram(
    "workqueue_queue_duration_seconds",
    "How long in seconds an item stays in workqueue before being requested",
    labels,
    queueBuckets,
  );
  const worked = make.histogram(
    "workqueue_work_duration_seconds",
    "How long in seconds processing an item from workqueue takes.",
    labels,
    queueBuckets,
  );
  const retries = make.counter(
    "workqueue_retries_total",
    "Total number of retries handled by workqueue",
    labels,
  );
  const of = (queue: string) => ({ name: queue, controller: queue });
  return {
    queueAdded(queue, size) {
      adds.inc(of(queue));
      depth.set(of(queue), size);
    },
    queueStarted(queue, size, waitedMs) {
      depth.set(of(queue), size);
      waited.observe(of(queue), waitedMs / 1000);
    },
    queueFinished: (queue, tookMs) => worked.observe(of(queue), tookMs / 1000),
    queueRetried: (queue) => retries.inc(of(queue)),
  } satisfies Partial<Metrics>;
}

function processState(registry: Registry) {
  const make = makers(registry);
  const leader = make.gauge(
    "kruise_manager_is_leader",
    "Gauge the leader of kruise-manager, 1 indicates leader, 0 indicates candidate.",
    [],
  );
  const dropped = make.counter(
    "refit_events_dropped_total",
    "Events that were not sent because too many were waiting.",
    [],
  );
  const unexpected = make.counter(
    "refit_unexpected_errors_total",
    "Errors that no code expected, by what was being done; exception and rejection end the process.",
    ["where"],
  );
  // From the start: an increase from nothing to one is none to Prometheus.
  for (const where of unexpectedPlaces) unexpected.inc({ where }, 0);
  leader.set(0);
  const resident = make.gauge("process_resident_memory_bytes", "Resident memory size in bytes.", [], () =>
    process.memoryUsage.rss(),
  );
  const heap = make.gauge(
    "nodejs_heap_size_used_bytes",
    "Used heap of the JavaScript engine in bytes.",
    [],
    () => process.memoryUsage().heapUsed,
  );
  make.counter("process_cpu_seconds_total", "Total user and system CPU time spent in seconds.", [], () => {
    const { user, system } = process.cpuUsage();
    return (user + system) / 1e6;
  });
  for (const gauge of [resident, heap]) gauge.set(0);
  make
    .gauge("process_start_time_seconds", "Start time of the process since unix epoch in seconds.", [])
    .set(Math.round(performance.timeOrigin / 1000));
  return {
    leader: (isLeader) => leader.set(isLeader ? 1 : 0),
    eventDropped: () => dropped.inc(),
    unexpectedError: (where) => unexpected.inc({ where }),
  } satisfies Partial<Metrics>;
}

/** A counter beside those of Metrics. */
export function createCounter(
  registry: Registry,
  name: string,
  help: string,
  labelNames: string[],
): { inc(labels: Readonly<Record<string, string>>): void } {
  const counter = makers(registry).counter(name, help, labelNames);
  return { inc: (labels) => counter.inc({ ...labels }) };
}

export interface MetricDescription {
  readonly name: string;
  /** `counter`, `gauge` or `histogram`. */
  readonly type: string;
  readonly help: string;
  readonly labels: readonly string[];
}

/** All metrics of a registry, for documents. */
export function describeMetrics(registry: Registry): MetricDescription[] {
  return registry.getMetricsAsArray().map((metric) => {
    const labels =
      "labelNames" in metric && Array.isArray(metric.labelNames) ? metric.labelNames.map(String) : [];
    return { name: metric.name, type: String(metric.type), help: metric.help, labels };
  });
}

/** Metrics of one registry, by kind. `read`: gives the value when the metrics are asked for. */
function makers(registry: Registry) {
  const registers = [registry];
  return {
    counter(name: string, help: string, labelNames: string[], read?: () => number) {
      const collect =
        read &&
        (() => {
          counter.reset();
          counter.inc(read());
        });
      const counter: Counter = new Counter({ name, help, labelNames, registers, collect });
      return counter;
    },
    gauge(name: string, help: string, labelNames: string[], read?: () => number) {
      const collect = read && (() => gauge.set(read()));
      const gauge: Gauge = new Gauge({ name, help, labelNames, registers, collect });
      return gauge;
    },
    histogram: (name: string, help: string, labelNames: string[], buckets: number[]) =>
      new Histogram({ name, help, labelNames, buckets, registers }),
  };
}
