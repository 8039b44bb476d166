/**
 * Carries out the effects of results, one after another. What a failure means is told in failure.ts, and is the same for all
 * controllers. No policy lives here.
 */
import type { ObjectKey } from "../../../kube/core/index.ts";
import {
  type Clock,
  type EventRecorder,
  type EventTarget,
  isKubeError,
  type KubeErrorCode,
  type Log,
  messageOf,
  type ReadingClient,
  severityOf,
  type WorkQueue,
  type Writer,
} from "../../../kube/index.ts";
import type {
  AttemptsEffect,
  BackgroundEffect,
  ConfirmEffect,
  EditEffect,
  Effect,
  EventEffect,
  SpendBudgetEffect,
  WriteEffect,
  WriteOutcome,
  WritesEffect,
} from "../../plan/effects.ts";
import { type OwnerScope, scopeOf } from "../../plan/owners.ts";
import type { DisruptionGuard } from "../admission/pod_admission.ts";
import { Backoff } from "./backoff.ts";
import { BudgetRefusal, failureIn, failureOf } from "./failure.ts";
import { slowStart } from "./slow_start.ts";
import type { Writable, WriteContext } from "./writable.ts";

export type Writables = Readonly<Record<string, Writable>>;

interface ExecutorDeps {
  readonly client: Pick<ReadingClient, "get">;
  readonly writesFor: (owner: OwnerScope) => Writer;
  readonly clock: Clock;
  readonly log: Log;
  readonly recorder: EventRecorder;
  readonly queue: Pick<WorkQueue, "add" | "addAfter">;
  readonly options: { readonly baseDelayMs: number; readonly maxDelayMs: number };
  readonly mayDisrupt?: DisruptionGuard | undefined;
  readonly signal: AbortSignal;
}

/** What a reconciler says of its effects. */
export interface ExecutorSettings {
  /** What effects may write beside the object of the plan; `resource` of an effect is a name in it. */
  readonly writes?: Writables;
  /** An edit ended, for which no pass waits. `uid` is that of the object of its plan, which another one may have replaced. */
  editEnded?(key: ObjectKey, uid: string, effect: EditEffect, outcome: WriteOutcome): void;
}

/** The object of a plan; for a controller without a kind, what its key stands for. */
export interface PlanSubject {
  readonly key: ObjectKey;
  readonly uid: string;
  /** What events are about that do not say it. */
  readonly about: EventTarget | undefined;
  /** Fairness key of the writes. */
  readonly flow: string;
  /** Whether a write is to be sent, asked when there is a place for it in the window. Absent: it is. */
  readonly isWanted?: (() => boolean) | undefined;
}

export class Executor {
  readonly #deps: ExecutorDeps;
  readonly #settings: ExecutorSettings;
  readonly #edits = new Set<Promise<void>>();
  /** By UID: background effects that are under way. */
  readonly #inBackground = new Map<string, Promise<void>>();
  /** By UID: what was tried last, and how long it is held back. */
  readonly #attempts = new Map<string, string>();
  readonly #backoff: Backoff;

  constructor(deps: ExecutorDeps, settings: ExecutorSettings) {
    this.#deps = deps;
    this.#settings = settings;
    const { clock, options } = deps;
    this.#backoff = new Backoff({ clock, baseDelayMs: options.baseDelayMs, maxDelayMs: options.maxDelayMs });
  }

  /** Whether background effects of the object are under way: their end enqueues it. */
  isBusy(uid: string): boolean {
    return this.#inBackground.has(uid);
  }

  /** Milliseconds for which background effects are held back because they failed: none for another attempt. */
  heldMs(uid: string, attempt: string): number {
    return this.#attempts.get(uid) === attempt ? this.#backoff.leftMs(uid) : 0;
  }

  forget(uid: string): void {
    this.#attempts.delete(uid);
    this.#backoff.forget(uid);
  }

  /** Resolves when nothing is under way in the background. */
  async drained(): Promise<void> {
    while (this.#inBackground.size + this.#edits.size > 0)
      await Promise.allSettled([...this.#inBackground.values(), ...this.#edits]);
  }

  /** Rejects with the first failure that ends the pass. `outcomes` gets every write that has an `id`. */
  async execute(
    subject: PlanSubject,
    effect: Effect | ConfirmEffect | SpendBudgetEffect,
    outcomes: Map<string, WriteOutcome>,
  ): Promise<void> {
    switch (effect.type) {
      case "confirm object":
        return this.confirm(subject);
      case "event":
        return this.#record(subject, effect);
      case "writes":
        return this.#writeAll(subject, effect, outcomes);
      case "attempts":
        return this.#attempt(subject, effect, outcomes);
      case "background":
        return this.#begin(subject, effect);
      case "spend budget":
        return this.reported(subject, effect, () => this.#spendBudget(effect));
      case "edit":
        return this.#edit(subject, effect);
      default:
        return this.#write(subject, effect, outcomes);
    }
  }

  async #write(
    subject: PlanSubject,
    effect: WriteEffect,
    outcomes: Map<string, WriteOutcome>,
  ): Promise<void> {
    const { id, succeeded, failed } = effect;
    const writable = this.#writableFor(effect);
    try {
      await writable.send(effect, this.#contextOf(subject, effect, writable));
      if (id !== undefined) outcomes.set(id, {});
      if (succeeded !== undefined) this.#record(subject, succeeded);
    } catch (error) {
      const failure = failureIn(effect, error);
      if (id !== undefined) outcomes.set(id, failure === "done" ? {} : { error });
      if (failure === "done") return;
      if (failure === "refused") this.#recordFailure(subject, failed, error);
      if (effect.tolerated === true && failure !== "aborted") return;
      throw error;
    }
  }

  #writableFor({ resource }: WriteEffect | EditEffect): Writable {
    const writable = this.#settings.writes?.[resource];
    if (writable === undefined) throw new Error(`effects write ${resource}, which is not among the writes`);
    return writable;
  }

  #contextOf(
    { key, uid, flow, isWanted }: PlanSubject,
    { priority }: WriteEffect | EditEffect,
    writable: Writable,
  ): WriteContext {
    const { client, writesFor, signal } = this.#deps;
    const urgency = priority === undefined ? {} : { priority };
    const options = {
      flow: writable.flow ?? flow,
      signal,
      ...urgency,
      ...(isWanted === undefined ? {} : { isWanted }),
    };
    return { key, uid, writer: writesFor(writable.scope ?? scopeOf(key)), client, options };
  }

  #edit(subject: PlanSubject, effect: EditEffect): void {
    const { key, uid } = subject;
    const writable = this.#writableFor(effect);
    const ended = (outcome: WriteOutcome): void => {
      this.#edits.delete(running);
      if (!this.#deps.signal.aborted) this.#settings.editEnded?.(key, uid, effect, outcome);
    };
    const running = writable.edit(effect, this.#contextOf(subject, effect, writable)).then(
      () => ended({}),
      (error: unknown) => ended({ error }),
    );
    this.#edits.add(running);
  }

  async #attempt(
    subject: PlanSubject,
    { attempts }: AttemptsEffect,
    outcomes: Map<string, WriteOutcome>,
  ): Promise<void> {
    let refusal: unknown;
    for (const { effect, after = [], next = [] } of attempts) {
      if (refusal !== undefined && !answersTo(after, refusal)) continue;
      try {
        await this.execute(subject, effect, outcomes);
      } catch (error) {
        refusal = error;
        continue;
      }
      for (const following of next) await this.execute(subject, following, outcomes);
      return;
    }
    if (refusal !== undefined) throw refusal;
  }

  async #writeAll(
    subject: PlanSubject,
    { pace, writes, counted }: WritesEffect,
    outcomes: Map<string, WriteOutcome>,
  ): Promise<void> {
    const batchSize = pace === "at once" ? Math.max(1, writes.length) : 1;
    const { succeeded, failure } = await slowStart(
      writes,
      (effect) => this.#write(subject, effect, outcomes),
      batchSize,
    );
    if (counted !== undefined && succeeded > 0)
      this.#record(subject, withText(counted, "{count}", String(succeeded)));
    if (failure !== undefined) throw failure.error;
  }

  async #begin(subject: PlanSubject, { attempt, effects }: BackgroundEffect): Promise<void> {
    const { key, uid } = subject;
    const { log, queue, signal } = this.#deps;
    if (this.heldMs(uid, attempt) > 0) return;
    this.#attempts.set(uid, attempt);
    const inOrder = async (): Promise<void> => {
      for (const effect of effects) await this.execute(subject, effect, new Map());
    };
    const ended = inOrder()
      .then(
        () => this.#backoff.forget(uid),
        (error: unknown) => {
          // The object went meanwhile: nobody would take the pause away again.
          if (this.#attempts.get(uid) === undefined) return;
          const retryInMs = this.#backoff.failed(uid, error);
          if (!signal.aborted) log[severityOf(error)]("background writes failed", { error, key, retryInMs });
        },
      )
      .then(() => {
        this.#inBackground.delete(uid);
        queue.add(key);
      });
    this.#inBackground.set(uid, ended);
  }

  /** Rejects where the object of the plan is gone, or is being deleted. */
  protected confirm({ key }: PlanSubject): Promise<void> {
    throw new Error(`${key} is no object that the server could confirm`);
  }

  async #spendBudget({ pod }: SpendBudgetEffect): Promise<void> {
    if ((await this.#deps.mayDisrupt?.(pod)) === false) throw new BudgetRefusal(pod.name);
  }

  /** Records the event that the effect has for a refusal. */
  protected async reported<R>(
    subject: PlanSubject,
    { failed }: Pick<WriteEffect, "failed">,
    run: () => Promise<R>,
  ): Promise<R> {
    try {
      return await run();
    } catch (error) {
      if (failureOf(error) === "refused") this.#recordFailure(subject, failed, error);
      throw error;
    }
  }

  #recordFailure(subject: PlanSubject, failed: EventEffect | undefined, error: unknown): void {
    if (failed !== undefined) this.#record(subject, withText(failed, "{error}", messageOf(error)));
  }

  #record({ about }: PlanSubject, effect: EventEffect): void {
    const target = effect.about ?? about;
    const { type, reason, message } = effect.event;
    if (target !== undefined) this.#deps.recorder.event(target, type, reason, message);
  }
}

function answersTo(codes: readonly KubeErrorCode[], refusal: unknown): boolean {
  return codes.length > 0 && isKubeError(refusal, ...codes);
}

function withText({ event, ...effect }: EventEffect, mark: string, text: string): EventEffect {
  return { ...effect, event: { ...event, message: event.message.replace(mark, () => text) } };
}
