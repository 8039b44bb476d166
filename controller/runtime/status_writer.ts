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
}

type StatusWriterDeps<T> = Pick<
  KindDeps<T>,
  "writesFor" | "clock" | "log" | "objects" | "resource" | "signal"
> & {
  queue: Pick<WorkQueue, "addAfter">;
};

interface Entry {
  /** The status that a write in flight leads to. */
  sending: object | undefined;
  heldBack: boolean;
  lastAt: number;
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
    const known = this.#entries.get(target.uid);
    if (known?.sending !== undefined) {
      // What counts is what will be stored: the status may be on its way back to what is stored still.
      known.heldBack = !jsonEqual(known.sending, after);
      return undefined;
    }
    const patch = createMergePatch(before ?? {}, after);
    if (isEmpty(patch)) return undefined;
    const entry = this.#entry(target.uid);
    const now = this.#deps.clock.monotonic();
    const heldMs = this.#backoff.leftMs(target.uid);
    if (heldMs > 0) return heldMs;
    const wait = entry.lastAt + statusPauseMs(size) - now;
    if (wait > 0 && !settled) return wait;
    const isUrgent = size <= SMALL_SIZE && this.#urgent < MOST_URGENT;
    // Nothing counts that is changed after the end: a change that came before it, unseen, has to be looked at first.
    const metadata = isEnd(before, after) ? { resourceVersion: target.resourceVersion } : undefined;
    void this.#send(target, entry, after, { ...(metadata && { metadata }), status: patch }, isUrgent);
    return undefined;
  }

  /**
   * Whether somebody else changed the status, a replica above all that led before and whose write was on its way for long: it
   * knows nothing of the version that it replaces. What this writer stores is in the cache before a watch tells of it.
   */
  isByOthers(uid: string, before: object | undefined, after: object | undefined): boolean {
    return this.#isUsed && !jsonEqual(before, after) && !jsonEqual(this.#entries.get(uid)?.sending, after);
  }

  forget(uid: string): void {
    this.#entries.delete(uid);
    this.#backoff.forget(uid);
  }

  #entry(uid: string): Entry {
    let entry = this.#entries.get(uid);
    if (entry === undefined) {
      entry = { sending: undefined, heldBack: false, lastAt: Number.NEGATIVE_INFINITY };
      this.#entries.set(uid, entry);
    }
    return entry;
  }

  async #send(
    target: StatusTarget,
    entry: Entry,
    status: object,
    body: object,
    isUrgent: boolean,
  ): Promise<void> {
    const { clock, log, queue, signal } = this.#deps;
    const { key, uid } = target;
    entry.sending = status;
    entry.heldBack = false;
    entry.lastAt = clock.monotonic();
    if (isUrgent) this.#urgent++;
    try {
      await this.#patch(target, body, isUrgent ? "high" : "normal");
      this.#backoff.forget(uid);
    } catch (error) {
      // A deletion or a change that the cache has yet to hear of is nothing to warn of.
      if (!signal.aborted && !isKubeError(error, "NotFound", "Conflict"))
        log.warn("the status could not be written", { error, object: key });
      // Forgotten meanwhile: nobody would take the failure away again.
      if (this.#entries.get(uid) === entry) queue.addAfter(key, this.#backoff.failed(uid, error));
      return;
    } finally {
      entry.sending = undefined;
      if (isUrgent) this.#urgent--;
    }
    if (entry.heldBack) queue.addAfter(key, this.#gatheringMs(key));
  }

  async #patch({ key, uid }: StatusTarget, body: object, priority: Priority): Promise<void> {
    const { writesFor, objects, resource, signal } = this.#deps;
    // Gone, or replaced by another of its name, which gets its own status.
    if (!objects.holds(key, uid)) return;
    // A line of its own: it does not wait for all pods of the workload.
    const options = { subresource: "status", flow: `${uid} status`, priority, signal } as const;
    try {
      objects.writeBack(
        await writesFor(scopeOf(key)).patch(resource, refOf(key), { type: "merge", body }, options),
      );
    } catch (error) {
      dropIfGone(objects, key, uid, error);
      throw error;
    }
  }
}

/** The API's jobs tell by it that they are over, whatever becomes of their spec. */
function isEnd(before: object | undefined, after: object): boolean {
  return "completionTime" in after && !(before !== undefined && "completionTime" in before);
}

function isEmpty(patch: unknown): boolean {
  return typeof patch === "object" && patch !== null && Object.keys(patch).length === 0;
}
