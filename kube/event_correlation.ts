/**
 * Which events are worth a request: equal ones are counted on the object that exists, many similar ones become one,
 * and what an object still produces beyond that is dropped. Limits are those of the API's own clients.
 */

export interface EventTarget {
  apiVersion: string;
  kind: string;
  namespace?: string | undefined;
  name: string;
  uid: string;
  resourceVersion?: string | undefined;
  fieldPath?: string | undefined;
}

export interface Occurrence {
  /** Component, for example `cloneset-controller`. */
  source: string;
  target: EventTarget;
  type: "Normal" | "Warning";
  reason: string;
  message: string;
  /** Milliseconds since the epoch. */
  at: number;
}

/** One Event object of the server, from its first occurrence to its last. */
export interface EventSeries {
  readonly key: string;
  readonly source: string;
  readonly target: EventTarget;
  readonly type: "Normal" | "Warning";
  readonly reason: string;
  message: string;
  readonly firstAt: number;
  lastAt: number;
  count: number;
  /** Name of the Event once it was created. */
  name: string | undefined;
}

/** More events with one reason about one object within the window are reported as one. */
const similarLimit = 10;
const similarWindowMs = 600_000;
/** Tokens of one object and source; one comes back every five minutes. */
const burst = 25;
const refillMs = 300_000;
const remembered = 4096;

export class EventCorrelator {
  readonly #series = new Recent<EventSeries>(remembered);
  readonly #similar = new Recent<{ messages: Set<string>; lastAt: number }>(remembered);
  readonly #buckets = new Recent<{ tokens: number; at: number }>(remembered);

  /** The series that the occurrence belongs to, updated; undefined when it is to be dropped. */
  take(occurrence: Occurrence): EventSeries | undefined {
    const { source, target, type, reason, at } = occurrence;
    const { apiVersion, kind, namespace, name, uid, fieldPath } = target;
    const object = [source, apiVersion, kind, namespace, name, uid, fieldPath].join("\n");
    const similarKey = [object, type, reason].join("\n");
    const combined = this.#isOneOfMany(similarKey, occurrence);
    const message = combined ? `(combined from similar events): ${occurrence.message}` : occurrence.message;
    if (!this.#allows(object, at)) return undefined;
    const key = combined ? similarKey : [similarKey, message].join("\n");
    const held = this.#series.get(key);
    if (held) {
      held.count++;
      held.lastAt = at;
      held.message = message;
      return held;
    }
    const times = { firstAt: at, lastAt: at, count: 1 };
    const series = { key, source, target, type, reason, message, ...times, name: undefined };
    this.#series.set(key, series);
    return series;
  }

  #isOneOfMany(key: string, { message, at }: Occurrence): boolean {
    const held = this.#similar.get(key);
    if (!held || at - held.lastAt > similarWindowMs) {
      this.#similar.set(key, { messages: new Set([message]), lastAt: at });
      return false;
    }
    held.lastAt = at;
    if (held.messages.size >= similarLimit) return !held.messages.has(message);
    held.messages.add(message);
    return false;
  }

  #allows(object: string, at: number): boolean {
    const held = this.#buckets.get(object) ?? { tokens: burst, at };
    const tokens = Math.min(burst, held.tokens + (at - held.at) / refillMs);
    const allowed = tokens >= 1;
    this.#buckets.set(object, { tokens: allowed ? tokens - 1 : tokens, at });
    return allowed;
  }
}

/** A map that forgets what was used longest ago. */
class Recent<V> {
  readonly #limit: number;
  readonly #entries = new Map<string, V>();

  constructor(limit: number) {
    this.#limit = limit;
  }

  get(key: string): V | undefined {
    const value = this.#entries.get(key);
    if (value === undefined) return undefined;
    this.#entries.delete(key);
    this.#entries.set(key, value);
    return value;
  }

  set(key: string, value: V): void {
    this.#entries.delete(key);
    this.#entries.set(key, value);
    if (this.#entries.size <= this.#limit) return;
    for (const oldest of this.#entries.keys()) {
      this.#entries.delete(oldest);
      return;
    }
  }
}
