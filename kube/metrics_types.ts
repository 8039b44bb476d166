/** What kube counts, without saying how it is published: metrics.ts does it with prom-client, tests need nothing. */
import type { Priority } from "./client_types.ts";

export interface RequestSample {
  /** `GET`, `LIST`, `WATCH`, `POST`, `PUT`, `PATCH`, `DELETE`. */
  verb: string;
  method: string;
  /** Plural of the resource, with `/subresource`; a path's first element for other requests. */
  resource: string;
  /** HTTP status, or `<error>` when no answer arrived. */
  code: string;
  durationMs: number;
  bytesOut: number;
  bytesIn: number;
}

export type ReconcileResult = "success" | "error" | "requeue" | "requeue_after" | "terminal_error" | "panic";

export interface Metrics {
  request(host: string, sample: RequestSample): void;
  retry(verb: string, resource: string, reason: string): void;
  window(limit: number, inFlight: number, waiting: number): void;
  watchEvents(resource: string, type: string, count: number): void;
  watchRestart(resource: string, reason: string): void;
  reconcileStarted(controller: string): void;
  reconcileFinished(controller: string, result: ReconcileResult, tookMs: number): void;
  workers(controller: string, count: number): void;
  queueAdded(queue: string, depth: number): void;
  queueStarted(queue: string, depth: number, waitedMs: number): void;
  queueFinished(queue: string, tookMs: number): void;
  queueRetried(queue: string): void;
  webhookStarted(webhook: string): void;
  webhookFinished(webhook: string, code: number, tookMs: number): void;
  podAdmissionStep(step: string, tookMs: number): void;
  leader(isLeader: boolean): void;
  eventDropped(): void;
  /** An error that no code expected: a mistake of ours. `where` is what was being done. */
  unexpectedError(where: UnexpectedWhere): void;
  /** Where somebody asked for it: otherwise no clock is read for it. */
  readonly stages?: StageTimes | undefined;
}

/** What a write waits for, stage by stage. */
export interface StageTimes {
  /** An object in the queue of its controller. */
  queued(controller: string, waitedMs: number): void;
  /** A request for its place in the window. */
  windowWaited(priority: Priority, waitedMs: number): void;
  /** From the sending of a request to its whole answer. */
  answered(priority: Priority, tookMs: number): void;
  /** How late the event loop ran a timer. */
  loopDelayed(lateMs: number): void;
}

/** All but the last two were contained; those ended the process. */
export const unexpectedPlaces = [
  "reconcile",
  "action",
  "admission",
  "endpoint",
  "pull",
  "probe",
  "exception",
  "rejection",
] as const;
export type UnexpectedWhere = (typeof unexpectedPlaces)[number];

export const nullMetrics: Metrics = {
  request: () => undefined,
  retry: () => undefined,
  window: () => undefined,
  watchEvents: () => undefined,
  watchRestart: () => undefined,
  reconcileStarted: () => undefined,
  reconcileFinished: () => undefined,
  workers: () => undefined,
  queueAdded: () => undefined,
  queueStarted: () => undefined,
  queueFinished: () => undefined,
  queueRetried: () => undefined,
  webhookStarted: () => undefined,
  webhookFinished: () => undefined,
  podAdmissionStep: () => undefined,
  leader: () => undefined,
  eventDropped: () => undefined,
  unexpectedError: () => undefined,
};
