/** UnitedDeployment: how far its subsets are, all together. */
import { type AnyObject, countAt, fieldsAt, listAt, numberAt, textAt } from "../fields.ts";
import { done, type Progress, waiting } from "./progress.ts";

export function unitedDeploymentProgress(object: AnyObject): Progress {
  const status = fieldsAt(object, "status");
  if ((object.metadata.generation ?? 0) > countAt(status, "observedGeneration"))
    return waiting("Waiting for united deployment spec update to be observed...");
  const name = object.metadata.name ?? "";
  const subsets = listAt(status, "subsetStatuses");
  const total = (member: string) => subsets.reduce<number>((sum, subset) => sum + countAt(subset, member), 0);
  const desired = subsets.length > 0 ? total("replicas") : (numberAt(object, "spec", "replicas") ?? 1);
  const expected = Math.max(0, desired - total("partition"));
  const updated = countAt(status, "updatedReplicas");
  const prefix = `Waiting for united deployment "${name}" rollout to finish:`;
  if (updated < expected)
    return waiting(`${prefix} ${updated} out of ${expected} new pods have been updated...`);
  const old = countAt(status, "replicas") - desired - countAt(status, "reservedPods");
  if (old > 0) return waiting(`${prefix} ${old} old pods are pending termination...`);
  const ready = countAt(status, "updatedReadyReplicas");
  if (ready < expected) return waiting(`${prefix} ${ready} of ${expected} updated pods are ready...`);
  if (updated < desired)
    return done(`partitioned roll out complete: ${updated} new pods have been updated...`);
  return done(`united deployment "${name}" successfully rolled out`);
}

/** Of the newest template: v1alpha1 has it elsewhere. */
export function updatedRevisionOf(object: AnyObject): string {
  const status = fieldsAt(object, "status");
  return textAt(status, "updatedRevision") ?? textAt(status, "updateStatus", "updatedRevision") ?? "";
}
