/**
 * What controllers contribute to the admission of pods: a step of the chain that each new pod goes through, and a guard of
 * what is done to pods later. Spec: pod-webhook 2, 3, 5.
 */
import type { Clock, EventRecorder, Pod, Random, ReadingClient, Writer } from "../../../kube/index.ts";
import type { OwnerScope } from "../../plan/owners.ts";
import type { Informers } from "../informers.ts";
import type { ControllerOptions } from "../options.ts";
import type { PodDraft } from "./pod_draft.ts";
import type { Refusal } from "./refusals.ts";
import type { AdmissionHandler } from "./request.ts";

/** Places of the chain in their order: a step sees what earlier ones wrote. */
export const podStepPlaces = [
  "readiness gate",
  // Before whatever selects pods by labels: a subset may add some.
  "subset",
  "field managers",
  "sidecars",
  // After whatever adds containers, so that they are numbered, too.
  "launch order",
  "budget",
  "recorded nodes",
  // After whatever adds containers, so that theirs are moved, too.
  "liveness probes",
  "further probes",
] as const;

/** Places of guards in their order: one is asked when those before it have let the request pass. */
export const podGuardPlaces = [
  // Before anybody may refuse: the record has to be there when the pod goes.
  "record",
  "decision",
] as const;

/** Throws to refuse the pod. */
export type PodMutation = (draft: PodDraft) => void | Promise<void>;

export interface PodStep {
  readonly place: (typeof podStepPlaces)[number];
  /** In metrics and at the end of what a client reads whose pod is refused. */
  readonly name: string;
}

export interface PodGuard {
  readonly place: (typeof podGuardPlaces)[number];
  /** In CEL, about `oldObject.metadata.annotations`: one of them holds for each pod that has to be asked about. */
  readonly ties: readonly string[];
}

/** What asks before a pod is disrupted is made with. */
export interface PodGuardDeps {
  /** Reads; what writes is asked for by the owner for whom it does. */
  client: ReadingClient;
  /** Refuses what is in another namespace than the owner. */
  writesFor(owner: OwnerScope): Writer;
  clock: Clock;
  random: Random;
  options: ControllerOptions;
  /** Records events in the name of a controller. */
  recorderOf(controller: string): EventRecorder;
  /** Counts and audits a refusal. Must not throw. */
  refused(refusal: Refusal): void;
}

export interface PodAdmissionDeps extends PodGuardDeps {
  informers: Informers & { caughtUp(): Promise<void> };
}

/** Step and guard of one controller, which share what they hold. */
export interface StartedPodAdmission {
  /** Made where new pods are admitted (gate PodWebhook). Undefined: the gates leave it nothing to do. */
  mutation?(): PodMutation | undefined;
  /** Absent: the gates leave it nothing to do. */
  guard?: AdmissionHandler | undefined;
}

export interface PodAdmission {
  readonly step?: PodStep;
  readonly guard?: PodGuard;
  /** Once a process, before the watches begin. */
  start(deps: PodAdmissionDeps): StartedPodAdmission;
}

/** What answers the API server's questions about pods; absent where the gates leave nothing to answer. */
export interface PodHandlers {
  readonly mutate?: AdmissionHandler | undefined;
  readonly guard?: AdmissionHandler | undefined;
}

/** Whether this program's own controllers may disrupt the pod. Rejects with KubeError. */
export type DisruptionGuard = (pod: Pod) => Promise<boolean>;
