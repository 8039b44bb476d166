/** Defaults of pod templates and pods. Spec: cloneset 6. */
import { cloneJson, ensureObject, isJsonObject, type JsonObject } from "../json.ts";
import { podQos } from "../qos.ts";
import {
  defaultContainer,
  hostPorts,
  requestsFromLimits,
  roundAmounts,
  roundResources,
  setDefault,
  setMissing,
} from "./container_defaults.ts";
import { flagAt, has, listAt, objectAt, objectsAt, textAt } from "./fields.ts";
import { aggregateResources } from "./pod_resources.ts";
import { defaultVolume } from "./volume_defaults.ts";

export interface TemplateDefaultOptions {
  /** Pull policy of containers without one: `Always` (default), or by the image's tag as Kubernetes does it. */
  imagePullPolicy?: "Always" | "ByTag";
  /** Sets hostPort := containerPort for pods on the host's network (gate `DefaultHostNetworkHostPortsInPodTemplates`). */
  hostNetworkPorts?: boolean;
}

/** A copy of the template with the Kubernetes defaults filled in, as admission of the workload kinds does it. */
export function defaultPodTemplate(template: object, options: TemplateDefaultOptions = {}): JsonObject {
  const { copy, spec } = copied(template);
  defaultSpec(spec, (options.imagePullPolicy ?? "Always") === "Always");
  if (options.hostNetworkPorts && flagAt(spec, "hostNetwork")) defaultHostPorts(spec);
  return copy;
}

/** A copy, and its spec, which is made where there is none. */
function copied(object: object): { copy: JsonObject; spec: JsonObject } {
  const copy = isJsonObject(object) ? cloneJson(object) : {};
  return { copy, spec: ensureObject(copy, "spec") };
}

function defaultSpec(spec: JsonObject, alwaysPull: boolean): void {
  setDefault(spec, "dnsPolicy", "ClusterFirst");
  setDefault(spec, "restartPolicy", "Always");
  setMissing(spec, "securityContext", {});
  setMissing(spec, "terminationGracePeriodSeconds", 30);
  setDefault(spec, "schedulerName", "default-scheduler");
  for (const [volume] of objectsAt(spec, "volumes")) defaultVolume(volume);
  for (const [container] of objectsAt(spec, "initContainers")) defaultContainer(container);
  for (const [container] of objectsAt(spec, "containers")) {
    defaultContainer(container, alwaysPull ? () => "Always" : undefined);
  }
  for (const [container] of objectsAt(spec, "ephemeralContainers")) defaultContainer(container);
  roundAmounts(objectAt(spec, "overhead"));
  roundResources(objectAt(spec, "resources"));
}

function ordinaryContainers(spec: JsonObject): JsonObject[] {
  return [...objectsAt(spec, "containers"), ...objectsAt(spec, "initContainers")].map(
    ([container]) => container,
  );
}

function defaultHostPorts(spec: JsonObject): void {
  for (const container of ordinaryContainers(spec)) hostPorts(container);
}

/**
 * A copy of a pod as the API server stores it at creation: defaults, requests from limits, what the admission plugins
 * for tolerations, priority and service accounts add (without the token volume), and the initial status.
 */
export function defaultPod(pod: object): JsonObject {
  const { copy, spec } = copied(pod);
  defaultSpec(spec, false);
  for (const container of ordinaryContainers(spec)) requestsFromLimits(container);
  defaultPodResources(spec);
  setMissing(spec, "enableServiceLinks", true);
  if (flagAt(spec, "hostNetwork")) defaultHostPorts(spec);
  setDefault(spec, "serviceAccountName", textAt(spec, "serviceAccount") || "default");
  spec["serviceAccount"] = spec["serviceAccountName"];
  setMissing(spec, "priority", 0);
  setMissing(spec, "preemptionPolicy", "PreemptLowerPriority");
  addTolerations(spec);
  copy["status"] = { phase: "Pending", qosClass: podQos(spec) };
  return copy;
}

/** Resources of the pod as a whole that it leaves open come from its containers, then from its own limits. */
function defaultPodResources(spec: JsonObject): void {
  const resources = objectAt(spec, "resources");
  if (resources === undefined) return;
  const limits = { ...objectAt(resources, "limits") };
  const requests = { ...objectAt(resources, "requests") };
  if (Object.keys(limits).length + Object.keys(requests).length === 0) return;
  const isHugePages = (name: string) => name.startsWith("hugepages-");
  for (const [name, sum] of Object.entries(aggregateResources(spec, "limits"))) {
    if (isHugePages(name) && !has(requests, name)) setMissing(limits, name, sum);
  }
  if (Object.keys(limits).length > 0) {
    resources["limits"] = limits;
    for (const [name, sum] of Object.entries(aggregateResources(spec, "requests"))) {
      if (name === "cpu" || name === "memory") setMissing(requests, name, sum);
    }
    for (const [name, limit] of Object.entries(limits)) {
      if (name === "cpu" || name === "memory" || isHugePages(name)) setMissing(requests, name, limit);
    }
  }
  if (Object.keys(requests).length > 0) resources["requests"] = requests;
}

/** Pods leave a node that is gone after five minutes, unless they say otherwise. */
function addTolerations(spec: JsonObject): void {
  const tolerations = [...listAt(spec, "tolerations")];
  for (const key of ["node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable"]) {
    const tolerated = tolerations.some(
      (item) =>
        isJsonObject(item) &&
        (!has(item, "effect") || ["", "NoExecute"].includes(textAt(item, "effect"))) &&
        [key, ""].includes(textAt(item, "key")),
    );
    if (!tolerated)
      tolerations.push({ effect: "NoExecute", key, operator: "Exists", tolerationSeconds: 300 });
  }
  spec["tolerations"] = tolerations;
}
