/** The log of one container, over its restarts and over streams that break. */
import { type Clock, isKubeError } from "../../kube/index.ts";
import { isPassing } from "../follow.ts";
import type { Run } from "./containers.ts";
import { type LogLine, LogPlace, linesOf } from "./lines.ts";

/** Between two streams of the same run; twice as long each time that nothing came. */
const shortestPauseMs = 500;
const longestPauseMs = 8_000;

/** Parameters of a log's request. */
export interface LogQuery {
  readonly previous?: true;
  readonly follow?: true;
  readonly sinceTime?: string | undefined;
  readonly sinceSeconds?: number | undefined;
  readonly tailLines?: number | undefined;
}

export interface ContainerLogParts {
  readonly clock: Clock;
  readonly signal: AbortSignal;
  open(query: LogQuery): Promise<AsyncIterable<Uint8Array>>;
  print(line: LogLine): void;
}

type End = "ended" | "broken" | "pod gone";

export class ContainerLog {
  readonly #parts: ContainerLogParts;
  /** Of the first stream alone. */
  #beginning: LogQuery;
  #place = new LogPlace();
  #newest: Run | undefined;
  /** The run that was read to its end. */
  #done = "";
  /** The run whose stream broke; it may have ended since. */
  #broken: string | undefined;

  /** `beginning`: where the first stream begins. */
  constructor(parts: ContainerLogParts, beginning: LogQuery) {
    this.#parts = parts;
    this.#beginning = beginning;
  }

  /** The newest run, of whichever pod has the name: what a new pod writes is new, whatever the clocks of its node say. */
  update(run: Run | undefined, isSamePod: boolean): void {
    if (!isSamePod) {
      this.#place = new LogPlace();
      this.#beginning = {};
    }
    this.#newest = run;
  }

  /** Whether there is a run to read. */
  get isUnread(): boolean {
    return this.#newest !== undefined && this.#newest.id !== this.#done;
  }

  /** Prints until all that is known is read. Throws KubeError for what another try does not mend. */
  async read(): Promise<void> {
    let pauseMs = shortestPauseMs;
    for (let run = this.#unread(); run !== undefined; run = this.#unread()) {
      const from = this.#place.time;
      const end = await this.#readRun(run);
      if (this.#place.time !== from) pauseMs = shortestPauseMs;
      if (this.#isOver(run, end)) this.#done = run.id;
      else await this.#parts.clock.sleep(pauseMs, this.#parts.signal).catch(() => undefined);
      pauseMs = Math.min(pauseMs * 2, longestPauseMs);
    }
  }

  #unread(): Run | undefined {
    return this.isUnread && !this.#parts.signal.aborted ? this.#newest : undefined;
  }

  /** A stream also ends where its server is shut down: the container that still runs is read on. */
  #isOver(run: Run, end: End): boolean {
    if (end !== "ended") return end === "pod gone";
    return this.#newest?.id !== run.id || !this.#newest.isRunning;
  }

  async #readRun(run: Run): Promise<End> {
    try {
      await this.#readRestOf(run.previousId);
      this.#broken = run.id;
      await this.#printAll({ follow: true, ...this.#since() });
      this.#broken = undefined;
      return "ended";
    } catch (error) {
      return endOf(error, this.#parts.signal);
    }
  }

  /** What the run before still wrote after its stream broke. */
  async #readRestOf(previousId: string | undefined): Promise<void> {
    if (previousId === undefined || previousId !== this.#broken) return;
    await this.#printAll({ previous: true, ...this.#since() }).catch((error: unknown) => {
      // The kubelet keeps it no longer.
      if (!isKubeError(error, "BadRequest")) throw error;
    });
  }

  #since(): LogQuery {
    return this.#place.time === undefined ? this.#beginning : { sinceTime: this.#place.time };
  }

  async #printAll(query: LogQuery): Promise<void> {
    const isNew = this.#place.reading();
    const chunks = await this.#parts.open(query);
    for await (const line of linesOf(chunks)) if (isNew(line)) this.#parts.print(line);
    this.#beginning = {};
  }
}

function endOf(error: unknown, signal: AbortSignal): End {
  if (signal.aborted) return "broken";
  if (isKubeError(error, "NotFound")) return "pod gone";
  // "is waiting to start": the status that was seen is older than what the kubelet knows, or newer.
  if (isKubeError(error, "BadRequest")) return "ended";
  if (isPassing(error)) return "broken";
  throw error;
}
