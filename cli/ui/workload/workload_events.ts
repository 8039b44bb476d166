/** Events about a workload and its pods, followed for as long as a page shows it. */
import type { AnyObject } from "../../fields.ts";
import type { Feed } from "../watching/feed.ts";
import type { FleetOptions } from "../watching/fleet.ts";
import { Followed } from "../watching/follow_resource.ts";
import { EventLog } from "./event_log.ts";
import { ItemGroup } from "./item_group.ts";

/** UIDs of pods that are remembered beyond their end. */
const mostPods = 20_000;

export class WorkloadEvents {
  readonly #log: EventLog;
  readonly #items: ItemGroup;
  readonly #pods = new Set<string>();
  #followed: Followed<undefined> | undefined;
  #isStopped = false;

  /** `stored`: the workload. */
  constructor(stored: AnyObject, feed: Feed) {
    this.#log = new EventLog(stored.metadata.name ?? "");
    this.#items = new ItemGroup(feed);
  }

  /** Follows until `stop`. What the watch keeps is nothing: the log has a limit, and the cluster has none. */
  async follow(options: FleetOptions, { metadata }: AnyObject): Promise<void> {
    const { access, host } = options;
    const type = await access.types.findKind("", "Event");
    if (type === undefined || this.#isStopped) return;
    const make = (event: AnyObject): undefined => {
      this.#log.add(event);
    };
    // Events about objects of the whole cluster are there.
    const { namespace = "default" } = metadata;
    this.#followed = new Followed({ access, host, type, namespace, make, changed: () => undefined });
  }

  /** Why they are not up to date; undefined when they are. */
  get problem(): string | undefined {
    return this.#followed?.problem;
  }

  /** What it showed goes as well. */
  async stop(): Promise<void> {
    this.#isStopped = true;
    this.#items.show(new Map());
    await this.#followed?.stop();
  }

  /** A pod of the workload: what is said about it stays when it is gone. */
  addPod(uid: string): void {
    this.#pods.add(uid);
    const [oldest] = this.#pods;
    if (this.#pods.size > mostPods && oldest !== undefined) this.#pods.delete(oldest);
  }

  /** `isOurs`: whether a UID is that of the workload, or of what is between it and its pods. */
  show(isOurs: (uid: string) => boolean): void {
    this.#items.show(this.#log.newest((uid) => this.#pods.has(uid) || isOurs(uid)));
  }
}
