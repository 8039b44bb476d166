/** One state that pages follow: each gets the whole of it and then, in batches, what changes. */
import type { Clock } from "../../../kube/index.ts";
import { Batch, type Change, isEmptyChange, isSameItem } from "../shared/differences.ts";
import type { Item } from "../shared/items.ts";

/** Ten times a second looks like at once, and gathers what a rollout writes meanwhile. */
const batchMs = 100;

export class Feed {
  readonly #clock: Clock;
  readonly #state = new Map<string, Item>();
  readonly #batch = new Batch<Item>();
  readonly #followers = new Set<(change: Change<Item>) => void>();
  readonly #listeners = new Set<(key: string) => void>();
  #timer: { cancel(): void } | undefined;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  get state(): ReadonlyMap<string, Item> {
    return this.#state;
  }

  /** Whether somebody sees what is put. */
  get isSeen(): boolean {
    return this.#followers.size + this.#listeners.size > 0;
  }

  put(key: string, item: Item): void {
    if (isSameItem(this.#state.get(key), item)) return;
    this.#state.set(key, item);
    this.#batch.put(key, item);
    this.#changed(key);
  }

  remove(key: string): void {
    if (!this.#state.delete(key)) return;
    this.#batch.remove(key);
    this.#changed(key);
  }

  /** The first change, which comes at once, is the whole state. Returns the way to end it. */
  follow(follower: (change: Change<Item>) => void): () => void {
    this.#followers.add(follower);
    follower({ at: this.#clock.now(), isWhole: true, put: [...this.#state], gone: [] });
    return () => this.#followers.delete(follower);
  }

  /** Called with each key at once, for what is made of the state. */
  listen(listener: (key: string) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  stop(): void {
    this.#timer?.cancel();
    this.#followers.clear();
    this.#listeners.clear();
  }

  #changed(key: string): void {
    for (const listener of this.#listeners) listener(key);
    this.#timer ??= this.#clock.after(batchMs, () => this.#flush());
  }

  #flush(): void {
    this.#timer = undefined;
    const change = this.#batch.take(this.#clock.now());
    if (isEmptyChange(change)) return;
    for (const follower of this.#followers) follower(change);
  }
}

/** One that is watched for those who hold it open. */
export interface OpenFeed {
  readonly feed: Feed;
  close(): void;
}
