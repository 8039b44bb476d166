/** Records core/v1 Events: never blocks, never fails the caller, sends at low priority what is worth sending. */
import type { Client, Resource } from "./client_types.ts";
import type { Clock, Random } from "./clock.ts";
import { jsonResource } from "./codecs/json.ts";
import { formatTime } from "./core/conditions.ts";
import type { KubeObject } from "./core/types.ts";
import { isKubeError } from "./errors.ts";
import { EventCorrelator, type EventSeries, type EventTarget } from "./event_correlation.ts";
import type { Log } from "./log.ts";
import { type Metrics, nullMetrics } from "./metrics_types.ts";

export type { EventTarget } from "./event_correlation.ts";

export interface EventRecorder {
  event(target: EventTarget, type: "Normal" | "Warning", reason: string, message: string): void;
}

export interface EventsOptions {
  client: Client;
  clock: Clock;
  random: Random;
  log: Log;
  metrics?: Metrics;
  /** Host of the source; the node for an agent, else empty. */
  host?: string;
  /** Events that may wait to be sent; more are dropped and counted. Default 1000. */
  queueLimit?: number;
}

export interface Events {
  /** A recorder whose events carry this source component, `cloneset-controller`. */
  from(component: string): EventRecorder;
  /** Resolves when nothing waits any more. */
  flush(): Promise<void>;
  /** Takes nothing more and flushes, for at most `timeoutMs` (default 5 s). */
  stop(timeoutMs?: number): Promise<void>;
}

interface Event extends KubeObject {
  count?: number;
}

const eventResource: Resource<Event> = jsonResource<Event>({
  group: "",
  version: "v1",
  plural: "events",
  kind: "Event",
  namespaced: true,
});

/** Longest message that the API server takes. */
const longestMessage = 1024;
/**
 * Events under way at once, of different objects: those of one object keep their order, and an object of which there is much to
 * tell does not keep others waiting.
 */
const mostLanes = 4;

export function createEvents(options: EventsOptions): Events {
  const sender = new EventSender(options);
  return {
    from: (component) => ({
      event: (target, type, reason, message) => sender.take(component, target, type, reason, message),
    }),
    flush: () => sender.flush(),
    stop: (timeoutMs = 5_000) => sender.stop(timeoutMs),
  };
}

class EventSender {
  readonly #options: EventsOptions;
  readonly #metrics: Metrics;
  readonly #correlator = new EventCorrelator();
  /** Series with occurrences that were not sent; several of one series wait as one. */
  readonly #waiting = new Map<string, EventSeries>();
  readonly #cut = new AbortController();
  readonly #lanes = new Set<Promise<void>>();
  /** Objects with an event under way. */
  readonly #busy = new Set<string>();
  #stopped = false;

  constructor(options: EventsOptions) {
    this.#options = options;
    this.#metrics = options.metrics ?? nullMetrics;
  }

  take(
    source: string,
    target: EventTarget,
    type: "Normal" | "Warning",
    reason: string,
    message: string,
  ): void {
    if (this.#stopped) return;
    const at = this.#options.clock.now();
    const text = message.length > longestMessage ? `${message.slice(0, longestMessage - 1)}…` : message;
    const series = this.#correlator.take({ source, target: { ...target }, type, reason, message: text, at });
    if (!series) return;
    if (!this.#waiting.has(series.key) && this.#waiting.size >= (this.#options.queueLimit ?? 1000)) {
      this.#metrics.eventDropped();
      return;
    }
    this.#waiting.set(series.key, series);
    if (this.#lanes.size < mostLanes && !this.#busy.has(objectOf(series))) this.#open();
  }

  async flush(): Promise<void> {
    while (this.#lanes.size > 0) await Promise.all(this.#lanes);
  }

  async stop(timeoutMs: number): Promise<void> {
    this.#stopped = true;
    const timer = this.#options.clock.after(timeoutMs, () => this.#cut.abort());
    await this.flush();
    timer.cancel();
  }

  #open(): void {
    const lane = this.#sendAll().finally(() => this.#lanes.delete(lane));
    this.#lanes.add(lane);
  }

  /** Ends when nothing waits but events of objects that another lane is at, which goes on with them. */
  async #sendAll(): Promise<void> {
    // What is recorded in this turn of the event loop is counted before it is sent.
    await Promise.resolve();
    for (let next = this.#first(); next && !this.#cut.signal.aborted; next = this.#first()) {
      const series = next;
      const object = objectOf(series);
      this.#waiting.delete(series.key);
      this.#busy.add(object);
      await this.#send(series).catch((error: unknown) => this.#failed(series, error));
      this.#busy.delete(object);
    }
  }

  #first(): EventSeries | undefined {
    for (const series of this.#waiting.values()) if (!this.#busy.has(objectOf(series))) return series;
    return undefined;
  }

  async #send(series: EventSeries): Promise<void> {
    const { client } = this.#options;
    const request = { priority: "low", flow: "events", signal: this.#cut.signal } as const;
    const namespace = series.target.namespace || "default";
    if (series.name !== undefined) {
      const { count, message } = series;
      const body = { count, message, lastTimestamp: formatTime(series.lastAt) };
      try {
        await client.patch(eventResource, { namespace, name: series.name }, { type: "merge", body }, request);
        return;
      } catch (error) {
        // Events live for an hour on the server; what goes on after that begins again.
        if (!isKubeError(error, "NotFound")) throw error;
        series.name = undefined;
      }
    }
    const name = `${series.target.name}.${this.#suffix()}`;
    await client.create(eventResource, namespace, this.#body(series, namespace, name), request);
    series.name = name;
  }

  #failed(series: EventSeries, error: unknown): void {
    const { reason, message } = series;
    // An event is not worth a retry beyond those of the client; the next occurrence carries the count.
    this.#options.log.debug("event was not recorded", { reason, message, error });
  }

  #body(series: EventSeries, namespace: string, name: string): Event & Record<string, unknown> {
    const { target, source } = series;
    const host = this.#options.host;
    return {
      apiVersion: "v1",
      kind: "Event",
      metadata: { name, namespace },
      involvedObject: target,
      reason: series.reason,
      message: series.message,
      source: { component: source, ...(host ? { host } : {}) },
      firstTimestamp: formatTime(series.firstAt),
      lastTimestamp: formatTime(series.lastAt),
      count: series.count,
      type: series.type,
      eventTime: null,
      reportingComponent: source,
      reportingInstance: host ?? "",
    };
  }

  /** Sixteen hexadecimal digits: time first, so that names sort, then chance, so that replicas do not collide. */
  #suffix(): string {
    const time = Math.floor(this.#options.clock.now()).toString(16).padStart(11, "0").slice(-11);
    const chance = Math.floor(this.#options.random() * 16 ** 5)
      .toString(16)
      .padStart(5, "0");
    return time + chance;
  }
}

function objectOf({ target: { kind, namespace, name } }: EventSeries): string {
  return `${kind} ${namespace}/${name}`;
}
