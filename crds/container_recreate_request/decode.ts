/** From JSON of unknown origin to a typed ContainerRecreateRequest: the checks that a typed decoder makes. */
import { type FieldError, isJsonObject, type JsonObject, required } from "../../kube/core/index.ts";
import { versionSchema } from "../definition.ts";
import { unsupportedVersion } from "../errors.ts";
import { structuralErrors } from "../structure.ts";
import { type ContainerRecreateRequestV1alpha1, containerRecreateRequest } from "./schema.ts";

/** The versions differ only in the ranges that the API server checks after admission; `spec` may still be absent. */
type Draft = Omit<ContainerRecreateRequestV1alpha1, "spec"> &
  Partial<Pick<ContainerRecreateRequestV1alpha1, "spec">>;

const schemas = new Map(
  containerRecreateRequest.versions.map((version) => [
    `${containerRecreateRequest.group}/${version.name}`,
    versionSchema(containerRecreateRequest, version),
  ]),
);

/**
 * The object as it is, or what is wrong with its types; required members may be absent and numbers out of range.
 * Throws SchemaError `UnsupportedVersion` for another apiVersion.
 */
export function decodeContainerRecreateRequest(
  value: unknown,
): { readonly object: Draft } | { readonly errors: readonly FieldError[] } {
  if (!isJsonObject(value)) return { errors: [required("", "an object is needed")] };
  const errors: FieldError[] = [];
  return isTyped(value, errors) ? { object: value } : { errors };
}

function isTyped(value: JsonObject, errors: FieldError[]): value is JsonObject & Draft {
  const { apiVersion } = value;
  const schema = typeof apiVersion === "string" ? schemas.get(apiVersion) : undefined;
  if (schema === undefined) throw unsupportedVersion(apiVersion);
  errors.push(...structuralErrors(schema, value, "", { complete: false }));
  return errors.length === 0;
}
