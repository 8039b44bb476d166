/** Watches: a stream of changes, from now or from a version that the client has seen. */
import type { OpenWatch } from "../faults.ts";
import { Revision } from "../revision.ts";
import type { StoredChange } from "../storage.ts";
import type { World } from "../world.ts";
import { inVersion } from "../writes/working.ts";
import { ApiError } from "./api_error.ts";
import { type Exchange, flushHeaders, setWarnings } from "./exchange.ts";
import { type ListOptions, matcher, parseListOptions, usableIndex } from "./list_options.ts";
import type { Media } from "./negotiate.ts";
import { mediaFor, storedNow, tableOptions } from "./read.ts";
import { faultTarget, type Target } from "./target.ts";
import { encodeFrame, frameContentType } from "./watch_frames.ts";

/** A client that does not read is cut off when this much waits for it. */
const backlogLimit = 64 * 1024 * 1024;
/** Of the first state so many events leave in one turn, and no more while so much waits for its client. */
const firstAtOnce = 500;
const firstBacklog = 8 * 1024 * 1024;
const bookmarkEveryMs = 60_000;
/** Without timeoutSeconds a watch ends after 30 to 60 minutes. */
const shortestWatchMs = 1_800_000;

type EventType = "ADDED" | "MODIFIED" | "DELETED" | "BOOKMARK" | "ERROR";

type WatchParts = Pick<World, "clock" | "faults" | "log" | "random" | "soon" | "storage">;

/** Answers a watch; returns when it is set up, the stream goes on. */
export function watchObjects(world: WatchParts, exchange: Exchange, target: Target): void {
  const options = parseListOptions(exchange.query, target.served);
  const media = mediaFor(exchange, target.served);
  new WatchStream(world, exchange, target, options, media).start();
}

interface Outgoing {
  readonly type: EventType;
  readonly revision: Revision;
  /** Present for changes: frames of it are shared among watches. */
  readonly change?: StoredChange;
}

function isOutgoing(waiting: Outgoing | Buffer): waiting is Outgoing {
  return !Buffer.isBuffer(waiting);
}

class WatchStream {
  readonly #world: WatchParts;
  readonly #exchange: Exchange;
  readonly #target: Target;
  readonly #options: ListOptions;
  readonly #media: Media;
  readonly #matches: (object: Revision["object"]) => boolean;
  readonly #stop: (() => void)[] = [];
  /** Events that wait for a conversion, a lag or a silence; sent strictly in order. */
  readonly #waiting: (Outgoing | Buffer)[] = [];
  /** What there was at the beginning, sent before all that waits: a hundred thousand pods must not stop the server. */
  #first: readonly Outgoing[] = [];
  #firstSent = 0;
  #sending = false;
  #held = false;
  #truncating = false;
  #ended = false;
  #firstRow = true;
  #chunks: Buffer[] = [];
  #flushPlanned = false;

  constructor(world: WatchParts, exchange: Exchange, target: Target, options: ListOptions, media: Media) {
    this.#world = world;
    this.#exchange = exchange;
    this.#target = target;
    this.#options = options;
    this.#media = media;
    const matches = matcher(options, target.served);
    // A watch on the path of one object sees that object alone.
    this.#matches =
      target.name === "" ? matches : (object) => object.metadata.name === target.name && matches(object);
  }

  start(): void {
    const { response, closed, warnings } = this.#exchange;
    const begin = this.#initialChanges();
    response.statusCode = 200;
    response.setHeader("content-type", frameContentType(this.#media));
    response.setHeader("cache-control", "no-cache, private");
    setWarnings(response, warnings);
    flushHeaders(response);
    closed.addEventListener("abort", () => this.#end());
    if (begin instanceof ApiError) {
      this.#enqueueStatus(begin);
      return;
    }
    this.#stop.push(this.#world.faults.opened(this.#handle()));
    this.#subscribe();
    this.#first = begin;
    this.#send();
    this.#planEnd();
    if (this.#options.allowWatchBookmarks) this.#planBookmark();
  }

  /** What is sent before new changes, or the refusal for a version that is forgotten. */
  #initialChanges(): Outgoing[] | ApiError {
    const { table } = this.#target.served.resource;
    const asked = this.#options.resourceVersion ?? 0;
    const struck = this.#world.faults.strike("expire", faultTarget(this.#exchange, this.#target, "watch"));
    if (asked > 0 && !this.#options.sendInitialEvents) {
      const changes = struck === undefined ? table.changesAfter(asked) : undefined;
      if (changes === undefined) {
        return new ApiError(410, "Expired", `too old resource version: ${asked} (${table.forgottenVersion})`);
      }
      return changes.flatMap((change) => this.#visible(change) ?? []);
    }
    if (this.#options.sendInitialEvents || this.#options.resourceVersion === undefined || asked === 0) {
      const initial = this.#currentState();
      if (this.#options.sendInitialEvents && this.#options.allowWatchBookmarks) {
        initial.push({ type: "BOOKMARK", revision: this.#bookmark(true) });
      }
      return initial;
    }
    return [];
  }

  #currentState(): Outgoing[] {
    const wanted = storedNow(this.#target, this.#options, this.#matches);
    return wanted.map((revision) => ({ type: "ADDED", revision }));
  }

  #subscribe(): void {
    const { served } = this.#target;
    const index = usableIndex(this.#options, served);
    const onChange = (change: StoredChange): void => {
      const outgoing = this.#visible(change);
      if (outgoing === undefined) return;
      const fault = faultTarget(this.#exchange, { ...this.#target, name: change.current.name }, "watch");
      if (this.#world.faults.strike("withhold", fault) !== undefined) return;
      const shuffle = this.#world.faults.strike("shuffle", fault);
      if (shuffle !== undefined && !this.#held) this.#shuffle(shuffle.ms);
      const lag = this.#world.faults.strike("lag", fault);
      if (lag !== undefined) this.#delay(outgoing, lag);
      else this.#enqueue(outgoing);
      const repeated = this.#world.faults.strike("repeat", fault);
      if (repeated !== undefined) this.#repeat(change.version - repeated.versions);
    };
    const onClose = (): void => this.#close();
    this.#stop.push(
      served.resource.table.subscribe(
        index === undefined ? { onChange, onClose } : { onChange, onClose, index },
      ),
    );
  }

  /** Holds everything back from this event on, until time or newer writes have passed. */
  #delay(outgoing: Outgoing, lag: { readonly versions?: number; readonly ms?: number }): void {
    this.#enqueue(outgoing, true);
    const release = (): void => {
      this.#held = false;
      this.#send();
    };
    if (lag.ms !== undefined) {
      this.#after(lag.ms, release);
      return;
    }
    const until = outgoing.revision.version + (lag.versions ?? 0);
    const stop = this.#target.served.resource.table.subscribe({
      onChange: (change) => {
        if (change.version < until) return;
        stop();
        release();
      },
    });
    this.#stop.push(stop);
  }

  #repeat(after: number): void {
    for (const change of this.#target.served.resource.table.changesAfter(after) ?? []) {
      const outgoing = this.#visible(change);
      if (outgoing !== undefined) this.#enqueue(outgoing);
    }
  }

  /** Holds everything back for a while, and then tells it in any order. */
  #shuffle(ms: number): void {
    this.#held = true;
    this.#after(ms, () => {
      this.#held = false;
      if (this.#sending || this.#first.length > 0) this.#send();
      else this.#sendShuffled(this.#waiting.splice(0).filter(isOutgoing));
    });
  }

  /** In one piece: a watch that broke in between would go on beyond what it was not told. */
  #sendShuffled(held: readonly Outgoing[]): void {
    this.#convertThenSend(
      held.map(({ revision }) => revision),
      () => {
        const drawn = held.map((outgoing) => ({ outgoing, at: this.#world.random() }));
        this.#waiting.unshift(...drawn.sort((a, b) => a.at - b.at).map(({ outgoing }) => outgoing));
      },
    );
  }

  /** The event that this watch sees of a change: selectors can turn a change into an arrival or a departure. */
  #visible(change: StoredChange): Outgoing | undefined {
    const { namespace } = this.#target;
    if (namespace !== "" && change.current.namespace !== namespace) return undefined;
    const before = change.previous !== undefined && this.#matches(change.previous.object);
    const now = change.type !== "DELETED" && this.#matches(change.current.object);
    if (now) return { type: before ? "MODIFIED" : "ADDED", revision: change.current, change };
    if (!before || change.previous === undefined) return undefined;
    if (change.type === "DELETED") return { type: "DELETED", revision: change.current, change };
    const { object } = change.previous;
    const metadata = { ...object.metadata, resourceVersion: String(change.version) };
    return { type: "DELETED", revision: new Revision({ ...object, metadata }, change.version) };
  }

  #enqueue(outgoing: Outgoing, hold = false): void {
    this.#waiting.push(outgoing);
    if (hold) this.#held = true;
    this.#send();
  }

  #enqueueStatus(error: ApiError): void {
    this.#waiting.push(encodeFrame("ERROR", error.toStatus(), this.#media));
    this.#send(() => this.#close());
  }

  /** Writes what waits; conversions make it pause, never reorder. */
  #send(then?: () => void): void {
    if (this.#sending) return;
    let turn = 0;
    while (!this.#held) {
      const first = this.#first[this.#firstSent];
      const next = first ?? this.#waiting[0];
      if (next === undefined) break;
      if (first !== undefined && turn++ === firstAtOnce) {
        this.#goOnLater(then);
        return;
      }
      const frame = Buffer.isBuffer(next) ? next : this.#frame(next);
      if (frame === undefined) {
        if (!Buffer.isBuffer(next)) this.#convertThenSend([next.revision]);
        return;
      }
      if (first === undefined) this.#waiting.shift();
      else this.#advanceFirst();
      this.#write(frame);
    }
    then?.();
  }

  #advanceFirst(): void {
    this.#firstSent += 1;
    if (this.#firstSent < this.#first.length) return;
    this.#first = [];
    this.#firstSent = 0;
  }

  /** Other requests come in between, and a client that reads slowly is waited for. */
  #goOnLater(then?: () => void): void {
    const { response } = this.#exchange;
    this.#sending = true;
    const goOn = (): void => {
      if (this.#ended) return;
      if (response.writableLength > firstBacklog) {
        this.#world.clock.after(10, goOn);
        return;
      }
      this.#sending = false;
      this.#send(then);
    };
    this.#world.soon(goOn);
  }

  #convertThenSend(revisions: readonly Revision[], beforeSending?: () => void): void {
    this.#sending = true;
    const { served } = this.#target;
    inVersion(revisions, served, served.apiVersion).then(
      () => {
        if (this.#ended) return;
        this.#sending = false;
        beforeSending?.();
        this.#send();
      },
      (error: unknown) => {
        this.#sending = false;
        this.#waiting.length = 0;
        this.#first = [];
        this.#enqueueStatus(
          error instanceof ApiError ? error : new ApiError(500, "InternalError", String(error)),
        );
      },
    );
  }

  /** Undefined while the object is not yet there in the wanted version. */
  #frame(outgoing: Outgoing): Buffer | undefined {
    const { served } = this.#target;
    const view = outgoing.revision.inVersion(served.apiVersion);
    if (view.object.apiVersion !== served.apiVersion) return undefined;
    const tables = this.#media.as === "Table";
    const key = `${outgoing.type} ${this.#media.encoding} ${this.#media.as} ${served.apiVersion}`;
    const shared = tables ? undefined : outgoing.change?.frames.get(key);
    if (shared !== undefined) return shared;
    const frame = encodeFrame(outgoing.type, view, this.#media, {
      served,
      table: tableOptions(this.#world.clock, this.#exchange),
      headers: this.#firstRow,
    });
    this.#firstRow = false;
    if (!tables) outgoing.change?.frames.set(key, frame);
    return frame;
  }

  #bookmark(initialEnd: boolean): Revision {
    const { served } = this.#target;
    const annotations = initialEnd ? { annotations: { "k8s.io/initial-events-end": "true" } } : {};
    const { version } = this.#world.storage;
    const metadata = { resourceVersion: String(version), ...annotations };
    return new Revision({ kind: served.kind, apiVersion: served.apiVersion, metadata }, version);
  }

  #planBookmark(): void {
    this.#after(bookmarkEveryMs, () => {
      if (this.#ended) return;
      if (!this.#held) this.#enqueue({ type: "BOOKMARK", revision: this.#bookmark(false) });
      this.#planBookmark();
    });
  }

  #planEnd(): void {
    const { timeoutSeconds } = this.#options;
    const ms =
      timeoutSeconds === undefined ? shortestWatchMs * (1 + this.#world.random()) : timeoutSeconds * 1000;
    this.#after(ms, () => this.#close());
  }

  /** Not when the watch has ended by then. */
  #after(ms: number, run: () => void): void {
    const timer = this.#world.clock.after(ms, run);
    this.#stop.push(() => timer.cancel());
  }

  /** Frames of one turn leave in one piece. */
  #write(frame: Buffer): void {
    const { response } = this.#exchange;
    if (this.#truncating) {
      this.#chunks.push(frame.subarray(0, Math.floor(frame.length / 2)));
      this.#flush();
      this.#reset();
      return;
    }
    if (response.writableLength > backlogLimit) {
      this.#world.log("watch cut: its client does not read", { userAgent: this.#exchange.userAgent });
      this.#reset();
      return;
    }
    this.#chunks.push(frame);
    if (this.#flushPlanned) return;
    this.#flushPlanned = true;
    this.#world.soon(() => this.#flush());
  }

  #flush(): void {
    this.#flushPlanned = false;
    if (this.#ended || this.#chunks.length === 0) return;
    const chunks = this.#chunks;
    this.#chunks = [];
    this.#exchange.response.write(Buffer.concat(chunks));
  }

  #handle(): OpenWatch {
    return {
      resource: this.#target.served.resource.name,
      namespace: this.#target.namespace,
      userAgent: this.#exchange.userAgent,
      end: () => this.#close(),
      drop: () => this.#reset(),
      truncate: () => {
        this.#truncating = true;
      },
      silence: () => {
        this.#held = true;
      },
      resume: () => {
        this.#held = false;
        this.#send();
      },
    };
  }

  #close(): void {
    if (this.#ended) return;
    this.#flush();
    this.#end();
    this.#exchange.response.end();
  }

  #reset(): void {
    if (this.#ended) return;
    this.#end();
    const { response } = this.#exchange;
    // The bytes written so far leave first, then the stream breaks.
    this.#world.soon(() => response.destroy(new Error("watch dropped")));
  }

  #end(): void {
    this.#ended = true;
    for (const stop of this.#stop.splice(0)) stop();
    this.#waiting.length = 0;
  }
}
