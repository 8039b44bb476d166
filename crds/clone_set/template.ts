/** What is checked of the pod template of a CloneSet. Spec: cloneset 6. */
import {
  dnsLabelErrors,
  type FieldError,
  forbidden,
  invalid,
  isJsonObject,
  type JsonObject,
  required,
  validatePodTemplate,
} from "../../kube/core/index.ts";
import { lastingPodErrors, withPodDefaults } from "../pod_templates.ts";
import type { CloneSetSpec, CloneSetSpecV1alpha1 } from "./schema.ts";

/** The template as the API server would check it for a pod, and what this kind adds. */
export function validateTemplate(
  spec: CloneSetSpec | CloneSetSpecV1alpha1,
  options: { allowPrivileged: boolean },
): FieldError[] {
  const path = "spec.template";
  const { template } = spec;
  if (!isJsonObject(template)) return [required(path)];
  const claimTemplates = (spec.volumeClaimTemplates ?? []).map(({ metadata }) => metadata?.name ?? "");
  const claimErrors = claimTemplates.flatMap(claimNameErrors);
  // Templates are stored without their defaults with gate TemplateNoDefaults, and where no webhook looked.
  const whole = withPodDefaults(template, { hostNetworkPorts: false });
  const errors = [...validatePodTemplate(whole, path, { claimTemplates }), ...claimErrors];
  const pod: unknown = template.spec;
  if (!isJsonObject(pod)) return errors;
  errors.push(...lastingPodErrors(pod, `${path}.spec`, "cloneset", errors));
  if (!options.allowPrivileged) errors.push(...privilegedErrors(pod, `${path}.spec`));
  return errors;
}

/** Claims are volumes of the pods under their names. */
function claimNameErrors(name: string, index: number): FieldError[] {
  const path = `spec.volumeClaimTemplates[${index}].metadata.name`;
  return name === "" ? [required(path)] : dnsLabelErrors(name).map((words) => invalid(path, name, words));
}

/** Privileged containers of a pod spec at `path`, where flag --allow-privileged forbids them. */
export function privilegedErrors(pod: JsonObject, path: string): FieldError[] {
  return ["containers", "initContainers"].flatMap((list) => {
    const containers: unknown = pod[list];
    if (!Array.isArray(containers)) return [];
    return containers.flatMap((container: unknown, index) => {
      const security = isJsonObject(container) ? container["securityContext"] : undefined;
      if (!isJsonObject(security) || security["privileged"] !== true) return [];
      return [
        forbidden(`${path}.${list}[${index}].securityContext.privileged`, "disallowed by cluster policy"),
      ];
    });
  });
}
