/**
 * Writes the status of workloads: at once, then coalesced while it churns, exact when it settles; one write in flight
 * for an object, and none when nothing differs.
 */
import { createMergePatch, jsonEqual, refOf } from "../../kube/core/index.ts";
import { isKubeError, type Priority, type WorkQueue } from "../../kube/index.ts";
import { scopeOf } from "../plan/owners.ts";
import { SMALL_SIZE, statusPauseMs } from "../rollout/delays.ts";
import { Backoff } from "./executor/backoff.ts";
import { dropIfGone } from "./gone_object.ts";
import type { KindDeps } from "./kind.ts";

/**
 * A status yields to writes of pods. Before a slow server that would take longer than those who look at a small workload
 * wait, so that few of them at a time take turns with pods.
 */
const MOST_URGENT = 2;
/** A status that cannot be written is tried again after this, doubling; also when the rest of the object goes well. */
const RETRIES = { baseDelayMs: 5, maxDelayMs: 30_000 };

export interface StatusTarget {
  key: string;
  uid: string;
  /** Of the object that the status was worked out of. */
  resourceVersion: string | undefined;
  /** Whether it is for this version alone. Default: where it ends a job. */
  isExact?: boolean;
}

type StatusWriterDeps<T> = Pick<
  KindDeps<T>,
  "writesFor" | "clock" | "log" | "objects" | "resource" | "signal"
> & {
  queue: Pick<WorkQueue, "addAfter">;
};

/** A status as it should be, and what makes the stored one so. */
interface Offer {
  readonly status: object;
  readonly body: object;
  readonly isEmpty: boolean;
}

/** A write in flight. */
interface Writing {
  /** The newest: what it sends when its turn comes. */
  offered: Offer;
  /** What it has sent, or did not have to send. */
  sent: Offer;
}

interface Entry {
  writing: Writing | undefined;
  lastAt: number;
  /** What was offered last, until it is stored. */
  unstored: object | undefined;
}

export class StatusWriter<T> {
  readonly #deps: StatusWriterDeps<T>;
  readonly #gatheringMs: (key: string) => number;
  readonly #entries = new Map<string, Entry>();
  readonly #backoff: Backoff;
  /** Writes in flight that take turns with pods. */
  #urgent = 0;
  /** Whether statuses of this kind come here at all: others name the version that they replace, and cannot come late. */
  #isUsed = false;

  /** `gatheringMs`: how long changes of one object are gathered. */
  constructor(deps: StatusWriterDeps<T>, gatheringMs: (key: string) => number) {
    this.#deps = deps;
    this.#gatheringMs = gatheringMs;
    this.#backoff = new Backoff({ clock: deps.clock, ...RETRIES });
  }

  /**
   * Offers the status as it should be. Returns after how many milliseconds to offer again when it was held
   * back, undefined when it was sent, is being sent, or does not differ. `size` is the number of replicas:
   * the more there are the more changes go into one write.
   */
  offer(
    target: StatusTarget,
    before: object | undefined,
    after: object,
    size: number,
    settled: boolean,
  ): number | undefined {
    this.#isUsed = true;
    const offered = offerOf(target, before, after);
    const entry = this.#entry(target.uid);
    entry.unstored = offered.isEmpty && entry.writing === undefined ? undefined : after;
    if (entry.writing !== undefined) {
      entry.writing.offered = offered;
      return undefined;
    }
    if (offered.isEmpty) return undefined;
    const now = this.#deps.clock.monotonic();
    const heldMs = this.#backoff.leftMs(target.uid);
    if (heldMs > 0) return heldMs;
    const wait = entry.lastAt + statusPauseMs(size) - now;
    if (wait > 0 && !settled) return wait;
    const isUrgent = size <= SMALL_SIZE && this.#urgent < MOST_URGENT;
    entry.writing = { offered, sent: offered };
    void this.#send(target, entry, entry.writing, isUrgent);
    return undefined;
  }

  /** What was offered last and is not stored yet: it is being written, was held back or was refused. */
  unstored(uid: string): object | undefined {
    return this.#entries.get(uid)?.unstored;
  }

  /**
   * Whether somebody else changed the status, a replica above all that led before and whose write was on its way for long: it
   * knows nothing of the version that it replaces. What this writer stores is in the cache before a watch tells of it.
   */
  isByOthers(uid: string, before: object | undefined, after: object | undefined): boolean {
    return (
      this.#isUsed &&
      !jsonEqual(before, after) &&
      !jsonEqual(this.#entries.get(uid)?.writing?.sent.status, after)
    );
  }

  forget(uid: string): void {
    this.#entries.delete(uid);
    this.#backoff.forget(uid);
  }

  #entry(uid: string): Entry {
    let entry = this.#entries.get(uid);
    if (entry === undefined) {
      entry = { writing: undefined, lastAt: Number.NEGATIVE_INFINITY, unstored: undefined };
      this.#entries.set(uid, entry);
    }
    return entry;
  }

  async #send(target: StatusTarget, entry: Entry, writing: Writing, isUrgent: boolean): Promise<void> {
    const { clock, log, queue, signal } = this.#deps;
    const { key, uid } = target;
    let isBehind = false;
    entry.lastAt = clock.monotonic();
    if (isUrgent) this.#urgent++;
    try {
      await this.#patch(target, writing, isUrgent ? "high" : "normal");
      isBehind = !jsonEqual(writing.sent.status, writing.offered.status);
      if (!isBehind) entry.unstored = undefined;
      this.#backoff.forget(uid);
    } catch (error) {
      // A deletion or a change that the cache has yet to hear of is nothing to warn of.
      if (!signal.aborted && !isKubeError(error, "NotFound", "Conflict"))
        log.warn("the status could not be written", { error, object: key });
      // Forgotten meanwhile: nobody would take the failure away again.
      if (this.#entries.get(uid) === entry) queue.addAfter(key, this.#backoff.failed(uid, error));
    } finally {
      entry.writing = undefined;
      if (isUrgent) this.#urgent--;
    }
    if (isBehind) queue.addAfter(key, this.#gatheringMs(key));
  }

  /** The newest status is sent, also where the write has waited for long, for its turn or for a server that was busy. */
  async #patch({ key, uid }: StatusTarget, writing: Writing, priority: Priority): Promise<void> {
    const { writesFor, objects, resource, signal } = this.#deps;
    // Gone, or replaced by another of its name, which gets its own status.
    if (!objects.holds(key, uid)) return;
    const newest = (): Offer => {
      writing.sent = writing.offered;
      return writing.sent;
    };
    const options = {
      subresource: "status",
      // A line of its own: it does not wait for all pods of the workload.
      flow: `${uid} status`,
      priority,
      signal,
      isWanted: () => !newest().isEmpty,
      bodyWhenSent: () => newest().body,
    } as const;
    const patch = { type: "merge", body: writing.offered.body } as const;
    try {
      objects.writeBack(await writesFor(scopeOf(key)).patch(resource, refOf(key), patch, options));
    } catch (error) {
      // It is as it should be again.
      if (isKubeError(error, "Aborted") && writing.sent.isEmpty) return;
      dropIfGone(objects, key, uid, error);
      throw error;
    }
  }
}

function offerOf(
  { resourceVersion, isExact = false }: StatusTarget,
  before: object | undefined,
  status: object,
): Offer {
  const patch = createMergePatch(before ?? {}, status);
  // Nothing counts that is changed after the end: a change that came before it, unseen, has to be looked at first.
  const metadata = isExact || isEnd(before, status) ? { metadata: { resourceVersion } } : {};
  return { status, body: { ...metadata, status: patch }, isEmpty: isEmpty(patch) };
}

/** The API's jobs tell by it that they are over, whatever becomes of their spec. */
function isEnd(before: object | undefined, after: object): boolean {
  return "completionTime" in after && !(before !== undefined && "completionTime" in before);
}

function isEmpty(patch: unknown): boolean {
  return typeof patch === "object" && patch !== null && Object.keys(patch).length === 0;
}
