/** DaemonSet, built-in and advanced: kubectl's words; the advanced kind may keep pods back by partition. */
import { scaledValue } from "../../kube/core/index.ts";
import { type AnyObject, countAt, fieldsAt, intOrStringAt, textAt } from "../fields.ts";
import { done, onlyRollingUpdate, type Progress, waiting } from "./progress.ts";

export function daemonSetProgress(object: AnyObject): Progress {
  if (textAt(object, "spec", "updateStrategy", "type") === "OnDelete") return onlyRollingUpdate;
  const status = fieldsAt(object, "status");
  if ((object.metadata.generation ?? 0) > countAt(status, "observedGeneration")) {
    return waiting("Waiting for daemon set spec update to be observed...");
  }
  const name = object.metadata.name ?? "";
  const desired = countAt(status, "desiredNumberScheduled");
  const partition = scaledValue(partitionOf(object), desired, false);
  const expected = Math.max(0, desired - partition);
  const updated = countAt(status, "updatedNumberScheduled");
  const prefix = `Waiting for daemon set "${name}" rollout to finish:`;
  if (updated < expected)
    return waiting(`${prefix} ${updated} out of ${expected} new pods have been updated...`);
  const available = countAt(status, "numberAvailable");
  if (available < desired)
    return waiting(`${prefix} ${available} of ${desired} updated pods are available...`);
  return done(`daemon set "${name}" successfully rolled out`);
}

const partitionOf = (object: AnyObject) =>
  intOrStringAt(object, "spec", "updateStrategy", "rollingUpdate", "partition") ?? 0;
