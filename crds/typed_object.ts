/** From JSON of unknown origin to an object of a kind without templates: the checks that a typed decoder makes. */
import {
  type FieldError,
  isJsonObject,
  type JsonObject,
  type KubeObject,
  required,
  validateTypes,
} from "../kube/core/index.ts";
import { versionSchema } from "./definition.ts";
import { unsupportedVersion } from "./errors.ts";
import type { KindDefinition } from "./kind.ts";
import { structuralErrors } from "./structure.ts";

/** The object with its spec possibly absent; every other mistake of type is excluded. */
export type TypedObject<T extends KubeObject & { spec: unknown }> = Omit<T, "spec"> &
  Partial<Pick<T, "spec">>;

/** Reads objects of one kind whose versions are alike. Throws SchemaError `UnsupportedVersion` for another apiVersion. */
export function typedReader<T extends KubeObject & { spec: unknown }>(
  definition: KindDefinition,
): (value: unknown) => { readonly object: TypedObject<T> } | { readonly errors: readonly FieldError[] } {
  const schemas = new Map(
    definition.versions.map((version) => [
      `${definition.group}/${version.name}`,
      versionSchema(definition, version),
    ]),
  );
  const isTyped = (value: JsonObject, errors: FieldError[]): value is JsonObject & TypedObject<T> => {
    const { apiVersion, metadata } = value;
    const schema = typeof apiVersion === "string" ? schemas.get(apiVersion) : undefined;
    if (schema === undefined) throw unsupportedVersion(apiVersion);
    errors.push(...structuralErrors(schema, value, "", { complete: false }));
    if (!isJsonObject(metadata)) errors.push(required("metadata"));
    else errors.push(...validateTypes(metadata, "ObjectMeta", "metadata"));
    return errors.length === 0;
  };
  return (value) => {
    if (!isJsonObject(value)) return { errors: [required("", "an object is needed")] };
    const errors: FieldError[] = [];
    return isTyped(value, errors) ? { object: value } : { errors };
  };
}
