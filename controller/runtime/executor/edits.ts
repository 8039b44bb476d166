/**
 * Edits of objects that several plans write: one write of an object in flight, and edits that come meanwhile go into the next one.
 * Each write carries the resourceVersion that it was made from; no policy lives here.
 *
 * Who loses a race waits before the next try, the longer the more races of the object were lost in a row. An edit gives up with
 * the TRIES-th of them, and those that come after that have one try each time: however many plans come back, a server that
 * answers 409 to everything gets few writes.
 */
import { type Clock, keyOf, type ObjectKey, type ObjectRef, type Random } from "../../../kube/core/index.ts";
import {
  isKubeError,
  type KubeErrorCode,
  type ReadingClient,
  type Resource,
  type WriteOptions,
  type Writer,
} from "../../../kube/index.ts";
import type { Edit } from "../../plan/effects.ts";
import { Backoff } from "./backoff.ts";

/** The objects of a resource as they are known, and what edits of them mean. */
export interface EditedObjects<T> {
  get(key: ObjectKey): T | undefined;
  /** The merge patch that puts all of them into the object; undefined when it has them already. */
  patchOf(object: T, edits: readonly Edit[]): object | undefined;
  readonly clock: Clock;
  /** Those who lost the same race do not meet again. */
  readonly random: Random;
}

interface EditContext {
  /** Of the object of the plan. */
  readonly key: ObjectKey;
  readonly writer: Writer;
  readonly client: Pick<ReadingClient, "get">;
  readonly options: WriteOptions;
}

interface EditsDeps<T> extends EditedObjects<T> {
  readonly resource: Resource<T>;
  written(object: T, planKey: ObjectKey): void;
  gone(key: ObjectKey, uid: string, planKey: ObjectKey): void;
}

interface WaitingEdit {
  readonly edit: Edit;
  readonly context: EditContext;
  readonly settle: (error?: unknown) => void;
}

/** Races lost in a row before an edit is its plan's again. */
const TRIES = 5;
const RACES = { baseDelayMs: 10, maxDelayMs: 5_000 };
/** No edit alone would fare better: nothing is wrong with what it says. */
const NOBODYS_FAULT: readonly KubeErrorCode[] = [
  "Conflict",
  "TooManyRequests",
  "Unavailable",
  "Timeout",
  "Network",
  "Aborted",
];

export class Edits<T> {
  readonly #deps: EditsDeps<T>;
  /** By object: edits that wait for the write in flight. */
  readonly #waiting = new Map<ObjectKey, WaitingEdit[]>();
  /** By object: those that were lost in a row. */
  readonly #races: Backoff;

  constructor(deps: EditsDeps<T>) {
    this.#deps = deps;
    this.#races = new Backoff({ clock: deps.clock, ...RACES });
  }

  /** Resolves when the edit is stored, or its object is gone; rejects with what the server answered. */
  write(ref: ObjectRef, edit: Edit, context: EditContext): Promise<void> {
    return new Promise((resolve, reject) => {
      const settle = (error?: unknown): void => (error === undefined ? resolve() : reject(error));
      const waiting = this.#waiting.get(keyOf(ref));
      if (waiting !== undefined) waiting.push({ edit, context, settle });
      else {
        this.#waiting.set(keyOf(ref), [{ edit, context, settle }]);
        void this.#drain(ref);
      }
    });
  }

  async #drain(ref: ObjectRef): Promise<void> {
    const key = keyOf(ref);
    // Edits of this turn of the event loop go into the first write.
    await Promise.resolve();
    for (let edits = this.#take(key); edits.length > 0; edits = this.#take(key))
      await this.#together(ref, edits);
    this.#waiting.delete(key);
  }

  #take(key: ObjectKey): WaitingEdit[] {
    return this.#waiting.get(key)?.splice(0) ?? [];
  }

  async #together(ref: ObjectRef, edits: readonly WaitingEdit[]): Promise<void> {
    const [first] = edits;
    if (first === undefined) return;
    try {
      await this.#patch(ref, edits, first.context);
      for (const { settle } of edits) settle();
    } catch (error) {
      // One bad edit must not take the others with it.
      if (edits.length > 1 && !isKubeError(error, ...NOBODYS_FAULT))
        for (const edit of edits) await this.#together(ref, [edit]);
      else for (const { settle } of edits) settle(error);
    }
  }

  async #patch(ref: ObjectRef, edits: readonly WaitingEdit[], context: EditContext): Promise<void> {
    const key = keyOf(ref);
    for (;;) {
      if (this.#races.failures(key) > 0) await this.#comeAgain(ref, context);
      try {
        await this.#send(ref, edits, context);
        return this.#races.forget(key);
      } catch (error) {
        if (!isKubeError(error, "Conflict")) throw error;
        this.#races.failed(key, error);
        if (this.#races.failures(key) >= TRIES) throw error;
      }
    }
  }

  async #send(ref: ObjectRef, edits: readonly WaitingEdit[], context: EditContext): Promise<void> {
    const { resource } = this.#deps;
    const { key, writer, options } = context;
    const object = this.#deps.get(keyOf(ref));
    const patch =
      object &&
      this.#deps.patchOf(
        object,
        edits.map(({ edit }) => edit),
      );
    if (object === undefined || patch === undefined) return;
    const { uid, version } = resource.codec.identify(object);
    const body = { metadata: { resourceVersion: version }, ...patch };
    try {
      this.#deps.written(await writer.patch(resource, ref, { type: "merge", body }, options), key);
    } catch (error) {
      if (!isKubeError(error, "NotFound")) throw error;
      this.#deps.gone(keyOf(ref), uid, key);
    }
  }

  /** Somebody else wrote: waits, and reads what the server has now. */
  async #comeAgain(ref: ObjectRef, context: EditContext): Promise<void> {
    const { clock, random } = this.#deps;
    const waitMs = this.#races.leftMs(keyOf(ref)) * (1 + random() / 2);
    await clock.sleep(waitMs, context.options.signal);
    await this.#refresh(ref, context);
  }

  async #refresh(ref: ObjectRef, { key, client, options }: EditContext): Promise<void> {
    const { resource } = this.#deps;
    const known = this.#deps.get(keyOf(ref));
    if (known === undefined) return;
    const { uid } = resource.codec.identify(known);
    try {
      this.#deps.written(await client.get(resource, ref, options), key);
    } catch (error) {
      if (!isKubeError(error, "NotFound")) throw error;
      this.#deps.gone(keyOf(ref), uid, key);
    }
  }
}
