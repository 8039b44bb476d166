/** Defaults that admission writes into a CloneSet. Spec: cloneset 6. */
import { cloneJson, ensureObject, type JsonObject } from "../../kube/core/index.ts";
import { type Defaulting, fill } from "../fill.ts";
import { defaultClaimTemplates, defaultTemplateOf, isChanged } from "../pod_templates.ts";

const inPlacePolicies: readonly unknown[] = ["InPlaceIfPossible", "InPlaceOnly"];

/**
 * A copy of the object, of either version, with every default filled in; applying it twice changes nothing more.
 * The object must have the right types (see `cloneSet.read`).
 */
export function defaultCloneSet(object: JsonObject, options: Defaulting): JsonObject {
  const result = cloneJson(object);
  const spec = ensureObject(result, "spec");
  fill(spec, "replicas", 1);
  fill(spec, "revisionHistoryLimit", 10);
  // Always there, so that a JSON patch can add to it.
  ensureObject(spec, "scaleStrategy");
  const strategy = ensureObject(spec, "updateStrategy");
  if (result["apiVersion"] === "apps.kruise.io/v1alpha1") {
    fill(strategy, "type", "ReCreate");
    defaultRollout(strategy, strategy["type"]);
  } else {
    fill(strategy, "type", "RollingUpdate");
    if (strategy["type"] === "RollingUpdate") {
      const rollingUpdate = ensureObject(strategy, "rollingUpdate");
      fill(rollingUpdate, "podUpdatePolicy", "ReCreate");
      defaultRollout(rollingUpdate, rollingUpdate["podUpdatePolicy"]);
    }
  }
  if (options.templateDefaults) defaultTemplates(spec, options);
  return result;
}

function defaultTemplates(spec: JsonObject, options: Defaulting): void {
  const isNewTemplate = isChanged(spec, "template", options);
  if (isNewTemplate) defaultTemplateOf(spec, options);
  if (isNewTemplate || isChanged(spec, "volumeClaimTemplates", options)) defaultClaimTemplates(spec);
}

function defaultRollout(rollout: JsonObject, policy: unknown): void {
  if (inPlacePolicies.includes(policy)) ensureObject(rollout, "inPlaceUpdateStrategy");
  fill(rollout, "partition", 0);
  fill(rollout, "maxUnavailable", "20%");
  fill(rollout, "maxSurge", 0);
}
