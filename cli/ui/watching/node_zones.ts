/** Zones of nodes, by their names: followed once for all pages, from when the first workload is opened. */
import type { FleetOptions } from "./fleet.ts";
import { Followed } from "./follow_resource.ts";

export const zoneLabel = "topology.kubernetes.io/zone";

export class NodeZones {
  readonly #options: FleetOptions;
  readonly #zones = new Map<string, string>();
  readonly #listeners = new Set<(node: string) => void>();
  #followed: Promise<Followed<string> | undefined> | undefined;
  #watch: Followed<string> | undefined;

  constructor(options: FleetOptions) {
    this.#options = options;
  }

  /** Empty for a node without a zone, and for all of them where nodes may not be read. */
  of(node: string): string {
    return this.#zones.get(node) ?? "";
  }

  /** Why zones may be missing or old; undefined when they are not. */
  get problem(): string | undefined {
    return this.#watch?.problem;
  }

  /** Called with the name of each node whose zone is learned or changes. Resolves to the way to end it, once nodes were read. */
  async listen(listener: (node: string) => void): Promise<() => void> {
    this.#listeners.add(listener);
    // What could not be asked for is asked for by the next page.
    this.#followed ??= this.#follow().catch(() => {
      this.#followed = undefined;
      return undefined;
    });
    await (await this.#followed)?.settled;
    return () => this.#listeners.delete(listener);
  }

  async stop(): Promise<void> {
    this.#listeners.clear();
    await (await this.#followed)?.stop();
  }

  async #follow(): Promise<Followed<string> | undefined> {
    const { access, host } = this.#options;
    const type = await access.types.findKind("", "Node");
    if (type === undefined) return undefined;
    this.#watch = new Followed({
      access,
      host,
      type,
      make: ({ metadata: { labels } }) => labels?.[zoneLabel] ?? "",
      changed: ({ type: change, object: { key, item = "" } }) => {
        if (this.of(key) === item && change !== "removed") return;
        if (change === "removed") this.#zones.delete(key);
        else this.#zones.set(key, item);
        for (const listener of this.#listeners) listener(key);
      },
    });
    return this.#watch;
  }
}
