/**
 * What plans want done, as data: nothing in an effect can be called, so that it can be shown before it is carried out, compared
 * in tests and logged. One executor carries all of them out (runtime/executor/executor.ts, which also says what a failure means).
 */
import type { EventTarget, JsonPatchOperation, KubeErrorCode, Pod, Priority } from "../../kube/index.ts";

export interface ObjectEvent {
  readonly type: "Normal" | "Warning";
  readonly reason: string;
  readonly message: string;
}

/** One request about another object than that of the plan. */
export type WriteEffect = (CreateEffect | PatchEffect | DeleteEffect) & WriteSettings;

interface WriteTarget {
  /** A name in the `writes` of the reconciler. */
  readonly resource: string;
  /** Absent for objects of the cluster. */
  readonly namespace?: string | undefined;
  readonly name: string;
}

export interface CreateEffect extends WriteTarget {
  readonly type: "create";
  /** The executor adds version, kind, name and namespace. */
  readonly body: ObjectBody;
  /** Members of the body as JSON text, where their very bytes are part of the API. */
  readonly texts?: Readonly<Record<string, string>>;
  /**
   * An object of the name that is there already may be taken for the created one:
   *
   * - `own`: one that the object of the plan controls, because the answer to an earlier creation may have been lost. It is read.
   * - `own if lost`: the same, but only when this creation is the one whose answer was lost.
   * - `any`: it is read, whoever controls it, because what it holds counts.
   * - `unread`: whoever controls it, unless it is being deleted. That is not recorded as a success.
   */
  readonly existing?: "own" | "own if lost" | "any" | "unread";
}

export interface PatchEffect extends WriteTarget {
  readonly type: "patch";
  readonly patch:
    | { readonly type: "merge" | "strategic"; readonly body: object }
    | { readonly type: "json"; readonly body: readonly JsonPatchOperation[] };
  readonly subresource?: string;
}

export interface DeleteEffect extends WriteTarget {
  readonly type: "delete";
  readonly uid: string;
  /** Only this version of it. */
  readonly resourceVersion?: string;
  /** Its dependants are deleted as well. */
  readonly cascade?: true;
}

/**
 * What an object is to have in it, whatever its newest version has by the time of the write. The pass does not wait for it. Edits of one
 * object, by any plan of the controller, that wait while another write of it is in flight become one write. As good as done when
 * the object is gone.
 */
export interface EditEffect extends WriteTarget {
  readonly type: "edit";
  readonly edit: Edit;
  readonly priority?: Priority;
}

/** What the holder of the resource knows how to put into an object (runtime/executor/writable.ts). */
export interface Edit {
  readonly type: string;
}

/** What the server may refuse. */
interface Refusable {
  /** Recorded when the server refused it; `{error}` in the message is what it said. */
  readonly failed?: EventEffect | undefined;
  readonly priority?: Priority;
}

interface WriteSettings extends Refusable {
  /** Under which `executed` of the reconciler is told how the write ended. */
  readonly id?: string;
  /** Recorded when the write succeeded. */
  readonly succeeded?: EventEffect | undefined;
  /**
   * Somebody else was faster: the object is another one, or has changed, exists already or is gone. `retry` ends the pass,
   * and another one follows soon, unless what was to be deleted is gone; `ignore` goes on with the next effect; `report` makes
   * it a refusal. Default: `retry`.
   */
  readonly whenRaced?: "retry" | "ignore" | "report";
  /** A failure is told to `executed` alone, and the pass goes on. Not of an aborted write. */
  readonly tolerated?: true;
}

/** Several writes, none of which waits for the answer to another one. */
export interface WritesEffect {
  readonly type: "writes";
  /**
   * `at once`: all are sent. `slow start`: batches of 1, 2, 4, …, none after one that has a failure, because what refuses one
   * mostly refuses all.
   */
  readonly pace: "at once" | "slow start";
  readonly writes: readonly WriteEffect[];
  /** Recorded once when any write succeeded; `{count}` in the message is how many. */
  readonly counted?: EventEffect;
}

/** Attempts at one aim. The first is made; a later one only after a refusal that it answers to. */
export interface AttemptsEffect {
  readonly type: "attempts";
  readonly attempts: readonly Attempt[];
}

export interface Attempt {
  readonly effect: WriteEffect | EventEffect;
  /** Codes of the refusal that went before. Ignored for the first attempt. */
  readonly after?: readonly KubeErrorCode[];
  /** Carried out if this attempt was the one that succeeded. */
  readonly next?: readonly (WriteEffect | WritesEffect | EventEffect)[];
}

/**
 * Effects that the pass does not wait for. The object is not planned again before they ended, which enqueues it; the status
 * waits for that plan. After a failure they are held back, the longer the more often the same attempt failed.
 */
export interface BackgroundEffect {
  readonly type: "background";
  /** Another attempt than the last one is not held back. */
  readonly attempt: string;
  readonly effects: readonly (SequenceEffect | ConfirmEffect)[];
}

export interface EventEffect {
  readonly type: "event";
  readonly event: ObjectEvent;
  /** Default: the object of the plan. A controller without a kind has none. */
  readonly about?: EventTarget;
}

/**
 * Goes on only if the server itself says that the object of the plan still exists and is not being deleted. It stands before what is
 * made for the object: of one that is gone that is collected at once, and would be made again for as long as its watch is away.
 */
export interface ConfirmEffect {
  readonly type: "confirm object";
}

/** Goes on only if all budgets of the pod allow that it is disrupted, and spends that from them. */
export interface SpendBudgetEffect extends Pick<Refusable, "failed"> {
  readonly type: "spend budget";
  readonly pod: Pod;
}

type SequenceEffect = WriteEffect | WritesEffect | AttemptsEffect | EventEffect;

/** What any controller may want done. */
export type Effect = SequenceEffect | BackgroundEffect | EditEffect;

/** What is to be done with the object of the plan. */
export type ObjectEffect = AnyObjectEffect & Refusable;

type AnyObjectEffect =
  /** `body` lacks what the executor knows: version, kind, name and namespace. */
  | { readonly type: "create object"; readonly body: ObjectBody }
  /** Merge patch; `exact`: of no other version than the one that was planned with. */
  | { readonly type: "patch object"; readonly body: ObjectBody; readonly exact?: boolean }
  | StatusPatch
  | { readonly type: "add finalizer" | "remove finalizer"; readonly finalizer: string }
  | { readonly type: "delete object" }
  | ConfirmEffect;

/** What a kind may want done. */
export type KindEffect = Effect | ObjectEffect;

/** Merge patch of a status that has to be stored before what follows. All others are offered as the result's `status`. */
export interface StatusPatch {
  readonly type: "patch status";
  readonly status: object;
  readonly exact?: boolean;
  /**
   * Admission writes this status as well, so that the version of the plan is often old when the patch is sent. The plan is then
   * made again with the newest version that is known (`renewed` of the reconciler), and its effects take the place of these.
   */
  readonly renewable?: true;
}

export interface ObjectBody {
  readonly metadata?: object;
  readonly spec?: object;
  readonly status?: object;
  readonly [field: string]: unknown;
}

/** `error` is absent where the write is done. */
export interface WriteOutcome {
  readonly error?: unknown;
}

/** How the effects of a result ended. */
export interface Outcomes {
  /** Of writes that have an `id` and were begun. */
  readonly writes: ReadonlyMap<string, WriteOutcome>;
  /** What ended the pass before all were carried out. */
  readonly error?: unknown;
}
