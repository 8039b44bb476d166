/** Defaults that admission writes into a DaemonSet. The template stays as written. Spec: daemonset 2, 6. */
import { cloneJson, ensureObject, type JsonObject } from "../../kube/core/index.ts";
import { fill, isSet } from "../fill.ts";

/** A copy with every default; twice changes nothing more. `object`: of either version, with the right types (`daemonSet.read`). */
export function defaultDaemonSet(object: JsonObject): JsonObject {
  const result = cloneJson(object);
  const spec = ensureObject(result, "spec");
  fill(spec, "burstReplicas", 250);
  fill(spec, "revisionHistoryLimit", 10);
  const strategy = ensureObject(spec, "updateStrategy");
  fill(strategy, "type", "RollingUpdate");
  if (strategy["type"] === "RollingUpdate") {
    const rolling = ensureObject(strategy, "rollingUpdate");
    if (result["apiVersion"] === "apps.kruise.io/v1alpha1") replaceSurging(rolling);
    defaultRollingUpdate(rolling);
  }
  return result;
}

/** The former name for a surge: stored as the two numbers that say the same (spec daemonset 6.2). */
function replaceSurging(rolling: JsonObject): void {
  if (rolling["rollingUpdateType"] !== "Surging") return;
  rolling["rollingUpdateType"] = "Standard";
  fill(rolling, "maxSurge", 1);
  fill(rolling, "maxUnavailable", 0);
}

function defaultRollingUpdate(rolling: JsonObject): void {
  fill(rolling, "rollingUpdateType", "Standard");
  if (isSet(rolling, "maxUnavailable") || isSet(rolling, "maxSurge")) return;
  rolling["maxUnavailable"] = 1;
  rolling["maxSurge"] = 0;
}
