/**
 * Errors that nobody caught: an exception that left a callback, a rejected promise without a listener. What the process holds
 * in memory cannot be trusted after one, and what counts is in the API server: the error is logged with its stack and counted,
 * and the process ends to be started again. Errors of a request or a reconcile never get here: they are caught where these
 * are run, logged, and counted by the same metric.
 */
import type { Log } from "./log.ts";
import type { Metrics } from "./metrics_types.ts";

/** What is used of `process`, on Node and on Deno. */
export interface ErrorSource {
  on(event: "uncaughtException" | "unhandledRejection", listener: (error: unknown) => void): unknown;
  off(event: "uncaughtException" | "unhandledRejection", listener: (error: unknown) => void): unknown;
  exit(code: number): void;
}

/** Ends the process at the first such error, with code 1. Returns how to stop that. */
export function endOnUnexpectedErrors(
  process: ErrorSource,
  log: Log,
  metrics: Pick<Metrics, "unexpectedError">,
): () => void {
  const ending = (where: "exception" | "rejection") => (thrown: unknown) => {
    metrics.unexpectedError(where);
    const error = thrown instanceof Error ? thrown : new Error(String(thrown));
    log.error("the process ends: an error was not caught", { where, error });
    process.exit(1);
  };
  const onException = ending("exception");
  const onRejection = ending("rejection");
  process.on("uncaughtException", onException);
  process.on("unhandledRejection", onRejection);
  return () => {
    process.off("uncaughtException", onException);
    process.off("unhandledRejection", onRejection);
  };
}
