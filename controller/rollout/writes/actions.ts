/**
 * What the plan of a rollout decides, as data. An action is what one decision writes: ordinary effects in their order, and how it
 * goes together with other actions of the rollout. Functions build them (pod_actions.ts, claim_actions.ts, workload_actions.ts,
 * ../revisions/revision_actions.ts, ../images/pre_download.ts), and runtime/executor/perform.ts carries them out.
 */
import type { Pod } from "../../../kube/index.ts";
import type { EventEffect, ObjectEffect, SpendBudgetEffect, WriteEffect } from "../../plan/effects.ts";

/** Which part of the status tells of a failure of the action. */
export type Concern = "scale" | "update" | "refresh";

/** Parts of the status that say what keeps a workload from being scaled or updated. */
export type FailingPart = Exclude<Concern, "refresh">;

/** What happens when the server refuses an effect. */
export interface Refusal {
  readonly failed?: EventEffect | undefined;
  /**
   * What the status says when the server refused it, until an action of the same concern succeeds; `{error}` is what the
   * server said.
   */
  readonly condition?: { readonly part: FailingPart; readonly message: string };
}

export type RolloutEffect = (WriteEffect | ObjectEffect | SpendBudgetEffect | EventEffect) &
  Pick<Refusal, "condition">;

interface AnyAction {
  /** Actions of one id exclude each other, and share a backoff. */
  readonly id: string;
  /** Carried out in order, each answered before the next; the first failure drops the rest. */
  readonly effects: readonly RolloutEffect[];
  /** With a share of the client's window that is not that of the workload's other writes. */
  readonly flow?: "creations";
}

/** Plans see its pod as it is `after` the action until that is answered. */
interface AnyPodAction extends AnyAction {
  readonly concern: Concern;
  readonly after: Pod;
}

/** Some creations must succeed before many are sent. */
export interface PodCreation extends AnyPodAction {
  readonly type: "create pod";
  readonly lane: "create";
}

export interface PodPatchAction extends AnyPodAction {
  readonly type: "patch pod";
  /**
   * `begin`: takes a pod out of service that may be in it; those of `finish` bring pods back, and are sent first. No lane
   * waits for the answers of another one.
   */
  readonly lane: "begin" | "finish";
  /** As it was when the patch was decided. */
  readonly pod: Pod;
  /** Begins an update of what runs in it. */
  readonly begins: boolean;
  /** The pod is in service, and comes back after this: how many are out at a time is bounded by how fast they come back. */
  readonly leaves: boolean;
}

export interface PodDeletion extends AnyPodAction {
  readonly type: "delete pod";
  readonly lane: "begin";
  readonly pod: Pod;
}

export type PodAction = PodCreation | PodPatchAction | PodDeletion;

/** A write of something else than a pod: sent at once. */
export interface OtherAction extends AnyAction {
  readonly type:
    | `${"create" | "patch" | "delete"} ${"claim" | "revision"}`
    /** Custom objects that workloads make: only image pull jobs so far. */
    | "create object"
    | "delete object"
    | "patch workload"
    | "delete workload";
  readonly lane: "at once";
  /** Of the object. */
  readonly name: string;
  /** The rest of the plan waits for it. */
  readonly blocks?: true;
}

export type Action = PodAction | OtherAction | EventEffect;

/** A reason why a rollout does not go on, for people and for `refit why`. */
export interface Waiting {
  /** Stable code: `Paused`, `Partition`, `Budget`, `Hook`, `Grace`, `NotReady`, … */
  reason: string;
  message: string;
  /** What would end it. */
  until: string;
  pods?: readonly string[];
  /** A merge patch of the pod that ends it. */
  podPatch?: object;
}

export interface Plan<Status> {
  actions: readonly Action[];
  status: Status;
  /** Empty where the plan was not asked to explain itself: most passes are about one pod alone, and a rollout waits for many. */
  readonly waiting: readonly Waiting[];
  /** When time alone changes the plan; undefined when only events can. */
  requeueAfterMs: number | undefined;
}
