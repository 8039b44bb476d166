/** Items of a feed that are told together: those that are not among the newest ones are gone. */

import type { Item } from "../shared/items.ts";
import type { Feed } from "../watching/feed.ts";

export class ItemGroup {
  readonly #feed: Feed;
  #keys: ReadonlySet<string> = new Set();

  constructor(feed: Feed) {
    this.#feed = feed;
  }

  show(items: ReadonlyMap<string, Item>): void {
    for (const key of this.#keys) if (!items.has(key)) this.#feed.remove(key);
    for (const [key, item] of items) this.#feed.put(key, item);
    this.#keys = new Set(items.keys());
  }
}
