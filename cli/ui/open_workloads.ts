/** What pages show beside the list, workloads and the nodes: each is watched once, and no longer than a page shows it. */
import type { Target } from "../target.ts";
import { NodesFeed } from "./nodes/nodes_feed.ts";
import { nodesKey } from "./shared/node_items.ts";
import type { OpenFeed } from "./watching/feed.ts";
import type { Fleet, FleetOptions } from "./watching/fleet.ts";
import { NodeZones } from "./watching/node_zones.ts";
import { WorkloadFeed } from "./workload/workload_feed.ts";

type Watched = Pick<WorkloadFeed, "feed" | "start" | "stop">;

interface Shown {
  readonly watched: Watched;
  readonly started: Promise<void>;
  pages: number;
}

export class OpenWorkloads {
  readonly #options: FleetOptions;
  readonly #fleet: Fleet;
  readonly #zones: NodeZones;
  readonly #shown = new Map<string, Shown>();
  #isStopped = false;

  constructor(options: FleetOptions, fleet: Fleet) {
    this.#options = options;
    this.#fleet = fleet;
    this.#zones = new NodeZones(options);
  }

  /** Undefined when there is no workload of this key, which is not that of the nodes either. Rejects when it cannot be read. */
  async open(key: string): Promise<OpenFeed | undefined> {
    const target = key === nodesKey ? nodesKey : await this.#fleet.target(key);
    if (target === undefined || this.#isStopped) return undefined;
    const shown = this.#shown.get(key) ?? this.#watch(key, target);
    shown.pages++;
    const close = (): void => {
      shown.pages--;
      if (shown.pages > 0) return;
      if (this.#shown.get(key) === shown) this.#shown.delete(key);
      void shown.watched.stop();
    };
    try {
      await shown.started;
    } catch (error) {
      close();
      throw error;
    }
    return { feed: shown.watched.feed, close };
  }

  async stop(): Promise<void> {
    this.#isStopped = true;
    await Promise.all([...this.#shown.values()].map(({ watched }) => watched.stop()));
    await this.#zones.stop();
  }

  #watch(key: string, target: Target | typeof nodesKey): Shown {
    const watched = this.#feedOf(key, target);
    const shown = { watched, started: watched.start(), pages: 0 };
    this.#shown.set(key, shown);
    return shown;
  }

  #feedOf(key: string, target: Target | typeof nodesKey): Watched {
    if (target === nodesKey) return new NodesFeed(this.#options);
    const [fleet, zones] = [this.#fleet, this.#zones];
    return new WorkloadFeed({ ...this.#options, fleet, zones, key, target });
  }
}
