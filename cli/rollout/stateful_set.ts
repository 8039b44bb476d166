/** StatefulSet: the advanced kind of `apps.kruise.io` and the built-in one differ in words only. */
import { scaledValue } from "../../kube/core/index.ts";
import { type AnyObject, countAt, fieldsAt, intOrStringAt, numberAt, textAt } from "../fields.ts";
import { done, onlyRollingUpdate, type Progress, waiting } from "./progress.ts";

interface Words {
  /** Space before the first number: the advanced kind has none. */
  readonly space: string;
  readonly verb: string;
  readonly complete: string;
}

const advanced: Words = { space: "", verb: "has", complete: "Advanced StatefulSet rolling update complete" };
const builtin: Words = { space: " ", verb: "have", complete: "statefulset rolling update complete" };

export const advancedStatefulSetProgress = (object: AnyObject): Progress => progress(object, advanced);
export const statefulSetProgress = (object: AnyObject): Progress => progress(object, builtin);

function progress(object: AnyObject, words: Words): Progress {
  const status = fieldsAt(object, "status");
  if (textAt(object, "spec", "updateStrategy", "type") === "OnDelete") return onlyRollingUpdate;
  const observed = countAt(status, "observedGeneration");
  if (observed === 0 || (object.metadata.generation ?? 0) > observed) {
    return waiting("Waiting for statefulset spec update to be observed...");
  }
  const replicas = numberAt(object, "spec", "replicas") ?? 1;
  const unready = replicas - countAt(status, "readyReplicas");
  const partition = scaledValue(partitionOf(object), replicas, true);
  const expected = Math.max(0, replicas - partition);
  const updated = countAt(status, "updatedReplicas");
  if (updated < expected) {
    return waiting(
      `Waiting for partitioned roll out to finish:${words.space}${updated} out of ${expected} new pods ${words.verb} been updated...`,
    );
  }
  if (unready > 0) return waiting(`Waiting for ${unready} pods to be ready...`);
  if (partition > 0) return done(`partitioned roll out complete: ${updated} new pods have been updated...`);
  return done(`${words.complete} ${updated} pods at revision ${textAt(status, "updateRevision") ?? ""}...`);
}

const partitionOf = (object: AnyObject) =>
  intOrStringAt(object, "spec", "updateStrategy", "rollingUpdate", "partition") ?? 0;
