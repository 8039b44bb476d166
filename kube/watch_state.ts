/**
 * List and watch as a state machine: `step(state, input)` says what follows; watch.ts does the I/O of each state.
 *
 *   streaming --initial events end--> watching           one connection brings the list and what follows
 *   streaming --refused--> listing --last page--> watching   for servers without streaming lists
 *   watching --closed, broken, silent--> watching        resumes at the last version
 *   watching --410--> streaming or listing               the version is too old: everything again
 */
import { backoffMs, type Failures, noFailures, oneMore } from "./backoff.ts";
import type { Codec, ListPage, WatchEvent } from "./client_types.ts";
import type { Random } from "./clock.ts";
import type { KubeError } from "./errors.ts";

interface Common {
  /** Grows whenever the I/O has to start again. */
  readonly attempt: number;
  /** Milliseconds to wait before the I/O. */
  readonly delayMs: number;
  readonly failures: Failures;
  /** False once the server refused to stream a list. */
  readonly canStream: boolean;
}

export type State<T> =
  /** `items` is handed on from state to state and grows in place: copying it for each chunk would be quadratic. */
  | (Common & { readonly name: "streaming"; readonly items: Map<string, T> })
  | (Common & {
      readonly name: "listing";
      readonly items: readonly T[];
      readonly continue: string;
      /** Objects of a page; undefined: all at once. */
      readonly limit: number | undefined;
      /** Version of the first page. */
      readonly version: string;
    })
  | (Common & { readonly name: "watching"; readonly version: string });

export type Input<T> =
  | { readonly type: "page"; readonly page: ListPage<T> }
  | { readonly type: "events"; readonly events: readonly WatchEvent<T>[] }
  /** The server ended the stream. */
  | { readonly type: "closed" }
  /** No byte arrived for longer than the server should be silent. */
  | { readonly type: "silent" }
  | { readonly type: "failed"; readonly error: KubeError };

export type Effect<T> =
  | { readonly type: "replace"; readonly items: Iterable<T>; readonly version: string }
  | { readonly type: "upsert" | "remove"; readonly object: T }
  | { readonly type: "undecodable"; readonly key: string; readonly message: string }
  | { readonly type: "restart"; readonly reason: string; readonly error?: KubeError };

export interface Step<T> {
  readonly state: State<T>;
  readonly effects: readonly Effect<T>[];
}

export interface StepDeps<T> {
  readonly identify: Codec<T>["identify"];
  readonly random: Random;
}

const pageSize = 500;
const delays = { firstMs: 800, longestMs: 30_000 };
/** A failure that is known beforehand to be answered by another way: that one is tried at once. */
const unblamed: Failures = { count: -1, unreached: false };
/** So many corrupt streams in a row and the version itself is distrusted. */
const decodeFailuresBeforeRelist = 3;

export function firstState<T>(canStream = true): State<T> {
  return relist({ attempt: 0, delayMs: 0, failures: noFailures, canStream });
}

export function step<T>(deps: StepDeps<T>, state: State<T>, input: Input<T>): Step<T> {
  switch (input.type) {
    case "page":
      return state.name === "listing" ? afterPage(state, input.page) : { state, effects: [] };
    case "events":
      return afterEvents(deps, state, input.events);
    case "closed":
      return afterClose(deps, state);
    case "silent":
      // A streaming list that never says that it ended is a server that does not know the word.
      if (state.name === "streaming") return restart(deps, { ...state, canStream: false }, "silent", true);
      return restart(deps, state, "silent", false);
    case "failed":
      return afterFailure(deps, state, input.error);
  }
}

function afterPage<T>(state: State<T> & { name: "listing" }, page: ListPage<T>): Step<T> {
  const effects: Effect<T>[] = page.undecodable.map((each) => ({ type: "undecodable", ...each }));
  const items = state.items.length === 0 ? page.items : [...state.items, ...page.items];
  const version = state.version || page.resourceVersion;
  const common = { attempt: state.attempt + 1, delayMs: 0, failures: noFailures, canStream: state.canStream };
  if (page.continue !== "") {
    const { limit } = state;
    return { state: { ...common, name: "listing", items, continue: page.continue, limit, version }, effects };
  }
  effects.push({ type: "replace", items, version });
  return { state: { ...common, name: "watching", version }, effects };
}

function afterEvents<T>(deps: StepDeps<T>, from: State<T>, events: readonly WatchEvent<T>[]): Step<T> {
  let state = from;
  const effects: Effect<T>[] = [];
  for (const event of events) {
    if (event.type === "ERROR") {
      const next = afterErrorEvent(deps, state, event);
      return { state: next.state, effects: [...effects, ...next.effects] };
    }
    if (event.type === "UNDECODABLE")
      effects.push({ type: "undecodable", key: event.key, message: event.message });
    else if (event.type === "BOOKMARK") {
      if (state.name === "watching")
        state = { ...state, failures: noFailures, version: event.resourceVersion || state.version };
      else if (state.name === "streaming" && event.initialEventsEnd) {
        const { attempt, canStream, items } = state;
        const { resourceVersion: version } = event;
        effects.push({ type: "replace", items: items.values(), version });
        state = { name: "watching", attempt, canStream, delayMs: 0, failures: noFailures, version };
      }
    } else if (state.name === "streaming") {
      const { key } = deps.identify(event.object);
      if (event.type === "DELETED") state.items.delete(key);
      else state.items.set(key, event.object);
    } else if (state.name === "watching") {
      effects.push({ type: event.type === "DELETED" ? "remove" : "upsert", object: event.object });
      const { version } = deps.identify(event.object);
      state = { ...state, failures: noFailures, version: version || state.version };
    }
  }
  return { state, effects };
}

function afterErrorEvent<T>(
  deps: StepDeps<T>,
  state: State<T>,
  event: { code: number; reason: string; message: string },
): Step<T> {
  // A server whose etcd cannot do it answers 200 and then this: it has lists, though.
  if (state.name === "streaming" && event.code === 500) return listInstead(deps, state);
  const gone = event.code === 410 || event.reason === "Expired" || event.reason === "Gone";
  return restart(deps, state, gone ? "Gone" : event.reason || `code ${event.code}`, gone);
}

function listInstead<T>(deps: StepDeps<T>, state: State<T>, error?: KubeError): Step<T> {
  return restart(deps, { ...state, canStream: false, failures: unblamed }, "no streaming lists", true, error);
}

function afterClose<T>(deps: StepDeps<T>, state: State<T>): Step<T> {
  if (state.name !== "watching") return restart(deps, state, "closed", false);
  // The usual end of a watch: at once again the first time, slower when closing is all that the server does.
  const { failures } = state;
  const delayMs = failures.count === 0 ? Math.round(deps.random() * 100) : spread(deps, failures);
  const next = { ...state, attempt: state.attempt + 1, failures: oneMore(failures, undefined), delayMs };
  return { state: next, effects: [] };
}

function afterFailure<T>(deps: StepDeps<T>, state: State<T>, error: KubeError): Step<T> {
  const refused = ["BadRequest", "Invalid", "MethodNotAllowed"].includes(error.code);
  if (state.name === "streaming" && refused) return listInstead(deps, state, error);
  if (error.code === "Gone") {
    if (state.name !== "listing") return restart(deps, state, "Gone", true, error);
    // Pages that expire while they are read: once more, and then all in one.
    const limit = state.failures.count > 0 ? undefined : state.limit;
    return restart(deps, { ...state, limit }, "Gone", false, error);
  }
  const distrusted =
    error.code === "Decode" && oneMore(state.failures, error).count >= decodeFailuresBeforeRelist;
  return restart(deps, state, error.code, distrusted, error);
}

/** Once more after a delay: from the start, or (watching only) from the version held. */
function restart<T>(
  deps: StepDeps<T>,
  state: State<T>,
  reason: string,
  fromStart: boolean,
  error?: KubeError,
): Step<T> {
  const failures = oneMore(state.failures, error);
  // The first new list after an expired version is due at once; whoever expires again and again waits.
  const delayMs =
    failures.count === 0 || (fromStart && failures.count === 1)
      ? 0
      : Math.max(spread(deps, failures), error?.retryAfterMs ?? 0);
  const common = { attempt: state.attempt + 1, delayMs, failures, canStream: state.canStream };
  const effects: Effect<T>[] = [{ type: "restart", reason, ...(error ? { error } : {}) }];
  if (state.name === "watching" && !fromStart) {
    return { state: { ...common, name: "watching", version: state.version }, effects };
  }
  const next = relist<T>(common);
  if (next.name === "listing" && state.name === "listing")
    return { state: { ...next, limit: state.limit }, effects };
  return { state: next, effects };
}

function relist<T>(common: Common): State<T> {
  if (common.canStream) return { ...common, name: "streaming", items: new Map() };
  return { ...common, name: "listing", items: [], continue: "", limit: pageSize, version: "" };
}

/** Half to one and a half of it by chance: watches that broke together do not come back together. */
function spread(deps: { random: Random }, failures: Failures): number {
  return Math.round(backoffMs(failures, delays) * (0.5 + deps.random()));
}
