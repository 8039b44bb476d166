/** From JSON of unknown origin, in any version, to a typed object of the storage version. */
import {
  type FieldError,
  isJsonObject,
  type JsonObject,
  required,
  validateTypes,
} from "../kube/core/index.ts";
import { convertObject, hasConversion } from "./convert.ts";
import { type JsonSchema, versionSchema } from "./definition.ts";
import { unsupportedVersion } from "./errors.ts";
import { apiVersionOf, type KindDefinition, storageVersion } from "./kind.ts";
import { structuralErrors } from "./structure.ts";

/** `spec` may still be absent; every other mistake of type is excluded. */
export type Draft<T extends { spec: unknown }> = Omit<T, "spec"> & Partial<Pick<T, "spec">>;

export type Decoded<T extends { spec: unknown }> =
  | { readonly object: Draft<T> }
  | { readonly errors: readonly FieldError[] };

const schemas = new Map<string, JsonSchema>();

/**
 * The object in the storage version of its kind, or what is wrong with its types: `T` must be the declared type of
 * that version. Only for kinds without templates. Throws SchemaError `UnsupportedVersion` for another apiVersion.
 */
export function decodeStored<T extends { spec: unknown }>(
  definition: KindDefinition,
  value: unknown,
): Decoded<T> {
  if (!isJsonObject(value)) return { errors: [required("", "an object is needed")] };
  const { apiVersion } = value;
  const version = definition.versions.find((each) => apiVersionOf(definition, each) === apiVersion);
  if (version === undefined) throw unsupportedVersion(apiVersion);
  const wrong = typeErrors(definition, apiVersionOf(definition, version), value);
  if (wrong.length > 0) return { errors: wrong };
  const stored = apiVersionOf(definition);
  const converted = hasConversion(definition.group, definition.kind)
    ? convertObject({ ...value, kind: definition.kind }, stored)
    : { ...value, apiVersion: stored };
  const errors: FieldError[] = [];
  return isTyped<Draft<T>>(definition, stored, converted, errors) ? { object: converted } : { errors };
}

function isTyped<T>(
  definition: KindDefinition,
  apiVersion: string,
  value: JsonObject,
  errors: FieldError[],
): value is JsonObject & T {
  errors.push(...typeErrors(definition, apiVersion, value));
  return errors.length === 0;
}

function typeErrors(definition: KindDefinition, apiVersion: string, value: JsonObject): FieldError[] {
  const { metadata } = value;
  const errors = structuralErrors(schemaOf(definition, apiVersion), value, "", { complete: false });
  if (!isJsonObject(metadata)) errors.push(required("metadata"));
  else errors.push(...validateTypes(metadata, "ObjectMeta", "metadata"));
  return errors;
}

function schemaOf(definition: KindDefinition, apiVersion: string): JsonSchema {
  const key = `${apiVersion}/${definition.kind}`;
  const known = schemas.get(key);
  if (known !== undefined) return known;
  const version = definition.versions.find((each) => apiVersionOf(definition, each) === apiVersion);
  const schema = versionSchema(definition, version ?? storageVersion(definition));
  schemas.set(key, schema);
  return schema;
}
