/** Deployment, in kubectl's words. */
import { type AnyObject, conditionOf, countAt, fieldsAt, numberAt, textAt } from "../fields.ts";
import { done, failed, type Progress, waiting } from "./progress.ts";

export function deploymentProgress(object: AnyObject): Progress {
  const status = fieldsAt(object, "status");
  const name = object.metadata.name ?? "";
  if ((object.metadata.generation ?? 0) > countAt(status, "observedGeneration")) {
    return waiting("Waiting for deployment spec update to be observed...");
  }
  if (textAt(conditionOf(object, "Progressing"), "reason") === "ProgressDeadlineExceeded") {
    return failed(`deployment "${name}" exceeded its progress deadline`);
  }
  const prefix = `Waiting for deployment "${name}" rollout to finish:`;
  const replicas = numberAt(object, "spec", "replicas") ?? 1;
  const updated = countAt(status, "updatedReplicas");
  if (updated < replicas) {
    return waiting(`${prefix} ${updated} out of ${replicas} new replicas have been updated...`);
  }
  const old = countAt(status, "replicas") - updated;
  if (old > 0) return waiting(`${prefix} ${old} old replicas are pending termination...`);
  const available = countAt(status, "availableReplicas");
  if (available < updated) {
    return waiting(`${prefix} ${available} of ${updated} updated replicas are available...`);
  }
  return done(`deployment "${name}" successfully rolled out`);
}
