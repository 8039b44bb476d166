/**
 * Whether a ContainerRecreateRequest is one. A server with this project's definitions stores nothing else; one that was
 * stored before a definition had its schema may hold anything, and must not hold up the others. Pure.
 */
import type { ContainerRecreateRequest } from "../../crds/index.ts";
import { isJsonObject } from "../../kube/core/index.ts";

/** What the controller labels a request with, so that agents find theirs. */
export const requestLabels = {
  node: "crr.apps.kruise.io/node-name",
  active: "crr.apps.kruise.io/active",
  podUid: "crr.apps.kruise.io/pod-uid",
} as const;

/** Empty when the request names none. */
export function podNameOf(request: ContainerRecreateRequest): string {
  const spec: unknown = request.spec;
  return isJsonObject(spec) && typeof spec["podName"] === "string" ? spec["podName"] : "";
}

/** What of it cannot be read, `spec.containers[0].name is not a text`; undefined when all can. */
export function unreadablePart(request: ContainerRecreateRequest): string | undefined {
  const spec: unknown = request.spec;
  if (!isJsonObject(spec)) return "spec is not an object";
  if (podNameOf(request) === "") return "spec.podName is not the name of a pod";
  if (!isOptional(spec["strategy"], isJsonObject)) return "spec.strategy is not an object";
  const { containers } = spec;
  if (!Array.isArray(containers)) return "spec.containers is not a list";
  for (const [index, container] of containers.entries()) {
    const wrong = unreadableContainer(container);
    if (wrong !== undefined) return `spec.containers[${index}]${wrong}`;
  }
  return unreadableStatus(request.status);
}

function unreadableContainer(container: unknown): string | undefined {
  if (!isJsonObject(container)) return " is not an object";
  if (typeof container["name"] !== "string") return ".name is not a text";
  const { statusContext, ports } = container;
  if (!isOptional(ports, isObjects)) return ".ports is not a list of objects";
  const isContext = (value: unknown): boolean =>
    isJsonObject(value) && isOptional(value["containerID"], (id) => typeof id === "string");
  return isOptional(statusContext, isContext) ? undefined : ".statusContext is not a container's";
}

function unreadableStatus(status: unknown): string | undefined {
  if (!isOptional(status, isJsonObject)) return "status is not an object";
  for (const name of ["containerRecreateStates", "containerStatusSnapshot", "conditions"]) {
    const list = isJsonObject(status) ? status[name] : undefined;
    if (!isOptional(list, isObjects)) return `status.${name} is not a list of objects`;
  }
  return undefined;
}

function isObjects(value: unknown): boolean {
  return Array.isArray(value) && value.every(isJsonObject);
}

function isOptional(value: unknown, is: (value: unknown) => boolean): boolean {
  return value === undefined || value === null || is(value);
}
