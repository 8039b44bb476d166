/** Things that go wrong with API servers, switched on by a test. Chance comes from the sandbox's seed. */
import type { Random } from "../kube/core/index.ts";

/** All parts that are given must fit. */
export interface FaultMatch {
  /** `get`, `list`, `watch`, `create`, `update`, `patch`, `delete`, `deletecollection`, `webhook`. */
  readonly verb?: string | readonly string[];
  /** `pods`, `pods/status`, `leases.coordination.k8s.io`; for the verb `webhook` the name of the webhook. */
  readonly resource?: string | readonly string[];
  readonly namespace?: string;
  readonly name?: string;
  /** A part of the client's User-Agent. */
  readonly userAgent?: string;
}

export type FaultEffect =
  /** Answers later, by `ms` and up to `jitterMs` more. */
  | { readonly type: "latency"; readonly ms: number; readonly jitterMs?: number }
  /** Refuses with this HTTP code; nothing is stored. */
  | {
      readonly type: "status";
      readonly code: number;
      readonly message?: string;
      readonly retryAfterSeconds?: number;
    }
  /** Cuts the connection: before anything happened, or after the write was stored and before the answer. */
  | { readonly type: "drop"; readonly when: "before" | "after" }
  /** Lists with a continue token, lists at a version, and watches answer 410. */
  | { readonly type: "expire" }
  /** Lists and watches show what was stored `versions` writes or `ms` ago. */
  | { readonly type: "lag"; readonly versions?: number; readonly ms?: number }
  /** Events of a watch are skipped and never delivered. */
  | { readonly type: "withhold" }
  /** Events of a watch are held back from one on for `ms`, and then told in any order, also those of one object. */
  | { readonly type: "shuffle"; readonly ms: number }
  /** After an event a watch tells once more what the last `versions` writes changed, as one that begins at an older version. */
  | { readonly type: "repeat"; readonly versions: number }
  /** An admission or conversion webhook does not answer in time. */
  | { readonly type: "timeout" }
  /** An admission webhook is asked again as its first answer got lost: after that, or while it is under way. The second answer counts. */
  | { readonly type: "retry"; readonly when: "after" | "meanwhile" }
  /** A mutating webhook is asked once more after all the others, whatever its `reinvocationPolicy`. */
  | { readonly type: "reinvoke" };

export interface FaultRule extends FaultMatch {
  readonly effect: FaultEffect;
  /** How often it strikes; without it always. */
  readonly times?: number;
  /** Between 0 and 1. */
  readonly probability?: number;
}

export interface FaultTarget {
  readonly verb: string;
  readonly resource: string;
  readonly namespace: string;
  readonly name: string;
  readonly userAgent: string;
}

export type StoredWrite = FaultTarget;

/** A watch that is open now. */
export interface OpenWatch {
  readonly resource: string;
  readonly namespace: string;
  readonly userAgent: string;
  /** Ends the response in order, as a server does on its time-out. */
  end(): void;
  /** Resets the stream. */
  drop(): void;
  /** Sends the first half of the next event and resets the stream; `now` does not wait for an event. */
  truncate(): void;
  /** Sends nothing any more and stays open, like a half-open connection; resume() sends what was missed. */
  silence(): void;
  resume(): void;
}

interface ActiveRule {
  readonly rule: FaultRule;
  left: number;
}

export class Faults {
  readonly #random: Random;
  readonly #rules = new Set<ActiveRule>();
  readonly #writeListeners = new Set<(write: StoredWrite) => void>();
  readonly #watches = new Set<OpenWatch>();

  constructor(random: Random) {
    this.#random = random;
  }

  /** Switches a fault on; the result switches it off. */
  add(rule: FaultRule): () => void {
    const active: ActiveRule = { rule, left: rule.times ?? Number.POSITIVE_INFINITY };
    this.#rules.add(active);
    return () => this.#rules.delete(active);
  }

  clear(): void {
    this.#rules.clear();
  }

  /** Called after each stored write of a request, before its answer is sent; returns the unsubscriber. */
  onWrite(listener: (write: StoredWrite) => void): () => void {
    this.#writeListeners.add(listener);
    return () => this.#writeListeners.delete(listener);
  }

  /** Open watches, of one resource or of all. */
  watches(match: FaultMatch = {}): OpenWatch[] {
    return [...this.#watches].filter(({ resource, namespace, userAgent }) =>
      fits(match, { verb: "watch", resource, namespace, name: "", userAgent }),
    );
  }

  /** The effect of one type that strikes this request, counted as used. For the server itself. */
  strike<T extends FaultEffect["type"]>(
    type: T,
    target: FaultTarget,
    accept: (effect: Extract<FaultEffect, { type: T }>) => boolean = () => true,
  ): Extract<FaultEffect, { type: T }> | undefined {
    for (const active of this.#rules) {
      const { rule } = active;
      if (!isEffect(rule.effect, type) || !fits(rule, target) || !accept(rule.effect)) continue;
      if (rule.probability !== undefined && this.#random() >= rule.probability) continue;
      active.left -= 1;
      if (active.left <= 0) this.#rules.delete(active);
      return rule.effect;
    }
    return undefined;
  }

  /** Milliseconds that a request waits. */
  latency(target: FaultTarget): number {
    const effect = this.strike("latency", target);
    return effect === undefined ? 0 : effect.ms + this.#random() * (effect.jitterMs ?? 0);
  }

  written(write: StoredWrite): void {
    for (const listener of [...this.#writeListeners]) listener(write);
  }

  opened(watch: OpenWatch): () => void {
    this.#watches.add(watch);
    return () => this.#watches.delete(watch);
  }
}

function isEffect<T extends FaultEffect["type"]>(
  effect: FaultEffect,
  type: T,
): effect is Extract<FaultEffect, { type: T }> {
  return effect.type === type;
}

function fits(match: FaultMatch, target: FaultTarget): boolean {
  return (
    oneOf(match.verb, target.verb) &&
    oneOf(match.resource, target.resource) &&
    (match.namespace === undefined || match.namespace === target.namespace) &&
    (match.name === undefined || match.name === target.name) &&
    (match.userAgent === undefined || target.userAgent.includes(match.userAgent))
  );
}

function oneOf(wanted: string | readonly string[] | undefined, value: string): boolean {
  if (wanted === undefined) return true;
  return typeof wanted === "string" ? wanted === value : wanted.includes(value);
}
