/**
 * Runs one controller: workers take keys from a queue and reconcile them.
 *
 * Contract of `reconcile`: it returns when the object is as it should be, or `requeueAfterMs` when it is to be looked at
 * again without an event. It throws to be called again after a backoff; TerminalError when calling again is pointless
 * until the object changes. Whether a KubeError is retried, and when, is decided from its code.
 */
import type { Clock } from "./clock.ts";
import { isKubeError, severityOf } from "./errors.ts";
import type { Log } from "./log.ts";
import type { Metrics, ReconcileResult } from "./metrics_types.ts";
import type { QueueObserver, WorkQueue } from "./queue.ts";

export interface Outcome {
  /** Milliseconds until the key is to be reconciled again, event or not. */
  requeueAfterMs?: number | undefined;
}

export interface ControllerOptions {
  /** Label of its metrics and log lines, `cloneset-controller`. */
  name: string;
  queue: WorkQueue;
  workers: number;
  /** The signal aborts when the process stops and the time for ending is over. */
  reconcile(key: string, signal: AbortSignal): Promise<Outcome | undefined>;
  clock: Clock;
  log: Log;
  metrics: Metrics;
  /** Aborted: take no more keys, wait for those that run. */
  signal: AbortSignal;
  /** How long running reconciles may take to end. Default 10 s. */
  stopTimeoutMs?: number;
}

/** Trying again changes nothing until the object or its surroundings change. */
export class TerminalError extends Error {
  override readonly name = "TerminalError";
}

/** The metrics of a queue under the name of its controller. */
export function queueObserver(metrics: Metrics, name: string): QueueObserver {
  return {
    added: (depth) => metrics.queueAdded(name, depth),
    retried: () => metrics.queueRetried(name),
    started(depth, waitedMs) {
      metrics.queueStarted(name, depth, waitedMs);
      metrics.stages?.queued(name, waitedMs);
    },
    finished: (tookMs) => metrics.queueFinished(name, tookMs),
  };
}

/** Resolves when all workers ended: after `signal` aborted, and at the latest `stopTimeoutMs` later. */
export async function runController(options: ControllerOptions): Promise<void> {
  const { name, queue, workers, signal, clock, metrics } = options;
  const log = options.log.with({ controller: name });
  const cut = new AbortController();
  const stop = (): void => queue.stop();
  if (signal.aborted) stop();
  else signal.addEventListener("abort", stop, { once: true });
  metrics.workers(name, workers);
  const running = new Set<string>();
  const loops = Array.from({ length: workers }, () => work(options, log, running, cut.signal));
  const ended = Promise.all(loops);
  await Promise.race([ended, aborted(signal)]);
  const inTime = await within(clock, options.stopTimeoutMs ?? 10_000, ended);
  if (!inTime) {
    log.warn("reconciles did not end in time and are abandoned", { keys: [...running] });
    cut.abort();
  }
  signal.removeEventListener("abort", stop);
}

async function work(
  options: ControllerOptions,
  log: Log,
  running: Set<string>,
  cut: AbortSignal,
): Promise<void> {
  const { queue, name, metrics, clock } = options;
  for (let key = await queue.next(); key !== undefined; key = await queue.next()) {
    running.add(key);
    metrics.reconcileStarted(name);
    const started = clock.monotonic();
    const result = await reconcileOnce(options, log, key, cut);
    metrics.reconcileFinished(name, result, clock.monotonic() - started);
    running.delete(key);
    queue.done(key);
  }
}

async function reconcileOnce(
  options: ControllerOptions,
  log: Log,
  key: string,
  cut: AbortSignal,
): Promise<ReconcileResult> {
  const { queue } = options;
  try {
    const outcome = await options.reconcile(key, cut);
    queue.forget(key);
    const requeueAfterMs = outcome?.requeueAfterMs;
    if (requeueAfterMs === undefined) return "success";
    queue.addAfter(key, requeueAfterMs);
    return "requeue_after";
  } catch (error) {
    return afterError(options, log, key, error);
  }
}

function afterError(options: ControllerOptions, log: Log, key: string, error: unknown): ReconcileResult {
  const { queue, signal } = options;
  if (error instanceof TerminalError) {
    queue.forget(key);
    log.error("reconcile failed and is not tried again until something changes", { key, error });
    return "terminal_error";
  }
  if (isKubeError(error, "Aborted") && signal.aborted) return "error";
  const retryInMs = queue.addBackoff(key, error);
  if (isKubeError(error, "Conflict", "AlreadyExists")) {
    // Somebody else was faster; the next look at the cache settles it.
    log.debug("reconcile met a newer state", { key, retryInMs, error });
    return "requeue";
  }
  if (isKubeError(error)) {
    log[severityOf(error)]("reconcile failed", { key, retryInMs, failures: queue.failures(key), error });
    return "error";
  }
  options.metrics.unexpectedError("reconcile");
  log.error("reconcile threw something unexpected", { key, retryInMs, failures: queue.failures(key), error });
  return "panic";
}

function aborted(signal: AbortSignal): Promise<void> {
  if (signal.aborted) return Promise.resolve();
  return new Promise((resolve) => signal.addEventListener("abort", () => resolve(), { once: true }));
}

/** Whether `work` ended within `ms`. */
async function within(clock: Clock, ms: number, work: Promise<unknown>): Promise<boolean> {
  const over = new AbortController();
  const timeout = clock.sleep(ms, over.signal).then(
    () => false,
    () => true,
  );
  const ended = work.then(() => true);
  const first = await Promise.race([ended, timeout]);
  over.abort();
  return first;
}
