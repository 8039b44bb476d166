/** Defaults that admission writes into a StatefulSet. Spec: statefulset 2, 6. */
import { cloneJson, ensureObject, type JsonObject } from "../../kube/core/index.ts";
import { type Defaulting, fill } from "../fill.ts";
import { defaultClaimTemplates, defaultTemplateOf, isChanged } from "../pod_templates.ts";

export interface StatefulSetDefaulting extends Defaulting {
  /** Gate StatefulSetAutoDeletePVC. */
  deletesClaims: boolean;
  /** Gate StatefulSetAutoResizePVCGate. */
  resizesClaims: boolean;
}

/** A copy with every default; twice changes nothing more. `object`: of either version, with the right types (`statefulSet.read`). */
export function defaultStatefulSet(object: JsonObject, options: StatefulSetDefaulting): JsonObject {
  const result = cloneJson(object);
  const spec = ensureObject(result, "spec");
  fill(spec, "replicas", 1);
  fill(spec, "podManagementPolicy", "OrderedReady");
  fill(spec, "revisionHistoryLimit", 10);
  const strategy = ensureObject(spec, "updateStrategy");
  fill(strategy, "type", "RollingUpdate");
  if (strategy["type"] === "RollingUpdate") defaultRollingUpdate(ensureObject(strategy, "rollingUpdate"));
  if (result["apiVersion"] === "apps.kruise.io/v1beta1") defaultClaimStrategies(spec, options);
  defaultClaimTemplates(spec);
  if (isChanged(spec, "template", options)) defaultTemplateOf(spec, options);
  return result;
}

function defaultRollingUpdate(rolling: JsonObject): void {
  fill(rolling, "partition", 0);
  fill(rolling, "maxUnavailable", 1);
  fill(rolling, "podUpdatePolicy", "ReCreate");
  fill(rolling, "minReadySeconds", 0);
}

function defaultClaimStrategies(spec: JsonObject, options: StatefulSetDefaulting): void {
  const update = ensureObject(spec, "volumeClaimUpdateStrategy");
  if (options.resizesClaims) fill(update, "type", "OnDelete");
  if (!options.deletesClaims) return;
  const retention = ensureObject(spec, "persistentVolumeClaimRetentionPolicy");
  fill(retention, "whenDeleted", "Retain");
  fill(retention, "whenScaled", "Retain");
}
