/** Records what the page would show: the list, and those workloads that somebody will ask about. */
import type { Clock } from "../../../kube/index.ts";
import type { Item } from "../shared/items.ts";
import type { RecordedLine } from "../shared/recorded.ts";
import type { Feed, OpenFeed } from "../watching/feed.ts";

/** Workloads that are followed because they are not done; and because somebody opened them. */
export const mostUndone = 20;
export const mostOpened = 20;
const tickMs = 500;

export interface RecorderOptions {
  readonly clock: Clock;
  readonly fleet: Feed;
  open(key: string): Promise<OpenFeed | undefined>;
  /** Resolves to false when no more is taken. */
  write(lines: readonly RecordedLine[]): Promise<boolean>;
  /** Recording is over before its end was asked for. Without an error: no more was taken. */
  ended(error?: unknown): void;
}

export class Recorder {
  readonly #options: RecorderOptions;
  readonly #opened = new Set<string>();
  /** What ends the following of each. */
  readonly #followed = new Map<string, AbortController>();
  readonly #leaveFleet: () => void;
  #lines: RecordedLine[] = [];
  #timer: { cancel(): void } | undefined;
  #writing: Promise<void> = Promise.resolve();
  #isStopped = false;

  constructor(options: RecorderOptions) {
    this.#options = options;
    this.#leaveFleet = options.fleet.follow((change) => this.#lines.push({ feed: "", change }));
    this.#tick();
  }

  /** Somebody looks at a workload. */
  opened(key: string): void {
    this.#opened.delete(key);
    this.#opened.add(key);
    const [oldest] = this.#opened;
    if (this.#opened.size > mostOpened && oldest !== undefined) this.#opened.delete(oldest);
  }

  /** Resolves when all that was seen is written. */
  async stop(): Promise<void> {
    this.#end();
    await this.#writing;
    if (this.#lines.length > 0) await this.#write();
  }

  #end(): void {
    this.#isStopped = true;
    this.#timer?.cancel();
    this.#leaveFleet();
    for (const leaving of this.#followed.values()) leaving.abort();
    this.#followed.clear();
  }

  #tick(): void {
    if (this.#isStopped) return;
    const chosen = chooseFollowed(this.#options.fleet.state, this.#followed, this.#opened);
    for (const key of this.#followed.keys()) if (!chosen.has(key)) this.#leave(key);
    for (const key of chosen) if (!this.#followed.has(key)) void this.#follow(key);
    this.#writing = this.#write().then(() => {
      if (!this.#isStopped) this.#timer = this.#options.clock.after(tickMs, () => this.#tick());
    });
  }

  async #write(): Promise<void> {
    const lines = this.#lines;
    this.#lines = [];
    if (lines.length === 0) return;
    try {
      if (await this.#options.write(lines)) return;
      this.#end();
      this.#options.ended();
    } catch (error) {
      this.#end();
      this.#options.ended(error);
    }
    this.#lines = [];
  }

  /** One that cannot be read stays among the followed, so that it is not asked for again and again. */
  async #follow(key: string): Promise<void> {
    const leaving = new AbortController();
    this.#followed.set(key, leaving);
    const opened = await this.#options.open(key).catch(() => undefined);
    if (opened === undefined) return;
    if (leaving.signal.aborted) return opened.close();
    const stop = opened.feed.follow((change) => this.#lines.push({ feed: key, change }));
    leaving.signal.addEventListener("abort", () => {
      stop();
      opened.close();
    });
  }

  /** From here on nothing is known of it, which is not the same as that nothing changes. */
  #leave(key: string): void {
    this.#followed.get(key)?.abort();
    this.#followed.delete(key);
    const change = { at: this.#options.clock.now(), isWhole: true as const, put: [], gone: [] };
    this.#lines.push({ feed: key, change });
  }
}

/**
 * Those that somebody opened, and of the others those that are not done. What is followed goes before what is not, and stays when it
 * is done until another needs its place.
 */
export function chooseFollowed(
  fleet: ReadonlyMap<string, Item>,
  followed: Pick<ReadonlySet<string>, "has">,
  opened: ReadonlySet<string>,
): Set<string> {
  const rank = (key: string, isDone: boolean): number =>
    isDone ? (followed.has(key) ? 2 : 3) : followed.has(key) ? 0 : 1;
  const others = [...fleet]
    .filter(([key, item]) => item.is === "workload" && !opened.has(key))
    .map(([key, item]) => ({ key, rank: rank(key, item.is === "workload" && item.state === "done") }))
    .filter(({ rank }) => rank < 3)
    .sort((a, b) => a.rank - b.rank);
  const known = [...opened].filter((key) => fleet.has(key));
  return new Set([...known, ...others.slice(0, mostUndone).map(({ key }) => key)]);
}
