/** The label that keeps a workload from being deleted. Spec: statefulset 6, end; protection 4. */
import { isJsonObject, type JsonObject, own } from "../../kube/core/index.ts";
import { type AdmissionRequest, type AdmissionResponse, allowed, denied } from "./request.ts";

const LABEL = "policy.kruise.io/delete-protection";

/** Refuses the deletion of a workload labelled `Always`, or `Cascading` while it has replicas. */
export function protectReplicas(request: AdmissionRequest): AdmissionResponse {
  const object = request.oldObject;
  if (object === undefined) return allowed;
  const policy = own(member(member(object, "metadata"), "labels"), LABEL);
  const words = `forbidden by ResourcesProtectionDeletion for ${LABEL}=`;
  if (policy === "Always") return denied(403, `${words}Always`);
  const replicas = member(object, "spec")["replicas"];
  if (policy === "Cascading" && typeof replicas === "number" && replicas > 0) {
    return denied(403, `${words}Cascading and replicas ${replicas}>0`);
  }
  return allowed;
}

function member(object: JsonObject, key: string): JsonObject {
  const value = own(object, key);
  return isJsonObject(value) ? value : {};
}
