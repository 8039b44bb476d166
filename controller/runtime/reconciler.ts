/** What a kind, or a controller without one, brings to the shell: passes over one key each, as data. */
import type { KubeObject } from "../../kube/core/index.ts";
import type { Effect, KindEffect, Outcomes } from "../plan/effects.ts";
import type { ExecutorSettings } from "./executor/executor.ts";

/** What one pass over a key comes to. */
export interface PlainResult {
  /** Carried out in order, each answered before the next; the first failure ends the pass (executor/failure.ts). */
  readonly effects?: readonly Effect[];
  readonly requeueAfterMs?: number | undefined;
}

export interface Result extends Omit<PlainResult, "effects"> {
  readonly effects?: readonly KindEffect[];
  /**
   * As it should be; absent: it stays. Written when it differs, coalesced while it churns. Offered before the effects, so
   * that it is reported also where those are refused; an exact patch of the object in the same pass would meet it as a race.
   */
  readonly status?: object | undefined;
  /**
   * The status is of this version of the object alone: it is refused where the object has changed, or has been made again, when it
   * arrives. Default: it is merged into the one that is there, unless it ends a job.
   */
  readonly exactStatus?: true;
  /** How many pods, nodes or images the status is about: the more, the more changes go into one write of it. */
  readonly size?: number;
  /** The status is not to wait for others: nothing else is going to happen. */
  readonly settled?: boolean;
}

type Planned<R> = R | undefined | Promise<R | undefined>;

/** Both sorts of reconcilers. */
interface AnyReconciler<R> extends ExecutorSettings {
  /** The effects of a result were carried out as far as `outcomes` tells. For what a kind remembers of its writes. */
  executed?(key: string, result: R, outcomes: Outcomes): void;
}

/** What a kind brings; keys are those of its queue. */
export interface Reconciler<T> extends AnyReconciler<Result> {
  /** What the object needs now. Undefined while something it depends on is still being listed, which enqueues the key. */
  reconcile(object: T, key: string): Planned<Result>;
  /** The same where there is no object of this name. Default: nothing. */
  reconcileAbsent?(key: string): Planned<Result>;
  /** The plan once more, of a newer version of the object but with what was seen otherwise: for renewable status patches. */
  renewed?(object: T, key: string): Result | undefined;
  /** Milliseconds in which further events of the same object are gathered. Default: none. */
  coalescingMs?(key: string): number;
  /** The object is gone. */
  forget?(key: string, uid: string): void;
  /** Resolves when no write is in flight. Needed for writes that a pass does not wait for. */
  drained?(): Promise<void>;
  /**
   * The status holds what can be seen no more: plans are given the one that was offered last, until it is stored. Default: what is
   * stored, as everything in the status follows from what there is.
   */
  readonly remembersByStatus?: true;
  /** What every object carries before anything is done for it. Passes over a deleted object take it off. */
  readonly finalizer?: string;
  /** Fairness key of the writes. Default: the object's UID. */
  readonly flow?: string;
}

/** What a controller without a kind brings. It subscribes to what it needs and fills its queue itself. */
export interface PlainReconciler extends AnyReconciler<PlainResult> {
  /** What this key needs now. Undefined: nothing. */
  reconcile(key: string): Planned<PlainResult>;
}

export interface StatusObject extends KubeObject {
  status?: object;
}
