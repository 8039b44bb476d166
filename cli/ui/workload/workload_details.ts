/** What the page shows of one workload beside its pods and the answer: in parts, each of which may fail by itself. */
import { newestSidecarsHash } from "../../../crds/index.ts";
import { readTarget } from "../../target.ts";
import { cannotTell } from "../../why/answer.ts";
import { Reader } from "../../why/causes/reader.ts";
import { rolloutKey, unreadKey } from "../shared/detail_items.ts";
import type { Item } from "../shared/items.ts";
import { unreadLine } from "../watching/unread_line.ts";
import type { DetailRequest, DetailsOptions } from "./detail_request.ts";
import { hotUpgradeItems } from "./hot_upgrades.ts";
import { ItemGroup } from "./item_group.ts";
import { pullItems } from "./pull_items.ts";
import { recreateItems } from "./recreate_items.ts";
import { revisionItems } from "./revision_items.ts";
import { rolloutItem } from "./rollout_item.ts";
import { ownerItems } from "./sidecar_owners.ts";
import { subsetItems } from "./subset_items.ts";

interface Part {
  readonly name: string;
  /** Milliseconds between two reads: requests cost. */
  readonly restMs: number;
  /** Items of the feed by their keys. Rejects when they cannot be read. */
  read(request: DetailRequest): Promise<ReadonlyMap<string, Item>>;
}

const parts: readonly Part[] = [
  {
    name: "rollout",
    restMs: 0,
    async read({ target, stored }) {
      const item = rolloutItem(target.type, stored);
      return new Map(item === undefined ? [] : [[rolloutKey, item]]);
    },
  },
  { name: "revisions", restMs: 4_000, read: revisionItems },
  { name: "recreate requests", restMs: 2_000, read: recreateItems },
  { name: "subsets", restMs: 2_000, read: subsetItems },
  {
    name: "owners",
    restMs: 1_000,
    read: async ({ injectedPods, stored }) => ownerItems(injectedPods(), newestSidecarsHash(stored)),
  },
  {
    name: "hot upgrades",
    restMs: 1_000,
    read: async ({ injectedPods, stored }) => hotUpgradeItems(injectedPods(), stored),
  },
  { name: "image pulls", restMs: 4_000, read: pullItems },
];

export class WorkloadDetails {
  readonly #options: DetailsOptions;
  readonly #groups: ReadonlyMap<Part, ItemGroup>;
  readonly #readAt = new Map<Part, number>();
  readonly #problems = new Map<Part, string>();
  #isStopped = false;

  constructor(options: DetailsOptions) {
    this.#options = options;
    this.#groups = new Map(parts.map((part) => [part, new ItemGroup(options.feed)]));
  }

  /** Reads again what is due. Rejects when the workload cannot be read. */
  async read(): Promise<void> {
    const { access, target, feed, host } = this.#options;
    const stored = await readTarget(access, target);
    const now = host.clock.now();
    const due = parts.filter((part) => now - (this.#readAt.get(part) ?? 0) >= part.restMs);
    await Promise.all(due.map((part) => this.#read(part, { ...this.#options, stored })));
    if (this.#isStopped) return;
    const what = [...this.#problems.values(), ...this.#options.problems()];
    if (what.length === 0) feed.remove(unreadKey);
    else feed.put(unreadKey, { is: "unread", what });
  }

  stop(): void {
    this.#isStopped = true;
  }

  /** What fails as a whole stays as it was, with the reason beside it. */
  async #read(part: Part, options: Omit<DetailRequest, "reader">): Promise<void> {
    const reader = new Reader(options.access);
    this.#readAt.set(part, options.host.clock.now());
    try {
      const items = await part.read({ ...options, reader });
      this.#note(part, reader.unread.length === 0 ? "" : cannotTell(reader.unread));
      if (!this.#isStopped) this.#groups.get(part)?.show(items);
    } catch (error) {
      this.#note(part, unreadLine(part.name, error));
    }
  }

  #note(part: Part, problem: string): void {
    if (problem === "") this.#problems.delete(part);
    else this.#problems.set(part, problem);
  }
}
