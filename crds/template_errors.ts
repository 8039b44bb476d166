/** Mistakes of type in templates, which the schemas of workloads leave open. */
import {
  type FieldError,
  isJsonObject,
  type JsonObject,
  required,
  validateTypes,
} from "../kube/core/index.ts";
import { member } from "./members.ts";

/** Mistakes of type in `spec.template` and `spec.volumeClaimTemplates`, which schemas leave open. */
export function workloadTemplateErrors({ spec }: JsonObject): FieldError[] {
  if (!isJsonObject(spec)) return [];
  const errors = validateTypes(spec["template"], "PodTemplateSpec", "spec.template");
  const path = "spec.volumeClaimTemplates";
  const claims = spec["volumeClaimTemplates"];
  if (Array.isArray(claims)) {
    for (const [index, claim] of claims.entries())
      errors.push(...validateTypes(claim, "PersistentVolumeClaim", `${path}[${index}]`));
  } else if (claims !== undefined && claims !== null) {
    errors.push(required(path, "must be a list"));
  }
  return errors;
}

/** The same of the templates of an AdvancedCronJob; that of an ImageListPullJob is in the schema. */
export function cronJobTemplateErrors(object: JsonObject): FieldError[] {
  const template = member(member(object, "spec"), "template");
  const path = "spec.template";
  const pod = member(member(template, "broadcastJobTemplate"), "spec")["template"];
  return [
    ...validateTypes(template["jobTemplate"], "JobTemplateSpec", `${path}.jobTemplate`),
    ...validateTypes(pod, "PodTemplateSpec", `${path}.broadcastJobTemplate.spec.template`),
  ];
}
