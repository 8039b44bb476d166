/** Workloads that pages show: each is watched once, and no longer than a page shows it. */
import type { Target } from "../target.ts";
import type { Fleet, FleetOptions } from "./fleet.ts";
import { NodeZones } from "./node_zones.ts";
import type { OpenFeed } from "./server.ts";
import { WorkloadFeed } from "./workload_feed.ts";

interface Shown {
  readonly watched: WorkloadFeed;
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

  /** Undefined when there is no workload of this key. Rejects when it cannot be read. */
  async open(key: string): Promise<OpenFeed | undefined> {
    const target = await this.#fleet.target(key);
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

  #watch(key: string, target: Target): Shown {
    const watched = new WorkloadFeed({
      ...this.#options,
      fleet: this.#fleet,
      zones: this.#zones,
      key,
      target,
    });
    const shown = { watched, started: watched.start(), pages: 0 };
    this.#shown.set(key, shown);
    return shown;
  }
}
