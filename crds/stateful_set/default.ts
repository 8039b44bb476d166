/** Defaults that admission writes into a StatefulSet. Spec: statefulset 2, 6. */
import {
  cloneJson,
  defaultPodTemplate,
  ensureObject,
  isJsonObject,
  type JsonObject,
  jsonEqual,
  own,
} from "../../kube/core/index.ts";
import { type Defaulting, fill } from "../fill.ts";

export interface StatefulSetDefaulting extends Defaulting {
  /** Gate StatefulSetAutoDeletePVC. */
  deletesClaims: boolean;
  /** Gate StatefulSetAutoResizePVCGate. */
  resizesClaims: boolean;
}

/**
 * A copy of the object, of either version, with every default filled in; applying it twice changes nothing more.
 * The object must have the right types (see `statefulSet.read`).
 */
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
  const claims = own(spec, "volumeClaimTemplates");
  if (Array.isArray(claims)) for (const claim of claims) defaultClaimStatus(claim);
  defaultTemplate(spec, options);
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

/** As the API server shows claims that are not bound. */
function defaultClaimStatus(claim: unknown): void {
  if (isJsonObject(claim)) fill(ensureObject(claim, "status"), "phase", "Pending");
}

/** Only for new objects and changed templates, so that an upgrade of this program moves no revision by itself. */
function defaultTemplate(spec: JsonObject, options: StatefulSetDefaulting): void {
  const template = own(spec, "template");
  if (!options.templateDefaults || !isJsonObject(template)) return;
  const before = options.old === undefined ? undefined : own(options.old, "spec");
  if (isJsonObject(before) && jsonEqual(own(before, "template"), template)) return;
  spec["template"] = defaultPodTemplate(template, {
    imagePullPolicy: "Always",
    hostNetworkPorts: options.hostNetworkPorts,
  });
}
