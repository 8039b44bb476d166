/** The informer: drives the list-and-watch state machine and keeps a cache up to date. */
import type { Cache } from "./cache.ts";
import type { ReadingClient, Resource, WatchEvent } from "./client_types.ts";
import type { Clock, Random } from "./clock.ts";
import { isKubeError, KubeError } from "./errors.ts";
import type { Log } from "./log.ts";
import { type Metrics, nullMetrics } from "./metrics_types.ts";
import { type Effect, firstState, type Input, type State, step } from "./watch_state.ts";

export interface InformerOptions<T> {
  client: ReadingClient;
  resource: Resource<T>;
  cache: Cache<T>;
  clock: Clock;
  random: Random;
  log: Log;
  metrics?: Metrics;
  namespace?: string;
  labelSelector?: string;
  fieldSelector?: string;
  /** Default true; false lists in pages from the start. */
  streamingList?: boolean;
  /** A list or a watch failed; it is tried again. */
  failed?(error: KubeError): void;
}

export interface Informer {
  /** Resolves when the cache holds a complete list; rejects when the informer was stopped before. */
  readonly synced: Promise<void>;
  /** Time of the last sign of life of the server, in milliseconds since the epoch; 0 before the first. */
  readonly lastEventAt: number;
  /**
   * While the watch is interrupted: resolves when it goes on, at the latest after `longestInterruptionMs`. Undefined while it
   * stands, and before the first list.
   */
  readonly caughtUp: Promise<void> | undefined;
  /** Resolves when nothing of it runs any more. */
  stop(): Promise<void>;
}

/** Bounds of `timeoutSeconds`: the server ends a watch after that, so that watches move between servers. */
const shortestWatchSeconds = 300;
const longestWatchSeconds = 600;
/** Servers send a bookmark about every minute: whoever sent one and is silent for so long is gone. */
const bookmarkSilenceMs = 150_000;
const slackMs = 30_000;
/** A streaming list without any byte for so long will not come. */
const initialSilenceMs = 45_000;
/** Whoever wants to decide by what is newest waits for so long at most: what is broken for longer may stay so. */
const longestInterruptionMs = 8_000;
/** Servers send what a watch has missed as soon as it is open: when nothing has come by then, it has missed nothing. */
const missedEventsMs = 50;

export function startInformer<T>(options: InformerOptions<T>): Informer {
  const running = new RunningInformer(options);
  const ended = running.run();
  return {
    synced: running.synced,
    get lastEventAt() {
      return running.lastEventAt;
    },
    get caughtUp() {
      return running.interruption?.over;
    },
    stop: () => {
      running.abort();
      return ended;
    },
  };
}

class RunningInformer<T> {
  readonly synced: Promise<void>;
  lastEventAt = 0;
  interruption: Interruption | undefined;
  readonly #options: InformerOptions<T>;
  readonly #log: Log;
  readonly #metrics: Metrics;
  readonly #stop = new AbortController();
  readonly #markSynced: () => void;
  readonly #failSync: (error: KubeError) => void;
  /** Keys whose undecodable state was logged; one line each. */
  readonly #complained = new Set<string>();
  #state: State<T>;

  constructor(options: InformerOptions<T>) {
    this.#options = options;
    this.#metrics = options.metrics ?? nullMetrics;
    this.#log = options.log.with({ resource: options.resource.plural });
    this.#state = firstState(options.streamingList ?? true);
    const synced = Promise.withResolvers<void>();
    this.synced = synced.promise;
    this.#markSynced = synced.resolve;
    this.#failSync = synced.reject;
    // Whoever does not wait for the sync is not interested in its failure.
    synced.promise.catch(() => undefined);
  }

  abort(): void {
    this.#continued();
    this.#stop.abort(
      new KubeError("Aborted", `the informer of ${this.#options.resource.plural} was stopped`),
    );
  }

  async run(): Promise<void> {
    const { signal } = this.#stop;
    while (!signal.aborted) {
      const { attempt, delayMs } = this.#state;
      try {
        if (delayMs > 0) await this.#options.clock.sleep(delayMs, signal);
        if (this.#state.name === "listing") await this.#list(this.#state);
        else await this.#watch(attempt);
      } catch (error) {
        if (signal.aborted) break;
        // The state may have moved on before the stream was left; its end is old news then.
        if (this.#state.attempt === attempt) this.#take({ type: "failed", error: asKubeError(error) });
      }
    }
    this.#failSync(
      new KubeError(
        "Aborted",
        `the informer of ${this.#options.resource.plural} was stopped before it was in sync`,
      ),
    );
  }

  async #list(state: State<T> & { name: "listing" }): Promise<void> {
    const { client, resource, clock } = this.#options;
    const page = await client.list(resource, {
      ...this.#selection(),
      signal: this.#stop.signal,
      flow: `list ${resource.plural}`,
      ...(state.limit === undefined ? {} : { limit: state.limit }),
      ...(state.continue === "" ? {} : { continue: state.continue }),
    });
    this.lastEventAt = clock.now();
    this.#take({ type: "page", page });
  }

  async #watch(attempt: number): Promise<void> {
    const { client, resource, random, clock } = this.#options;
    const seconds = Math.round(
      shortestWatchSeconds + random() * (longestWatchSeconds - shortestWatchSeconds),
    );
    const connection = new AbortController();
    const onStop = (): void => connection.abort(this.#stop.signal.reason);
    this.#stop.signal.addEventListener("abort", onStop, { once: true });
    const deadMan = new DeadMan(clock, () => connection.abort(new Silence()));
    const initial = this.#state.name === "streaming";
    let open: { cancel(): void } | undefined;
    deadMan.allow(initial ? initialSilenceMs : seconds * 1000 + slackMs);
    try {
      const stream = await client.watch(resource, {
        ...this.#selection(),
        signal: connection.signal,
        timeoutSeconds: seconds,
        ...(this.#state.name === "watching" ? { resourceVersion: this.#state.version } : {}),
        ...(initial ? { sendInitialEvents: true } : {}),
      });
      if (!initial) open = clock.after(missedEventsMs, () => this.#continued());
      for await (const events of stream) {
        this.lastEventAt = clock.now();
        this.#take({ type: "events", events });
        if (this.#state.attempt !== attempt) return;
        if (this.#state.name === "watching") this.#continued();
        deadMan.allow(allowedSilence(this.#state, events, seconds) ?? deadMan.allowed);
      }
      this.#take({ type: "closed" });
    } catch (error) {
      if (!(connection.signal.reason instanceof Silence)) throw error;
      this.#take({ type: "silent" });
    } finally {
      open?.cancel();
      const stood = !initial || this.#state.name === "watching";
      if (stood && !this.#stop.signal.aborted) this.interruption ??= new Interruption(clock);
      deadMan.end();
      this.#stop.signal.removeEventListener("abort", onStop);
      connection.abort();
    }
  }

  #continued(): void {
    this.interruption?.end();
    this.interruption = undefined;
  }

  #selection(): { namespace?: string; labelSelector?: string; fieldSelector?: string } {
    const { namespace, labelSelector, fieldSelector } = this.#options;
    return {
      ...(namespace ? { namespace } : {}),
      ...(labelSelector ? { labelSelector } : {}),
      ...(fieldSelector ? { fieldSelector } : {}),
    };
  }

  #take(input: Input<T>): void {
    const { resource, random } = this.#options;
    const deps = { identify: (object: T) => resource.codec.identify(object), random };
    const next = step(deps, this.#state, input);
    this.#state = next.state;
    for (const effect of next.effects) this.#execute(effect);
  }

  #execute(effect: Effect<T>): void {
    const { cache, resource } = this.#options;
    switch (effect.type) {
      case "replace":
        cache.replaceAll(effect.items, effect.version);
        this.#markSynced();
        return;
      case "upsert":
        cache.upsert(effect.object);
        return;
      case "remove": {
        const { key, uid, version } = resource.codec.identify(effect.object);
        cache.remove(key, uid, version);
        return;
      }
      case "undecodable":
        if (this.#complained.has(effect.key) || this.#complained.size > 1000) return;
        this.#complained.add(effect.key);
        this.#log.error("object cannot be decoded and is left out", {
          key: effect.key,
          error: effect.message,
        });
        return;
      case "restart":
        this.#metrics.watchRestart(resource.plural, effect.reason);
        this.#report(effect.reason, effect.error);
    }
  }

  #report(reason: string, error: KubeError | undefined): void {
    if (error) this.#options.failed?.(error);
    const fields = {
      reason,
      delayMs: this.#state.delayMs,
      next: this.#state.name,
      ...(error ? { error } : {}),
    };
    if (error && error.code !== "Gone" && this.#state.failures.count > 0)
      this.#log.warn("watch failed", fields);
    else this.#log.debug("watch starts anew", fields);
  }
}

/** Milliseconds that may pass without a byte, when the events change that. */
function allowedSilence<T>(
  state: State<T>,
  events: readonly WatchEvent<T>[],
  watchSeconds: number,
): number | undefined {
  if (state.name !== "watching") return initialSilenceMs;
  if (!events.some((event) => event.type === "BOOKMARK")) return undefined;
  // The bookmark at the end of a streaming list promises no others.
  const ends = events.some((event) => event.type === "BOOKMARK" && event.initialEventsEnd);
  return ends ? watchSeconds * 1000 + slackMs : bookmarkSilenceMs;
}

class Silence extends Error {}

/** From the end of a watch to the next one. */
class Interruption {
  readonly over: Promise<void>;
  readonly end: () => void;

  constructor(clock: Clock) {
    const { promise, resolve } = Promise.withResolvers<void>();
    const timer = clock.after(longestInterruptionMs, resolve);
    this.over = promise;
    this.end = () => {
      timer.cancel();
      resolve();
    };
  }
}

/** Calls `expire` when `allow` was not called for the time last allowed. One timer, not one for each event. */
class DeadMan {
  readonly #clock: Clock;
  readonly #expire: () => void;
  #timer: { cancel(): void } | undefined;
  #timerAt = 0;
  #deadline = 0;
  allowed = 0;

  constructor(clock: Clock, expire: () => void) {
    this.#clock = clock;
    this.#expire = expire;
  }

  allow(ms: number): void {
    this.allowed = ms;
    this.#deadline = this.#clock.monotonic() + ms;
    if (this.#timer && this.#timerAt <= this.#deadline) return;
    this.#timer?.cancel();
    this.#arm(ms);
  }

  end(): void {
    this.#timer?.cancel();
  }

  #arm(ms: number): void {
    this.#timerAt = this.#clock.monotonic() + ms;
    this.#timer = this.#clock.after(ms, () => {
      const left = this.#deadline - this.#clock.monotonic();
      if (left > 0) this.#arm(left);
      else this.#expire();
    });
  }
}

function asKubeError(error: unknown): KubeError {
  if (isKubeError(error)) return error;
  // A bug in a listener or a codec must not end the watch; the list that follows puts the cache right.
  return new KubeError("Decode", error instanceof Error ? error.message : String(error), { cause: error });
}
