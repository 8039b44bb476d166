/** What a plan decides, as data. Its effects: rollout_write.ts. */
import type { ControllerRevision, PersistentVolumeClaim, Pod } from "../../../kube/index.ts";
import type { ObjectBody } from "../../plan/effects.ts";
import type { PodWrite } from "../in_place/update.ts";

export interface ObjectEvent {
  type: "Normal" | "Warning";
  reason: string;
  message: string;
  /** Default: the object of the plan. */
  about?: Pod | undefined;
}

/** Which part of the status tells of a failure of the action. */
export type Concern = "scale" | "update" | "refresh";

/** Reason and text of the Warning event on failure; the error is appended. */
export interface FailureMessage {
  reason: string;
  message: string;
  /** What the workload's status tells of it, in place of the message; the error is appended. */
  condition?: string;
  /** Default: the object of the plan. */
  about?: Pod;
}

export interface NewClaim {
  name: string;
  body: ObjectBody;
  succeeded?: ObjectEvent;
  failed?: FailureMessage;
}

export type Action =
  | {
      type: "create pod";
      name: string;
      body: ObjectBody;
      /** The pod as it will be seen right after its creation. */
      after: Pod;
      /** Claims to create before it; existing ones are skipped. */
      claims: readonly NewClaim[];
      succeeded?: ObjectEvent;
      failed?: FailureMessage;
    }
  | {
      type: "patch pod";
      pod: Pod;
      write: PodWrite;
      concern: Concern;
      succeeded?: ObjectEvent;
      failed?: FailureMessage;
      /** Makes an available pod unavailable: its budget, if it has one, is asked before. */
      disrupts?: boolean;
      /** Makes the workload the pod's controller: only if the server says that it still exists. */
      adopts?: boolean;
    }
  | {
      type: "delete pod";
      pod: Pod;
      /** Claims that go with it. */
      claims: readonly PersistentVolumeClaim[];
      succeeded?: ObjectEvent;
      failed?: FailureMessage;
    }
  | ({ type: "create claim" } & NewClaim)
  | {
      type: "patch claim";
      claim: PersistentVolumeClaim;
      body: object;
      succeeded?: ObjectEvent;
      failed?: FailureMessage;
    }
  | { type: "delete claim"; claim: PersistentVolumeClaim }
  | { type: "create revision"; name: string; body: ObjectBody; data: string }
  | { type: "patch revision"; revision: ControllerRevision; body: object }
  | { type: "delete revision"; revision: ControllerRevision }
  /** Merge patch of the workload's own spec. */
  | { type: "patch workload"; body: ObjectBody }
  /** The workload is over and has outlived its time. */
  | { type: "delete workload" }
  /** Custom objects that workloads make: only image pull jobs so far. */
  | {
      type: "create object";
      resource: "imagepulljobs";
      name: string;
      body: ObjectBody;
      succeeded?: ObjectEvent;
      failed?: FailureMessage;
    }
  | { type: "delete object"; resource: "imagepulljobs"; name: string; uid: string }
  | { type: "event"; event: ObjectEvent };

export type RevisionAction = Extract<
  Action,
  { type: "create revision" | "patch revision" | "delete revision" }
>;

/** A reason why a rollout does not go on, for people and for `refit why`. */
export interface Waiting {
  /** Stable code: `Paused`, `Partition`, `Budget`, `Hook`, `Grace`, `NotReady`, … */
  reason: string;
  message: string;
  /** What would end it. */
  until: string;
  pods?: readonly string[];
}

export interface Plan<Status> {
  actions: readonly Action[];
  status: Status;
  /** Empty where the plan was not asked to explain itself: most passes are about one pod alone, and a rollout waits for many. */
  readonly waiting: readonly Waiting[];
  /** When time alone changes the plan; undefined when only events can. */
  requeueAfterMs: number | undefined;
}
