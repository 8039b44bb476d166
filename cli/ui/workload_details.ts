/** What the page shows of one workload beside its pods and the answer. */
import type { ClusterAccess, Host } from "../command.ts";
import type { AnyObject } from "../fields.ts";
import { readTarget, type Target } from "../target.ts";
import type { Feed } from "./feed.ts";
import { rolloutItem } from "./rollout_item.ts";
import { rolloutKey } from "./shared/detail_items.ts";
import type { Item } from "./shared/items.ts";

export interface DetailsOptions {
  readonly access: ClusterAccess;
  readonly host: Pick<Host, "clock">;
  readonly target: Target;
  readonly feed: Feed;
}

export interface DetailRequest extends DetailsOptions {
  /** The workload as it is now. */
  readonly stored: AnyObject;
}

/** Items of the feed by their keys: what is not among them any more is gone. */
type Part = (request: DetailRequest) => Promise<ReadonlyMap<string, Item>>;

const parts: readonly Part[] = [
  async ({ target, stored }) => {
    const item = rolloutItem(target.type, stored);
    return new Map(item === undefined ? [] : [[rolloutKey, item]]);
  },
];

export class WorkloadDetails {
  readonly #options: DetailsOptions;
  /** Keys that each part put last. */
  readonly #put = new Map<Part, ReadonlySet<string>>();
  #isStopped = false;

  constructor(options: DetailsOptions) {
    this.#options = options;
  }

  /** Reads all of it again. Rejects when the workload cannot be read. */
  async read(): Promise<void> {
    const { access, target } = this.#options;
    const stored = await readTarget(access, target);
    await Promise.all(parts.map((part) => this.#read(part, { ...this.#options, stored })));
  }

  stop(): void {
    this.#isStopped = true;
  }

  async #read(part: Part, request: DetailRequest): Promise<void> {
    const items = await part(request);
    if (this.#isStopped) return;
    for (const key of this.#put.get(part) ?? []) if (!items.has(key)) this.#options.feed.remove(key);
    for (const [key, item] of items) this.#options.feed.put(key, item);
    this.#put.set(part, new Set(items.keys()));
  }
}
