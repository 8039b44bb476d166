/** Mistakes of type in pods' parts, which the schemas of kinds leave open. */
import {
  type FieldError,
  isJsonObject,
  type JsonObject,
  own,
  required,
  validateTypes,
} from "../kube/core/index.ts";
import { member } from "./members.ts";

/** Mistakes of type in `spec.template` and `spec.volumeClaimTemplates`, which schemas leave open. */
export function workloadTemplateErrors({ spec }: JsonObject): FieldError[] {
  if (!isJsonObject(spec)) return [];
  const errors = validateTypes(spec["template"], "PodTemplateSpec", "spec.template");
  errors.push(...listTypeErrors(spec, "volumeClaimTemplates", "PersistentVolumeClaim"));
  return errors;
}

/** The same of the containers and volumes of a SidecarSet. */
export function sidecarTypeErrors({ spec }: JsonObject): FieldError[] {
  if (!isJsonObject(spec)) return [];
  return [
    ...listTypeErrors(spec, "containers", "Container"),
    ...listTypeErrors(spec, "initContainers", "Container"),
    ...listTypeErrors(spec, "volumes", "Volume"),
  ];
}

function listTypeErrors(spec: JsonObject, key: string, typeName: string): FieldError[] {
  const path = `spec.${key}`;
  const items = own(spec, key) ?? [];
  if (!Array.isArray(items)) return [required(path, "must be a list")];
  return items.flatMap((item, index) => validateTypes(item, typeName, `${path}[${index}]`));
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

/** The same of what a UnitedDeployment makes its workloads from. */
export function subsetTemplateErrors(object: JsonObject): FieldError[] {
  const template = member(member(object, "spec"), "template");
  const path = "spec.template";
  const native = [
    ["statefulSetTemplate", "StatefulSetSpec"],
    ["deploymentTemplate", "DeploymentSpec"],
  ] as const;
  const own = ["advancedStatefulSetTemplate", "cloneSetTemplate"] as const;
  return [
    ...native.flatMap(([name, type]) =>
      validateTypes(member(template, name)["spec"], type, `${path}.${name}.spec`),
    ),
    ...own.flatMap((name) => {
      const pod = member(member(template, name), "spec")["template"];
      return validateTypes(pod, "PodTemplateSpec", `${path}.${name}.spec.template`);
    }),
  ];
}
