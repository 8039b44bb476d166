/** Defaults that admission writes into a UnitedDeployment. Spec: uniteddeployment 6. */
import { cloneJson, ensureObject, isJsonObject, type JsonObject, own } from "../../kube/core/index.ts";
import { type Defaulting, fill, isSet } from "../fill.ts";
import { member, objectsIn } from "../members.ts";
import { defaultClaimTemplates, defaultTemplateOf, isChanged } from "../pod_templates.ts";

/** A copy with every default; twice changes nothing more. `object`: of either version, with the right types (`unitedDeployment.read`). */
export function defaultUnitedDeployment(object: JsonObject, options: Defaulting): JsonObject {
  const result = cloneJson(object);
  const spec = ensureObject(result, "spec");
  fill(spec, "replicas", 1);
  fill(spec, "revisionHistoryLimit", 10);
  const strategy = ensureObject(spec, "updateStrategy");
  fill(strategy, "type", "Manual");
  if (strategy["type"] === "Manual") ensureObject(strategy, "manualUpdate");
  defaultFloors(objectsIn(member(spec, "topology"), "subsets"));
  defaultTemplate(spec, options);
  return result;
}

/** Once a subset has a floor or a ceiling, and none a fixed share, all have a floor. */
function defaultFloors(subsets: readonly JsonObject[]): void {
  const some = (...keys: string[]) => subsets.some((subset) => keys.some((key) => isSet(subset, key)));
  if (some("replicas") || !some("minReplicas", "maxReplicas")) return;
  for (const subset of subsets) if (!isSet(subset, "minReplicas")) subset["minReplicas"] = 0;
}

/** Of native StatefulSets alone. */
function defaultTemplate(spec: JsonObject, options: Defaulting): void {
  const workload = own(member(member(spec, "template"), "statefulSetTemplate"), "spec");
  if (!options.templateDefaults || !isJsonObject(workload) || !isChanged(spec, "template", options)) return;
  defaultClaimTemplates(workload);
  defaultTemplateOf(workload, options);
}
