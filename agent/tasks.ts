/** Work in the background, by key. */
import type { Log, Metrics, UnexpectedWhere } from "../kube/index.ts";

export interface TasksOptions {
  readonly log: Log;
  readonly metrics: Pick<Metrics, "unexpectedError">;
  /** What the tasks are, in the metric and the log. */
  readonly kind: UnexpectedWhere;
}

/** Each task can be stopped alone; an error that nothing expected ends its own task, is logged and counted. */
export class Tasks {
  readonly #options: TasksOptions;
  readonly #running = new Map<string, AbortController>();
  /** Those that were stopped, too, until they have ended. */
  readonly #ending = new Set<Promise<void>>();

  constructor(options: TasksOptions) {
    this.#options = options;
  }

  /** In the place of one of the same key that is stopped. */
  start(key: string, work: (signal: AbortSignal) => Promise<void>): void {
    this.stop(key);
    const abort = new AbortController();
    this.#running.set(key, abort);
    const ended = this.#run(key, abort, work);
    this.#ending.add(ended);
    void ended.then(() => this.#ending.delete(ended));
  }

  /** Aborts the task's signal; what it does after that is not reported. */
  stop(key: string): void {
    this.#running.get(key)?.abort(new Error("stopped"));
    this.#running.delete(key);
  }

  /** Resolves when all tasks have ended. */
  async stopAll(): Promise<void> {
    for (const key of [...this.#running.keys()]) this.stop(key);
    await Promise.all(this.#ending);
  }

  async #run(
    key: string,
    abort: AbortController,
    work: (signal: AbortSignal) => Promise<void>,
  ): Promise<void> {
    const { kind, log, metrics } = this.#options;
    try {
      await work(abort.signal);
    } catch (error) {
      if (abort.signal.aborted) return;
      metrics.unexpectedError(kind);
      log.error(`a ${kind} ended without a result`, { key, error });
    } finally {
      if (this.#running.get(key) === abort) this.#running.delete(key);
    }
  }
}
