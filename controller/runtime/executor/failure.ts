/**
 * What the failure of a write means. The same for every effect of every controller:
 *
 * | failure | what happens |
 * |---|---|
 * | `aborted`: this process may no longer write | nothing is reported, and nothing follows |
 * | `race`: somebody else was faster (Conflict, NotFound, AlreadyExists) | not reported; the rest of the pass is dropped and another one follows after 100 ms, unless the effect says that it is as good as done |
 * | `refused`: everything else | the event that the effect has for it is recorded; the rest of the pass is dropped and another one follows after a pause that grows with each failure |
 */
import { isKubeError } from "../../../kube/index.ts";

export type Failure = "aborted" | "race" | "refused";

export function failureOf(error: unknown): Failure {
  if (isKubeError(error, "Aborted")) return "aborted";
  // A namespace that does not exist is no race: that is for people to mend.
  const isRace =
    isKubeError(error, "Conflict", "NotFound", "AlreadyExists") && error.about?.kind !== "namespaces";
  return isRace ? "race" : "refused";
}
