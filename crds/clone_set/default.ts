/** Defaults that admission writes into a CloneSet. Spec: cloneset 6. */
import {
  cloneJson,
  ensureObject,
  isJsonObject,
  type JsonObject,
  jsonEqual,
  own,
} from "../../kube/core/index.ts";
import { type Defaulting, fill } from "../fill.ts";
import { defaultClaimTemplates, defaultTemplate } from "./template.ts";

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

/** Only for new objects and changed templates, so that an upgrade of this program moves no revision by itself. */
function defaultTemplates(spec: JsonObject, options: Defaulting): void {
  const before = options.old === undefined ? undefined : own(options.old, "spec");
  const changed = (field: string) =>
    !isJsonObject(before) || !jsonEqual(own(before, field), own(spec, field));
  const template = own(spec, "template");
  const claims = own(spec, "volumeClaimTemplates");
  const templateChanged = changed("template");
  if (templateChanged && isJsonObject(template)) spec["template"] = defaultTemplate(template, options);
  if ((templateChanged || changed("volumeClaimTemplates")) && Array.isArray(claims))
    defaultClaimTemplates(claims);
}

function defaultRollout(rollout: JsonObject, policy: unknown): void {
  if (inPlacePolicies.includes(policy)) ensureObject(rollout, "inPlaceUpdateStrategy");
  fill(rollout, "partition", 0);
  fill(rollout, "maxUnavailable", "20%");
  fill(rollout, "maxSurge", 0);
}
