/**
 * The shell of every controller: lets its reconciler plan, hands the effects to the executor and comes again where somebody
 * else was faster. For a kind it also reads the cache and offers the status. No policy lives here.
 */
import { isKubeError, messageOf, type Outcome, type WorkQueue } from "../../kube/index.ts";
import { earliest } from "../plan/earliest.ts";
import type { Outcomes, WriteOutcome } from "../plan/effects.ts";
import { eventTarget } from "../plan/event_target.ts";
import { Backoff } from "./executor/backoff.ts";
import { Executor } from "./executor/executor.ts";
import { failureOf } from "./executor/failure.ts";
import { KindExecutor } from "./executor/kind_executor.ts";
import type { KindDeps, SharedDeps } from "./kind.ts";
import type { PlainReconciler, PlainResult, Reconciler, Result, StatusObject } from "./reconciler.ts";
import { StatusWriter } from "./status_writer.ts";

/** Somebody else was faster: what they did is on its way here, or here already. */
const RACE_MS = 100;
/** What they did may be slow to come, and brings another pass when it does. */
const LONGEST_RACE_MS = 5_000;

export function plainShellOf(
  deps: SharedDeps,
  reconciler: PlainReconciler,
): { reconcile(key: string): Promise<Outcome> } {
  const executor = new Executor(deps, reconciler);
  const races = racesOf(deps);
  const planned = async (key: string): Promise<Planned | undefined> => {
    const result = await reconciler.reconcile(key);
    if (result === undefined) return undefined;
    const { effects = [], requeueAfterMs } = result;
    const subject = { key, uid: key, about: undefined, flow: key };
    const execute = () =>
      telling<PlainResult>(reconciler, key, result, async (writes) => {
        for (const effect of effects) await executor.execute(subject, effect, writes);
      });
    return { requeueAfterMs, execute };
  };
  return { reconcile: (key) => runPass(deps.queue, races, key, () => planned(key)) };
}

function racesOf({ clock }: Pick<SharedDeps, "clock">): Backoff {
  return new Backoff({ clock, baseDelayMs: RACE_MS, maxDelayMs: LONGEST_RACE_MS });
}

/** Carries out, and tells the reconciler how it ended. */
async function telling<R>(
  reconciler: { executed?(key: string, result: R, outcomes: Outcomes): void },
  key: string,
  result: R,
  execute: (writes: Map<string, WriteOutcome>) => Promise<void>,
): Promise<void> {
  const writes = new Map<string, WriteOutcome>();
  try {
    await execute(writes);
  } catch (error) {
    reconciler.executed?.(key, result, { writes, error });
    throw error;
  }
  reconciler.executed?.(key, result, { writes });
}

interface Planned {
  readonly requeueAfterMs: number | undefined;
  execute(): Promise<void>;
}

/** One pass of any controller. A refused write is retried by the backoff of the queue, a lost race by one of its own. */
async function runPass(
  queue: Pick<WorkQueue, "addAfter">,
  races: Backoff,
  key: string,
  plan: () => Promise<Planned | undefined>,
): Promise<Outcome> {
  let requeueAfterMs: number | undefined;
  try {
    const planned = await plan();
    requeueAfterMs = planned?.requeueAfterMs;
    await planned?.execute();
    races.forget(key);
    return { requeueAfterMs };
  } catch (error) {
    if (failureOf(error) === "race")
      return { requeueAfterMs: earliest([requeueAfterMs, races.failed(key, error)]) };
    races.forget(key);
    // What time alone changes does not wait for the backoff of a write that is refused.
    if (requeueAfterMs !== undefined) queue.addAfter(key, requeueAfterMs);
    throw error;
  }
}

export class Shell<T extends StatusObject> {
  readonly #deps: KindDeps<T>;
  readonly #reconciler: Reconciler<T>;
  readonly #status: StatusWriter<T>;
  readonly #executor: KindExecutor<T>;
  readonly #races: Backoff;
  /** By key: the generation that no plan could work with when it was last tried. */
  readonly #failing = new Map<string, number>();

  constructor(deps: KindDeps<T>, reconciler: Reconciler<T>) {
    this.#deps = deps;
    this.#reconciler = reconciler;
    this.#status = new StatusWriter(deps, (key) => this.coalescingMs(key));
    this.#executor = new KindExecutor(deps, reconciler);
    this.#races = racesOf(deps);
  }

  /** Milliseconds in which further events of the same object are gathered. */
  coalescingMs(key: string): number {
    return this.#reconciler.coalescingMs?.(key) ?? 0;
  }

  /** The object is gone. */
  forget(key: string, uid: string): void {
    this.#status.forget(uid);
    this.#executor.forget(uid);
    this.#races.forget(key);
    this.#reconciler.forget?.(key, uid);
  }

  /** What others write into the status has to be set right, though nothing else has changed. */
  isStatusByOthers(before: T, { metadata, status }: T): boolean {
    return this.#status.isByOthers(metadata.uid ?? "", before.status, status);
  }

  /** Resolves when no write is in flight. */
  async drained(): Promise<void> {
    await Promise.all([this.#executor.drained(), this.#reconciler.drained?.()]);
  }

  async reconcile(key: string): Promise<Outcome> {
    try {
      return await runPass(this.#deps.queue, this.#races, key, () => this.#plan(key));
    } catch (error) {
      // A refusal of the server says nothing about the object.
      if (!isKubeError(error)) this.#reportFailure(key, error);
      throw error;
    }
  }

  async #plan(key: string): Promise<Planned | undefined> {
    const { finalizer } = this.#reconciler;
    if (finalizer !== undefined) await this.#addFinalizer(key, finalizer);
    const object = this.#objectOf(key);
    if (object !== undefined && this.#executor.isBusy(object.metadata.uid ?? "")) return undefined;
    const result = await (object === undefined
      ? this.#reconciler.reconcileAbsent?.(key)
      : this.#reconciler.reconcile(object, key));
    this.#failing.delete(key);
    if (result === undefined) return undefined;
    const heldMs = this.#heldMs(object, result);
    // What is begun in the background changes the status: the plan that follows it has the next one.
    const offeredMs = object && heldMs !== 0 ? this.#offer(key, object, result) : undefined;
    const requeueAfterMs = earliest([result.requeueAfterMs, heldMs || undefined, offeredMs]);
    const execute = () =>
      telling<Result>(this.#reconciler, key, result, (writes) => this.#execute(key, object, result, writes));
    return { requeueAfterMs, execute };
  }

  #objectOf(key: string): T | undefined {
    const object = this.#deps.objects.get(key);
    if (object === undefined || this.#reconciler.remembersByStatus !== true) return object;
    const status = this.#status.unstored(object.metadata.uid ?? "");
    return status === undefined ? object : { ...object, status };
  }

  /** How long background effects are held back; 0 when they are begun, undefined when there are none. */
  #heldMs(object: T | undefined, { effects = [] }: Result): number | undefined {
    for (const effect of effects) {
      if (effect.type === "background")
        return this.#executor.heldMs(object?.metadata.uid ?? "", effect.attempt);
    }
    return undefined;
  }

  /** An object that was stored before an upgrade or edited around admission: all others go on. Once a generation. */
  #reportFailure(key: string, error: unknown): void {
    const { objects, recorder, resource } = this.#deps;
    const { metadata } = objects.get(key) ?? {};
    if (metadata === undefined || this.#failing.get(key) === (metadata.generation ?? 0)) return;
    this.#failing.set(key, metadata.generation ?? 0);
    const message = `${resource.kind} cannot be reconciled: ${messageOf(error)}`;
    recorder.event(eventTarget(resource, metadata), "Warning", "FailedReconcile", message);
  }

  async #addFinalizer(key: string, finalizer: string): Promise<void> {
    const object = this.#deps.objects.get(key);
    if (object !== undefined && object.metadata.deletionTimestamp === undefined)
      await this.#executor.executeFor(key, object, { type: "add finalizer", finalizer }, new Map());
  }

  #offer(key: string, object: T, result: Result): number | undefined {
    const { status, exactStatus: isExact = false, size = 0, settled = false } = result;
    if (status === undefined) return undefined;
    const { objects } = this.#deps;
    const { uid = "", resourceVersion } = object.metadata;
    // A write of the status may have been answered while the pass waited.
    const stored = objects.holds(key, uid) ? objects.get(key) : object;
    return this.#status.offer({ key, uid, resourceVersion, isExact }, stored?.status, status, size, settled);
  }

  async #execute(
    key: string,
    planned: T | undefined,
    { effects = [] }: Result,
    writes: Map<string, WriteOutcome>,
  ): Promise<void> {
    let object = planned;
    const left = [...effects];
    for (let effect = left.shift(); effect !== undefined; effect = left.shift()) {
      const written = await this.#executor.executeFor(key, object, effect, writes);
      object = written.object;
      // The rest is that of the newer plan.
      if (written.rest !== undefined) left.splice(0, left.length, ...written.rest);
    }
  }
}
