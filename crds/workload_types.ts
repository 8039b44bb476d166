/** What a typed decoder refuses in a workload with a pod template and claim templates. */
import {
  type FieldError,
  isJsonObject,
  type JsonObject,
  required,
  validateTypes,
} from "../kube/core/index.ts";
import type { JsonSchema } from "./definition.ts";
import { structuralErrors } from "./structure.ts";

/** Mistakes of type in the object, in `spec.template` and in `spec.volumeClaimTemplates`. */
export function workloadTypeErrors(schema: JsonSchema, value: JsonObject): FieldError[] {
  const { metadata, spec } = value;
  const errors = structuralErrors(schema, value, "", { complete: false });
  if (!isJsonObject(metadata)) errors.push(required("metadata"));
  else errors.push(...validateTypes(metadata, "ObjectMeta", "metadata"));
  if (!isJsonObject(spec)) return errors;
  errors.push(...validateTypes(spec["template"], "PodTemplateSpec", "spec.template"));
  const claims = spec["volumeClaimTemplates"];
  if (Array.isArray(claims)) {
    for (const [index, claim] of claims.entries()) {
      errors.push(...validateTypes(claim, "PersistentVolumeClaim", `spec.volumeClaimTemplates[${index}]`));
    }
  } else if (claims !== undefined && claims !== null) {
    errors.push(required("spec.volumeClaimTemplates", "must be a list"));
  }
  return errors;
}
