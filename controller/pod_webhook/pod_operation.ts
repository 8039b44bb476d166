/** Which operation on a pod a request is, and on which pod, for those who guard pods. Spec: protection A4, rules 11, 12, 20. */
import { hasUnavailableLabel } from "../../crds/index.ts";
import { isJsonObject, type JsonObject, jsonEqual, own, podQos } from "../../kube/core/index.ts";
import { type Pod, podResource, type ReadingClient } from "../../kube/index.ts";
import { objectAt, objectsAt } from "../native/json_fields.ts";
import type { AdmissionRequest } from "../runtime/admission/request.ts";

export type PodOperation = "DELETE" | "UPDATE" | "EVICT" | "RESIZE";

/** Undefined for what no guard is asked about: other subresources, changes of metadata and status. */
export function operationOf(request: AdmissionRequest): PodOperation | undefined {
  const { operation, resource, subresource, object, oldObject } = request;
  if (resource !== "pods") return undefined;
  if (subresource === "eviction") return operation === "CREATE" ? "EVICT" : undefined;
  if (subresource !== "") return undefined;
  if (operation === "DELETE") return oldObject === undefined ? undefined : "DELETE";
  if (operation !== "UPDATE" || object === undefined || oldObject === undefined) return undefined;
  const becomesUnavailable =
    !hasUnavailableLabel(labelsOf(oldObject)) && hasUnavailableLabel(labelsOf(object));
  const [before, after] = [objectAt(oldObject, "spec"), objectAt(object, "spec")];
  if (!becomesUnavailable && jsonEqual(before, after)) return undefined;
  return !becomesUnavailable && isResize(object, before, after) ? "RESIZE" : "UPDATE";
}

/** As it was before the operation. Throws KubeError. */
export async function podOf(
  request: AdmissionRequest,
  operation: PodOperation,
  client: ReadingClient,
): Promise<Pod> {
  const { namespace, name, oldObject } = request;
  if (operation === "EVICT" || oldObject === undefined) return client.get(podResource, { namespace, name });
  const pod = { ...oldObject, apiVersion: "v1", kind: "Pod" };
  return podResource.codec.decode(Buffer.from(JSON.stringify(pod)), "application/json");
}

/** An eviction carries its options in its body, too. */
export function isDryRun({ dryRun, object }: AdmissionRequest): boolean {
  const options: JsonObject = isJsonObject(object) ? objectAt(object, "deleteOptions") : {};
  const listed = own(options, "dryRun");
  return dryRun || (Array.isArray(listed) && listed.includes("All"));
}

function isResize(newPod: JsonObject, before: JsonObject, after: JsonObject): boolean {
  if (isStatic(newPod) || !jsonEqual(withoutResources(before), withoutResources(after))) return false;
  if (podQos(before) !== podQos(after)) return false;
  const containers = objectsAt(after, "containers");
  return objectsAt(before, "containers").every((container, index) =>
    resizesInPlace(container, containers[index] ?? {}),
  );
}

/** Every changed amount is of cpu or memory, and its change restarts nothing. */
function resizesInPlace(before: JsonObject, after: JsonObject): boolean {
  const [old, next] = [objectAt(before, "resources"), objectAt(after, "resources")];
  const policies = own(after, "resizePolicy");
  const restarts = new Set(
    (Array.isArray(policies) ? policies.filter(isJsonObject) : [])
      .filter(({ restartPolicy }) => restartPolicy && restartPolicy !== "NotRequired")
      .map(({ resourceName }) => resourceName),
  );
  return ["limits", "requests"].every((kind) => {
    const [from, to] = [objectAt(old, kind), objectAt(next, kind)];
    const changed = [...new Set([...Object.keys(from), ...Object.keys(to)])].filter(
      (name) => from[name] !== to[name],
    );
    return changed.every((name) => (name === "cpu" || name === "memory") && !restarts.has(name));
  });
}

function withoutResources(spec: JsonObject): JsonObject {
  const containers = objectsAt(spec, "containers").map(({ resources: _, ...container }) => container);
  return { ...spec, containers };
}

function isStatic(pod: JsonObject): boolean {
  const source = objectAt(objectAt(pod, "metadata"), "annotations")["kubernetes.io/config.source"];
  return typeof source === "string" && source !== "" && source !== "api";
}

function labelsOf(pod: JsonObject): Record<string, string> {
  const labels = objectAt(objectAt(pod, "metadata"), "labels");
  return Object.fromEntries(Object.entries(labels).map(([key, value]) => [key, String(value)]));
}
