/** The admission plugins Priority and RuntimeClass: the classes that a new pod names exist. */
import type { StoredObject } from "../cluster.ts";
import { forbidden } from "../http/api_error.ts";
import { textAt } from "../json.ts";
import type { Registry } from "../resources/registry.ts";
import type { WriteRequest } from "../writes/request.ts";

/** Every cluster has them. */
const systemClasses = ["system-node-critical", "system-cluster-critical"];

/** Throws 403, in the server's words. */
export function checkPodClasses(registry: Registry, request: WriteRequest, pod: StoredObject): void {
  if (request.served.resource.name !== "pods" || request.subresource !== "") return;
  const exists = (resource: string, name: string): boolean =>
    registry.resource(resource)?.table.get("", name) !== undefined;
  const refuse = (why: string): never => {
    throw forbidden(request.served, pod.metadata.name ?? "", why);
  };
  const priority = textAt(pod, "spec", "priorityClassName") ?? "";
  const isKnown = priority === "" || systemClasses.includes(priority);
  if (!isKnown && !exists("priorityclasses.scheduling.k8s.io", priority))
    refuse(`no PriorityClass with name ${priority} was found`);
  const runtime = textAt(pod, "spec", "runtimeClassName") ?? "";
  if (runtime !== "" && !exists("runtimeclasses.node.k8s.io", runtime))
    refuse(`pod rejected: RuntimeClass "${runtime}" not found`);
}
