/** SidecarSet: how far its sidecars are in the pods that carry them. */
import { partitionReplicas } from "../../kube/core/index.ts";
import { type AnyObject, countAt, fieldsAt, intOrStringAt, textAt } from "../fields.ts";
import { done, onlyRollingUpdate, type Progress, waiting } from "./progress.ts";

/** The status counts the pods that are waited for: `selected_sidecars.ts` leaves out those that a selector does. */
export function sidecarSetProgress(object: AnyObject): Progress {
  if (textAt(object, "spec", "updateStrategy", "type") === "NotUpdate") return onlyRollingUpdate;
  const status = fieldsAt(object, "status");
  if ((object.metadata.generation ?? 0) > countAt(status, "observedGeneration"))
    return waiting("Waiting for sidecar set spec update to be observed...");
  const name = object.metadata.name ?? "";
  const matched = countAt(status, "matchedPods");
  const partition = intOrStringAt(object, "spec", "updateStrategy", "partition");
  const expected = Math.max(0, matched - partitionReplicas(partition, matched));
  const updated = countAt(status, "updatedPods");
  const prefix = `Waiting for sidecar set "${name}" rollout to finish:`;
  if (updated < expected) return waiting(`${prefix} ${updated} out of ${expected} pods have been updated...`);
  const ready = countAt(status, "updatedReadyPods");
  if (ready < expected) return waiting(`${prefix} ${ready} of ${expected} updated pods are ready...`);
  return done(`sidecar set "${name}" successfully rolled out`);
}
