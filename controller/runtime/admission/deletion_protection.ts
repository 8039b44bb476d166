/** The label that keeps an object, and what is below it, from being deleted. Spec: protection, part B. */
import { type JsonObject, own } from "../../../kube/core/index.ts";
import { messageOf } from "../../../kube/index.ts";
import { objectAt, objectsAt } from "../../native/json_fields.ts";
import type { FeatureGates } from "../feature_gates.ts";
import {
  type AdmissionHandler,
  type AdmissionRequest,
  type AdmissionResponse,
  allowed,
  denied,
} from "./request.ts";

export const deletionProtectionLabel = "policy.kruise.io/delete-protection";
const words = "forbidden by ResourcesProtectionDeletion for";

/** What is below a namespace or a definition. Each throws KubeError. */
export interface ProtectedContent {
  /** Pods that are neither finished nor being deleted. */
  activePods(namespace: string): Promise<number>;
  /** Claims that are bound and not being deleted. */
  boundClaims(namespace: string): Promise<number>;
  /** Objects of a kind, in all namespaces, that are not being deleted. */
  objects(kind: CustomKind): Promise<number>;
}

export interface CustomKind {
  group: string;
  version: string;
  plural: string;
  kind: string;
  namespaced: boolean;
}

/** Refuses the deletion of a workload labelled `Always`, or `Cascading` while it is to have replicas. */
export function protectReplicas(request: AdmissionRequest): AdmissionResponse {
  const policy = policyOf(request);
  if (policy !== "Cascading") return protectAlways(request);
  const replicas = objectAt(request.oldObject ?? {}, "spec")["replicas"];
  return typeof replicas === "number" && replicas > 0 ? cascading(`replicas ${replicas}>0`) : allowed;
}

/** The handler of a workload: deletions are protected where gate ResourcesDeletionProtection is on; `written` answers the rest. */
export function withProtectedReplicas(gates: FeatureGates, written: AdmissionHandler): AdmissionHandler {
  return (request) => {
    if (request.operation !== "DELETE") return written(request);
    return gates.ResourcesDeletionProtection ? protectReplicas(request) : allowed;
  };
}

/** Refuses the deletion of an object labelled `Always`; `Cascading` means nothing for it. */
export function protectAlways(request: AdmissionRequest): AdmissionResponse {
  if (policyOf(request) !== "Always") return allowed;
  return denied(403, `${words} ${deletionProtectionLabel}=Always`);
}

/** Pods are counted before claims. */
export function protectNamespace(content: ProtectedContent): AdmissionHandler {
  return async (request) => {
    if (policyOf(request) !== "Cascading") return protectAlways(request);
    const namespace = nameOf(request);
    const pods = await counted("list pods", () => content.activePods(namespace));
    if (typeof pods !== "number") return pods;
    if (pods > 0) return cascading(`active pods ${pods}>0`);
    const claims = await counted("list pvc", () => content.boundClaims(namespace));
    if (typeof claims !== "number") return claims;
    return claims > 0 ? cascading(`"Bound" status pvc ${claims}>0`) : allowed;
  };
}

/** `cascading` is gate DeletionProtectionForCRDCascadingGate: without it such a definition cannot be deleted at all. */
export function protectDefinition(
  content: Pick<ProtectedContent, "objects">,
  options: { cascading: boolean },
): AdmissionHandler {
  return async (request) => {
    if (policyOf(request) !== "Cascading") return protectAlways(request);
    if (!options.cascading) {
      return denied(403, "feature-gate DeletionProtectionForCRDCascadingGate is not enabled");
    }
    const kind = storedKind(request.oldObject ?? {});
    const { group, version, kind: name } = kind;
    let found: number;
    try {
      found = await content.objects(kind);
    } catch (error) {
      return denied(403, `failed to list CRs of ${group}/${version}, Kind=${name}: ${messageOf(error)}`);
    }
    return found > 0 ? cascading(`active CRs ${found}>0`) : allowed;
  };
}

/**
 * Tells of every refused deletion and leaves all else to the handler: for kinds whose deletion is refused only by their
 * label.
 */
export function reportingRefusals(
  handler: AdmissionHandler,
  refused: (request: AdmissionRequest) => void,
): AdmissionHandler {
  return async (request) => {
    const answer = await handler(request);
    if (request.operation === "DELETE" && !answer.allowed) refused(request);
    return answer;
  };
}

/** The label of an object that is about to be deleted; undefined for everything else. */
function policyOf({ operation, subresource, oldObject }: AdmissionRequest): unknown {
  if (operation !== "DELETE" || subresource !== "" || oldObject === undefined) return undefined;
  const metadata = objectAt(oldObject, "metadata");
  // It is on its way out already.
  if (own(metadata, "deletionTimestamp")) return undefined;
  return own(objectAt(metadata, "labels"), deletionProtectionLabel);
}

function cascading(why: string): AdmissionResponse {
  return denied(403, `${words} ${deletionProtectionLabel}=Cascading and ${why}`);
}

async function counted(what: string, count: () => Promise<number>): Promise<number | AdmissionResponse> {
  try {
    return await count();
  } catch (error) {
    return denied(403, `${words} ${what} error: ${messageOf(error)}`);
  }
}

function nameOf({ name, oldObject }: AdmissionRequest): string {
  const own = objectAt(oldObject ?? {}, "metadata")["name"];
  return typeof own === "string" ? own : name;
}

/** What a definition (v1 or v1beta1) stores. */
function storedKind(definition: JsonObject): CustomKind {
  const spec = objectAt(definition, "spec");
  const names = objectAt(spec, "names");
  const stored = objectsAt(spec, "versions").find((version) => version["storage"] === true);
  return {
    group: String(spec["group"] ?? ""),
    version: String(stored?.["name"] ?? spec["version"] ?? ""),
    plural: String(names["plural"] ?? ""),
    kind: String(names["kind"] ?? ""),
    namespaced: spec["scope"] === "Namespaced",
  };
}
