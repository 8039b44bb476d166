/** From JSON of unknown origin to a typed AdvancedCronJob: the checks that a typed decoder makes. */
import {
  type FieldError,
  isJsonObject,
  type JsonObject,
  required,
  validateTypes,
} from "../../kube/core/index.ts";
import { versionSchema } from "../definition.ts";
import { unsupportedVersion } from "../errors.ts";
import { member } from "../members.ts";
import { structuralErrors } from "../structure.ts";
import { type AdvancedCronJob, advancedCronJob } from "./schema.ts";

/** `spec` may still be absent; every other mistake of type is excluded. v1alpha1 only lacks a template. */
export type DecodedAdvancedCronJob = {
  readonly object: Omit<AdvancedCronJob, "spec"> & Partial<Pick<AdvancedCronJob, "spec">>;
};

const schemas = new Map(
  advancedCronJob.versions.map((version) => [
    `${advancedCronJob.group}/${version.name}`,
    versionSchema(advancedCronJob, version),
  ]),
);

/**
 * The object as it is, or what is wrong with its types. Templates are checked against the core types. Throws
 * SchemaError `UnsupportedVersion` for another apiVersion.
 */
export function decodeAdvancedCronJob(
  value: unknown,
): DecodedAdvancedCronJob | { readonly errors: readonly FieldError[] } {
  if (!isJsonObject(value)) return { errors: [required("", "an object is needed")] };
  const errors: FieldError[] = [];
  return isTyped(value, errors) ? { object: value } : { errors };
}

function isTyped(
  value: JsonObject,
  errors: FieldError[],
): value is JsonObject & DecodedAdvancedCronJob["object"] {
  const { apiVersion, metadata } = value;
  const schema = typeof apiVersion === "string" ? schemas.get(apiVersion) : undefined;
  if (schema === undefined) throw unsupportedVersion(apiVersion);
  errors.push(...structuralErrors(schema, value, "", { complete: false }));
  if (!isJsonObject(metadata)) errors.push(required("metadata"));
  else errors.push(...validateTypes(metadata, "ObjectMeta", "metadata"));
  const template = member(member(value, "spec"), "template");
  const path = "spec.template";
  errors.push(...validateTypes(template["jobTemplate"], "JobTemplateSpec", `${path}.jobTemplate`));
  const pod = member(member(template, "broadcastJobTemplate"), "spec")["template"];
  errors.push(...validateTypes(pod, "PodTemplateSpec", `${path}.broadcastJobTemplate.spec.template`));
  return errors.length === 0;
}
