/** Defaults that admission writes into a CloneSet. Spec: cloneset 6. */
import { cloneJson, ensureObject, type JsonObject, jsonEqual, own } from "../../kube/core/index.ts";
import { type Defaulting, fill } from "../fill.ts";
import { member } from "../members.ts";
import { defaultClaimTemplates, defaultTemplateOf, isChanged } from "../pod_templates.ts";

const rolloutDefaults: JsonObject = {
  inPlaceUpdateStrategy: {},
  partition: 0,
  maxUnavailable: "20%",
  maxSurge: 0,
};
const inPlacePolicies: readonly unknown[] = ["InPlaceIfPossible", "InPlaceOnly"];

/** A copy with every default; twice changes nothing more. `object`: of either version, with the right types (`cloneSet.read`). */
export function defaultCloneSet(object: JsonObject, options: Defaulting): JsonObject {
  const result = cloneJson(object);
  const spec = ensureObject(result, "spec");
  fill(spec, "replicas", 1);
  fill(spec, "revisionHistoryLimit", 10);
  // Always there, so that a JSON patch can add to it.
  ensureObject(spec, "scaleStrategy");
  const strategy = ensureObject(spec, "updateStrategy");
  const stored = member(member(options.old ?? {}, "spec"), "updateStrategy");
  if (result["apiVersion"] === "apps.kruise.io/v1alpha1") {
    fill(strategy, "type", "ReCreate");
    defaultRollout(strategy, "type", stored);
  } else {
    fill(strategy, "type", "RollingUpdate");
    if (strategy["type"] === "RollingUpdate") {
      const rollingUpdate = ensureObject(strategy, "rollingUpdate");
      fill(rollingUpdate, "podUpdatePolicy", "ReCreate");
      defaultRollout(rollingUpdate, "podUpdatePolicy", member(stored, "rollingUpdate"));
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

/**
 * `stored` shows no settings that a conversion does not carry (cloneset 2, end): an empty `inPlaceUpdateStrategy`, all of the type OnDelete.
 * Were they filled in again, each write of an unchanged object would give it a new generation; so their defaults are left out.
 */
function defaultRollout(rollout: JsonObject, policyField: string, stored: JsonObject): void {
  const policy = rollout[policyField];
  const isShown = own(stored, policyField) === policy;
  for (const [field, value] of Object.entries(rolloutDefaults)) {
    const isInPlace = field === "inPlaceUpdateStrategy";
    const isLost = isInPlace || policy === "OnDelete";
    if (isLost && isShown && own(stored, field) === undefined) {
      if (jsonEqual(own(rollout, field), value)) delete rollout[field];
    } else if (!isInPlace || inPlacePolicies.includes(policy))
      fill(rollout, field, cloneJson<unknown>(value));
  }
}
