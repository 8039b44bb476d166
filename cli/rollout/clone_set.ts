/** CloneSet in either served version. */
import { counted, partitionReplicas } from "../../kube/core/index.ts";
import {
  type AnyObject,
  countAt,
  type Fields,
  fieldsAt,
  intOrStringAt,
  numberAt,
  textAt,
} from "../fields.ts";
import { done, onlyRollingUpdate, type Progress, remark, waiting } from "./progress.ts";

/** Where the rolling parameters live: `spec.updateStrategy`, since v1beta1 one deeper. */
export function cloneSetStrategyPath(apiVersion: string | undefined): readonly string[] {
  const base = ["spec", "updateStrategy"];
  return apiVersion?.endsWith("/v1alpha1") ? base : [...base, "rollingUpdate"];
}

export function cloneSetStrategy(object: AnyObject): Fields {
  return fieldsAt(object, ...cloneSetStrategyPath(object.apiVersion));
}

/** `OnDelete`, `ReCreate`, `InPlaceIfPossible` or `InPlaceOnly`. */
export function cloneSetPolicy(object: AnyObject): string {
  const type = textAt(object, "spec", "updateStrategy", "type");
  if (type === "OnDelete") return type;
  if (object.apiVersion?.endsWith("/v1alpha1")) return type || "ReCreate";
  return textAt(cloneSetStrategy(object), "podUpdatePolicy") || "ReCreate";
}

/** Pods that stay at the old revision. */
export function cloneSetPartition(object: AnyObject): number {
  const replicas = numberAt(object, "spec", "replicas") ?? 1;
  return partitionReplicas(intOrStringAt(cloneSetStrategy(object), "partition"), replicas);
}

/** Spec platform 8, `rollout status`; beyond it, updated pods are waited for until they are ready. */
export function cloneSetProgress(object: AnyObject): Progress {
  const status = fieldsAt(object, "status");
  if ((object.metadata.generation ?? 0) > countAt(status, "observedGeneration")) {
    return waiting("Waiting for CloneSet spec update to be observed...");
  }
  const policy = cloneSetPolicy(object);
  if (policy === "OnDelete") return onlyRollingUpdate;
  const replicas = numberAt(object, "spec", "replicas") ?? 1;
  const partition = cloneSetPartition(object);
  if (policy === "ReCreate" && partition === 0) return recreateProgress(status, replicas);
  const expected = replicas - partition;
  const updated = countAt(status, "updatedReplicas");
  if (updated < expected) {
    return waiting(
      `Waiting for partitioned roll out to finish: ${updated} out of ${expected} new pods have been updated...`,
    );
  }
  const unready = expected - countAt(status, "updatedReadyReplicas");
  if (unready > 0) return remark(`Waiting for ${counted(unready, "pod")} to be ready...`);
  return done(`partitioned roll out complete: ${updated} new pods have been updated...`);
}

function recreateProgress(status: Fields, replicas: number): Progress {
  const revision = textAt(status, "updateRevision") ?? "";
  const unready = replicas - countAt(status, "readyReplicas");
  if (unready > 0) return waiting(`Waiting for ${unready} pods to be ready...`);
  const updated = Math.min(countAt(status, "updatedReadyReplicas"), countAt(status, "updatedReplicas"));
  if (updated < replicas) {
    return waiting(
      `Waiting for CloneSet rolling update to complete ${updated} pods at revision ${revision}...`,
    );
  }
  return done(`CloneSet rolling update complete ${replicas} pods at revision ${revision}...`);
}
