/** Test doubles of kube's arguments: time under the test's hand, seeded chance, captured logs, faults per verb. */
import type { Client } from "./client_types.ts";
import { type Clock, type Random, sleepOn, type Timer } from "./clock.ts";
import { KubeError } from "./errors.ts";
import { type Log, type LogLevel, logTo } from "./log.ts";

export interface TestClock extends Clock {
  /** Lets `ms` pass: fires what is due in order of time, and lets promises settle after each. */
  advance(ms: number): Promise<void>;
  /** As `advance`, but at once: promises settle only when the caller awaits. */
  skip(ms: number): void;
  /** Lets promises and pending I/O callbacks settle without time passing. */
  settle(): Promise<void>;
  /** Timers that wait. */
  readonly pending: number;
  /** Monotonic time of the next timer. */
  readonly nextAt: number | undefined;
}

/** A clock that stands still until told. Starts at `startMs` (default 2026-01-01T00:00:00Z). */
export function testClock(startMs = 1_767_225_600_000): TestClock {
  let elapsed = 0;
  let sequence = 0;
  const waiting = new Map<number, { at: number; run: () => void }>();
  const next = (): [number, { at: number; run: () => void }] | undefined => {
    let best: [number, { at: number; run: () => void }] | undefined;
    for (const entry of waiting) if (!best || entry[1].at < best[1].at) best = entry;
    return best;
  };
  const settle = async (): Promise<void> => {
    for (let turn = 0; turn < 3; turn++) await new Promise((resolve) => setImmediate(resolve));
  };
  const after = (ms: number, run: () => void): Timer => {
    const id = sequence++;
    waiting.set(id, { at: elapsed + Math.max(0, ms), run });
    return { cancel: () => waiting.delete(id) };
  };
  return {
    now: () => startMs + elapsed,
    monotonic: () => elapsed,
    after,
    sleep: (ms, signal) => sleepOn({ after }, ms, signal),
    settle,
    get pending() {
      return waiting.size;
    },
    get nextAt() {
      return next()?.[1].at;
    },
    skip(ms) {
      const end = elapsed + ms;
      for (let due = next(); due && due[1].at <= end; due = next()) {
        waiting.delete(due[0]);
        elapsed = due[1].at;
        due[1].run();
      }
      elapsed = end;
    },
    async advance(ms) {
      const end = elapsed + ms;
      await settle();
      for (let due = next(); due && due[1].at <= end; due = next()) {
        waiting.delete(due[0]);
        elapsed = due[1].at;
        due[1].run();
        await settle();
      }
      elapsed = end;
      await settle();
    },
  };
}

/** Uniform in [0, 1), the same sequence for the same seed (mulberry32). */
export function seededRandom(seed: number): Random {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

export interface TestLogLine {
  level: LogLevel;
  message: string;
  fields: Record<string, unknown>;
}

/** A log that keeps its lines. */
export function testLog(): Log & { readonly lines: TestLogLine[] } {
  const lines: TestLogLine[] = [];
  return { ...logTo((level, message, fields) => lines.push({ level, message, fields })), lines };
}

export type FaultyVerb = "get" | "list" | "create" | "replace" | "patch" | "delete" | "watch" | "request";

/** What happens around one call. Each part may throw or wait. */
export interface Fault {
  /** Before the server sees the request. */
  before?(): void | Promise<void>;
  /** After the server carried it out, before the caller hears of it. */
  after?(): void | Promise<void>;
}

/** Asked at each call of its verb, with the plural of the resource (or the path) and the object's name; undefined: no fault. */
export type FaultRule = (target: string, name: string) => Fault | undefined;

/** The client with faults put in, for example `withFaults(client, { patch: conflictOnce() })`. */
export function withFaults(client: Client, faults: Partial<Record<FaultyVerb, FaultRule>>): Client {
  const around = async <R>(
    verb: FaultyVerb,
    target: string,
    name: string,
    call: () => Promise<R>,
  ): Promise<R> => {
    const fault = faults[verb]?.(target, name);
    await fault?.before?.();
    const result = await call();
    await fault?.after?.();
    return result;
  };
  return {
    get: (resource, ref, options) =>
      around("get", resource.plural, ref.name, () => client.get(resource, ref, options)),
    list: (resource, options) => around("list", resource.plural, "", () => client.list(resource, options)),
    create: (resource, namespace, body, options) =>
      around("create", resource.plural, "", () => client.create(resource, namespace, body, options)),
    replace: (resource, ref, body, options) =>
      around("replace", resource.plural, ref.name, () => client.replace(resource, ref, body, options)),
    patch: (resource, ref, patch, options) =>
      around("patch", resource.plural, ref.name, () => client.patch(resource, ref, patch, options)),
    delete: (resource, ref, options) =>
      around("delete", resource.plural, ref.name, () => client.delete(resource, ref, options)),
    watch: (resource, options) => around("watch", resource.plural, "", () => client.watch(resource, options)),
    request: (method, path, body, options) =>
      around("request", path, method, () => client.request(method, path, body, options)),
    close: () => client.close(),
  };
}

function once(fault: Fault): FaultRule {
  let used = false;
  return () => {
    if (used) return undefined;
    used = true;
    return fault;
  };
}

/** The first call is refused with a conflict; the server does not see it. */
export function conflictOnce(): FaultRule {
  return once({
    before: () => {
      throw new KubeError("Conflict", "injected: the object has been modified", { status: 409 });
    },
  });
}

/** The connection of the first call breaks before the server acted. */
export function droppedBeforeOnce(): FaultRule {
  return once({
    before: () => {
      throw new KubeError("Network", "injected: connection refused");
    },
  });
}

/** The connection of the first call breaks after the server acted. */
export function droppedAfterOnce(): FaultRule {
  return once({
    after: () => {
      throw new KubeError("Network", "injected: connection reset", { ambiguous: true });
    },
  });
}

/** Every call takes `ms` longer. */
export function latency(clock: Clock, ms: number): FaultRule {
  return () => ({ before: () => clock.sleep(ms) });
}
