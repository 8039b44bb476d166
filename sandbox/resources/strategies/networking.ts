/** Ingresses and network policies: their defaults, and what every client runs into. */
import { type FieldError, invalid, required } from "../../../kube/core/index.ts";
import type { StoredObject } from "../../cluster.ts";
import { fieldsAt, listAt, objectsAt, textAt, valueAt } from "../../json.ts";
import type { Strategy } from "../resource.ts";
import { initialStatus } from "./initial_status.ts";

function validateIngress(object: StoredObject): FieldError[] {
  const rules = objectsAt(object, "spec", "rules");
  const backend = valueAt(object, "spec", "defaultBackend");
  if (rules.length === 0 && backend === undefined) {
    const shown = valueAt(object, "spec", "rules") ?? null;
    return [invalid("spec", shown, "either `defaultBackend` or `rules` must be specified")];
  }
  const errors = backend === undefined ? [] : backendErrors(backend, "spec.defaultBackend");
  rules.forEach((rule, ruleAt) => {
    objectsAt(rule, "http", "paths").forEach((path, pathAt) => {
      errors.push(...pathErrors(path, `spec.rules[${ruleAt}].http.paths[${pathAt}]`));
    });
  });
  return errors;
}

function pathErrors(path: unknown, where: string): FieldError[] {
  const type = textAt(path, "pathType");
  if (type === "") return [required(`${where}.pathType`, "pathType must be specified")];
  const text = textAt(path, "path");
  const needsSlash = type !== "ImplementationSpecific" || text !== "";
  const errors =
    needsSlash && !text.startsWith("/") ? [invalid(`${where}.path`, text, "must be an absolute path")] : [];
  return [...errors, ...backendErrors(valueAt(path, "backend"), `${where}.backend`)];
}

function backendErrors(backend: unknown, where: string): FieldError[] {
  const service = valueAt(backend, "service");
  if (service === undefined) return [];
  const port = fieldsAt(service, "port");
  if (textAt(port, "name") !== "" || (port["number"] ?? 0) !== 0) return [];
  return [required(where, "port name or number is required")];
}

/** Egress is restricted only where rules for it are given. */
function defaultPolicy(draft: StoredObject): void {
  const spec = fieldsAt(draft, "spec");
  const hasEgress = listAt(spec, "egress").length > 0;
  spec["policyTypes"] ??= hasEgress ? ["Ingress", "Egress"] : ["Ingress"];
  for (const rule of [...objectsAt(spec, "ingress"), ...objectsAt(spec, "egress")]) {
    for (const port of objectsAt(rule, "ports")) port["protocol"] ??= "TCP";
  }
}

export const networkingRules: Readonly<Record<string, Partial<Strategy>>> = {
  "ingresses.networking.k8s.io": {
    prepareCreate: initialStatus({ loadBalancer: {} }),
    validateCreate: validateIngress,
    validateUpdate: validateIngress,
  },
  "networkpolicies.networking.k8s.io": { defaults: defaultPolicy },
};
