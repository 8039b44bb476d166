/**
 * A record of every change of some pods, taken from a watch of its own, and what can be read from it afterwards.
 * The checks are independent of the controller's code: they look only at what the API server showed.
 */
import assert from "node:assert/strict";
import type { Api, Item, ResourceName } from "../cluster/api.ts";
import { Patience } from "../cluster/patience.ts";
import { conditionOf, nameOf, reportsReady } from "./items.ts";

export interface Moment {
  /** Milliseconds since the Unix epoch at which the change arrived here. */
  readonly at: number;
  /** A watch event's type, or PRESENT for what was there at the start. */
  readonly type: string;
  readonly object: Item;
}

/** Follows a resource from now on. */
export class Trail {
  readonly moments: Moment[] = [];
  readonly #api: Api;
  readonly #resource: ResourceName;
  readonly #namespace: string;
  readonly #selector: string | undefined;
  readonly #abort = new AbortController();
  #running: Promise<void> = Promise.resolve();
  #failure: unknown;

  constructor(api: Api, resource: ResourceName, namespace: string, selector?: string) {
    this.#api = api;
    this.#resource = resource;
    this.#namespace = namespace;
    this.#selector = selector;
  }

  /** Records the present state as PRESENT moments and watches from its version on. */
  async start(): Promise<this> {
    const { items, version } = await this.#present();
    for (const object of items) this.moments.push({ at: Date.now(), type: "PRESENT", object });
    this.#running = this.#watch(version).catch((error: unknown) => {
      this.#failure = error;
    });
    return this;
  }

  /**
   * Ends the watch after it has shown the present state; throws when the watch broke. Once it has ended, the same again:
   * what changes afterwards would be waited for in vain.
   */
  async stop(): Promise<readonly Moment[]> {
    if (!this.#abort.signal.aborted) await this.#catchUp();
    this.#abort.abort();
    await this.#running;
    if (this.#failure !== undefined) throw this.#failure;
    return this.moments;
  }

  /** Ends the watch and shows what it saw; fails when fewer pods were available at any of its moments. */
  async neverBelow(available: number, options: AvailabilityOptions = {}): Promise<readonly Moment[]> {
    const moments = await this.stop();
    const { leastAvailable, worst } = extremesOf(moments, options);
    assert.ok(leastAvailable >= available, `available fell to ${leastAvailable}: ${worst}`);
    return moments;
  }

  async #catchUp(): Promise<void> {
    const patience = new Patience(10_000);
    const { items } = await this.#present();
    while (this.#failure === undefined && !patience.isOver && !items.every((item) => this.#seen(item))) {
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
  }

  #seen(item: Item): boolean {
    const latest = this.moments.findLast((moment) => moment.object.metadata.uid === item.metadata.uid);
    return (
      latest !== undefined &&
      Number(latest.object.metadata.resourceVersion) >= Number(item.metadata.resourceVersion)
    );
  }

  async #present(): Promise<{ items: Item[]; version: string }> {
    return this.#api.listWithVersion(this.#resource, this.#namespace, this.#selector);
  }

  async #watch(resourceVersion: string): Promise<void> {
    let version: string | undefined = resourceVersion;
    while (version !== undefined) version = await this.#follow(version);
  }

  /** The version to go on from when a server that has just begun to serve the resource does not know the list's. */
  async #follow(resourceVersion: string): Promise<string | undefined> {
    let followed = false;
    const stream = this.#api.watch(this.#resource, this.#namespace, {
      ...(this.#selector === undefined ? {} : { labelSelector: this.#selector }),
      resourceVersion,
      signal: this.#abort.signal,
    });
    for await (const event of stream) {
      if (event.type === "BOOKMARK") continue;
      if (event.type === "ERROR") {
        if (followed || event.object["code"] !== 410)
          throw new Error(`watch ended: ${JSON.stringify(event.object)}`);
        const { items, version } = await this.#present();
        for (const object of items) this.moments.push({ at: Date.now(), type: "PRESENT", object });
        return version;
      }
      followed = true;
      this.moments.push({ at: Date.now(), type: event.type, object: event.object });
    }
    return undefined;
  }
}

export function isReady(pod: Item): boolean {
  return (
    pod.metadata.deletionTimestamp === undefined &&
    conditionOf(pod, "Ready")?.status === "True" &&
    conditionOf(pod, "InPlaceUpdateReady")?.status !== "False"
  );
}

/** Ready, and for at least `minReadySeconds`; condition times have second precision. */
export function isAvailable(pod: Item, now: number, minReadySeconds: number): boolean {
  if (!isReady(pod)) return false;
  if (minReadySeconds === 0) return true;
  const since = Date.parse(conditionOf(pod, "Ready")?.lastTransitionTime ?? "");
  return since + minReadySeconds * 1000 <= now;
}

export interface AvailabilityOptions {
  readonly minReadySeconds?: number;
  /** Counts from the moment when so many had been available. */
  readonly from?: number;
}

export interface Extremes {
  readonly leastAvailable: number;
  readonly leastReady: number;
  /** Pods not being deleted and not finished. */
  readonly mostPresent: number;
  /** The change after which fewest pods were available, for messages. */
  readonly worst: string;
}

/**
 * Replays the moments and keeps the extremes of the counts after each of them, once `from` pods had been available.
 * What was there at the start counts as one moment.
 */
export function extremesOf(moments: readonly Moment[], options: AvailabilityOptions = {}): Extremes {
  const pods = new Map<string, Item>();
  const minReadySeconds = options.minReadySeconds ?? 0;
  let started = options.from === undefined;
  let extremes: Extremes = {
    leastAvailable: Number.POSITIVE_INFINITY,
    leastReady: Number.POSITIVE_INFINITY,
    mostPresent: 0,
    worst: "",
  };
  for (const [index, moment] of moments.entries()) {
    const { object } = moment;
    if (moment.type === "DELETED") pods.delete(object.metadata.uid);
    else pods.set(object.metadata.uid, object);
    const all = [...pods.values()];
    const available = all.filter((pod) => isAvailable(pod, moment.at, minReadySeconds)).length;
    const ready = all.filter(isReady).length;
    const present = all.filter(isPresent).length;
    if (!started && available >= (options.from ?? 0)) started = true;
    if (!started || (moment.type === "PRESENT" && moments[index + 1]?.type === "PRESENT")) continue;
    const worst = `${index}: ${moment.type} ${object.metadata.name} with ${available} of ${present} available`;
    extremes = {
      leastAvailable: Math.min(extremes.leastAvailable, available),
      leastReady: Math.min(extremes.leastReady, ready),
      mostPresent: Math.max(extremes.mostPresent, present),
      worst: available < extremes.leastAvailable ? worst : extremes.worst,
    };
  }
  return extremes;
}

export function isPresent(pod: Item): boolean {
  return (
    pod.metadata.deletionTimestamp === undefined &&
    pod.status?.phase !== "Succeeded" &&
    pod.status?.phase !== "Failed"
  );
}

/** The values that `pick` took for one pod, in order, without repetitions. */
export function courseOf(
  moments: readonly Moment[],
  name: string,
  pick: (pod: Item) => string | undefined,
): string[] {
  const course: string[] = [];
  for (const { type, object } of moments) {
    if (type === "DELETED" || object.metadata.name !== name) continue;
    const value = pick(object) ?? "";
    if (course.at(-1) !== value) course.push(value);
  }
  return course;
}

/** Those of one object, without its end. */
export function momentsOf(moments: readonly Moment[], name: string): Moment[] {
  return moments.filter(({ object, type }) => object.metadata.name === name && type !== "DELETED");
}

/** The pods that a watch has shown so far, moment by moment, by UID. */
export function* presences(moments: readonly Moment[]): Generator<{ moment: Moment; pods: Item[] }> {
  const pods = new Map<string, Item>();
  for (const moment of moments) {
    const { type, object } = moment;
    if (type === "DELETED") pods.delete(object.metadata.uid);
    else pods.set(object.metadata.uid, object);
    yield { moment, pods: [...pods.values()] };
  }
}

/** Fails when more than one of so many pods was not ready at any moment. */
export function assertOneUnready(moments: readonly Moment[], of: number): void {
  for (const { pods } of presences(moments)) {
    if (pods.length < of) continue;
    const unready = pods.filter((pod) => !reportsReady(pod)).map(nameOf);
    assert.ok(unready.length <= 1, `${unready.join(" and ")} at once`);
  }
}
