/**
 * What the failure of an effect means. The same for every effect of every controller:
 *
 * | failure | what is told | a pass | a write of a rollout |
 * |---|---|---|---|
 * | `aborted`: this process may no longer write | nothing | ends | ends |
 * | `wait`: a budget does not allow that a pod is disrupted | nothing | — | is tried again after 1 s |
 * | `race`: somebody else was faster (Conflict, NotFound, AlreadyExists) | nothing | is made again after 100 ms; after more in a row later, but within 5 s | is held by its backoff |
 * | `refused`: everything else | the event that the effect has for it; of a rollout also the log, and the part of the status | is made again after the backoff of the queue | is held by its backoff |
 *
 * What came after the effect is dropped. An effect may say that it is as good as done after a race, or that a race is a refusal
 * (`whenRaced`, `existing`). A deletion is done when there is nothing to delete; after a Conflict the object may well be there, since
 * not only another UID is answered with one, but also the refusal of a webhook.
 *
 * The writes of a rollout are in lanes (rollout/writes/actions.ts):
 *
 * | lane | its writes are sent | the backoff of a failed one holds |
 * |---|---|---|
 * | `create` | once some have succeeded, up to 64 at a time; none after a failure | all creations |
 * | `begin` | in turn, up to 64 at a time, while no more pods are out of service than come back in time | all writes of the pod |
 * | `finish` | in turn, up to 64 at a time, with a place in the client's window before those of `begin` | all writes of the pod |
 * | `at once` | at once, but no two of one object | all writes of the object |
 */
import { isKubeError } from "../../../kube/index.ts";
import type { CreateEffect, WriteEffect } from "../../plan/effects.ts";

export type Failure = "aborted" | "wait" | "race" | "refused";

/** A budget does not allow that a pod is disrupted. */
export class BudgetRefusal extends Error {}

export function failureOf(error: unknown): Failure {
  if (isKubeError(error, "Aborted")) return "aborted";
  if (error instanceof BudgetRefusal) return "wait";
  // A namespace that does not exist is no race: that is for people to mend.
  const isRace =
    isKubeError(error, "Conflict", "NotFound", "AlreadyExists") && error.about?.kind !== "namespaces";
  return isRace ? "race" : "refused";
}

interface RaceSettings extends Pick<WriteEffect, "whenRaced">, Pick<CreateEffect, "existing"> {
  readonly type: string;
}

/** The same of an effect, which may say what a race means to it. `done`: it is as good as carried out. */
export function failureIn(effect: RaceSettings, error: unknown): Failure | "done" {
  const failure = failureOf(error);
  if (failure !== "race") return failure;
  const { type, existing, whenRaced = "retry" } = effect;
  if (existing === "unread" && isThere(error)) return "done";
  // Somebody else has deleted what was to be deleted.
  if (type === "delete" && whenRaced === "retry" && isKubeError(error, "NotFound")) return "done";
  switch (whenRaced) {
    case "retry":
      return "race";
    case "ignore":
      return "done";
    case "report":
      return "refused";
  }
}

function isThere(error: unknown): boolean {
  return isKubeError(error, "AlreadyExists") && !error.message.includes("being deleted");
}
