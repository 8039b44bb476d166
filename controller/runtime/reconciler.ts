/** What a kind, or a controller without one, brings to the shell: passes over one key each, as data. */
import type { KubeObject } from "../../kube/core/index.ts";
import type { EventTarget } from "../../kube/index.ts";
import type { ObjectEvent } from "../rollout/writes/actions.ts";

/** What is to be done with the object of a pass. */
export type ObjectAction =
  /** `body` lacks what the shell knows: version, kind, name and namespace. */
  | { readonly type: "create object"; readonly body: ObjectBody }
  /** Merge patch; `exact`: of no other version than the one that was planned with. */
  | { readonly type: "patch object"; readonly body: ObjectBody; readonly exact?: boolean }
  /** Merge patch of a status that has to be stored before what follows. All others are offered as the pass's `status`. */
  | StatusPatch
  | { readonly type: "add finalizer" | "remove finalizer"; readonly finalizer: string }
  | { readonly type: "delete object" }
  /** `about`: another object. */
  | { readonly type: "event"; readonly event: ObjectEvent; readonly about?: EventTarget };

export interface StatusPatch {
  readonly type: "patch status";
  readonly status: object;
  readonly exact?: boolean;
  /**
   * The patch for the newest version that is known when it is sent: of an object that others write all the time, the version
   * of the plan is old by then. Undefined where that needs another plan.
   */
  readonly renewed?: () => { readonly resourceVersion: string; readonly status: object } | undefined;
}

export interface ObjectBody {
  readonly metadata?: object;
  readonly spec?: object;
  readonly status?: object;
}

/** What only the controller knows how to write. */
export type Write = () => Promise<unknown>;

export type Step = ObjectAction | Write;

/** `S`: what the shell can carry out for the controller. */
interface AnyPass<S> {
  /** Carried out in order, each answered before the next; what is refused ends the pass. */
  readonly actions?: readonly S[];
  readonly requeueAfterMs?: number | undefined;
}

export type PlainPass = AnyPass<Write>;

export interface Pass extends AnyPass<Step> {
  /**
   * As it should be; absent: it stays. Written when it differs, coalesced while it churns. Offered before the actions, so
   * that it is reported also where those are refused; an exact patch of the object in the same pass would meet it as a race.
   */
  readonly status?: object | undefined;
  /** How many pods, nodes or images the status is about: the more, the more changes go into one write of it. */
  readonly size?: number;
  /** The status is not to wait for others: nothing else is going to happen. */
  readonly settled?: boolean;
}

type Planned<P> = P | undefined | Promise<P | undefined>;

/** What a kind brings; keys are those of its queue. */
export interface Reconciler<T> {
  /** What the object needs now. Undefined while something it depends on is still being listed, which enqueues the key. */
  reconcile(object: T, key: string): Planned<Pass>;
  /** The same where there is no object of this name. Default: nothing. */
  reconcileAbsent?(key: string): Planned<Pass>;
  /** Milliseconds in which further events of the same object are gathered. Default: none. */
  coalescingMs?(key: string): number;
  /** The object is gone. */
  forget?(key: string, uid: string): void;
  /** Resolves when no write is in flight. Needed for writes that a pass does not wait for. */
  drained?(): Promise<void>;
  /** What every object carries before anything is done for it. Passes over a deleted object take it off. */
  readonly finalizer?: string;
  /** Fairness key of the writes. Default: the object's UID. */
  readonly flow?: string;
}

/** What a controller without a kind brings. It subscribes to what it needs and fills its queue itself. */
export interface PlainReconciler {
  /** What this key needs now. Undefined: nothing. */
  reconcile(key: string): Planned<PlainPass>;
}

export interface StatusObject extends KubeObject {
  status?: object;
}
