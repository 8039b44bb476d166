/** From JSON of unknown origin to typed objects of one kind: the checks that a typed decoder makes. */
import {
  type FieldError,
  isJsonObject,
  type JsonObject,
  required,
  validateTypes,
} from "../kube/core/index.ts";
import { coreTypeErrors, withCoreRead } from "./core_places.ts";
import { versionSchema } from "./definition.ts";
import { unsupportedVersion } from "./errors.ts";
import {
  apiVersionOf,
  type KindDefinition,
  type KindVersion,
  type ObjectOf,
  type StoredObject,
  storageVersion,
} from "./kind.ts";
import { structuralErrors } from "./structure.ts";

/** `spec` may still be absent; every other mistake of type is excluded. */
export type Draft<T extends { spec: unknown }> = Omit<T, "spec"> & Partial<Pick<T, "spec">>;

type VersionsOf<Definition extends KindDefinition> = Definition["versions"][number];

type InVersion<Version extends KindVersion> = Version extends KindVersion
  ? { readonly version: Version["name"]; readonly object: Draft<ObjectOf<Version>> }
  : never;

/** An object in the version that it is written in: `Decoded<typeof cloneSet>`. */
export type Decoded<Definition extends KindDefinition> = InVersion<VersionsOf<Definition>>;

/** An object in the storage version of its kind. */
export interface DecodedStored<Definition extends KindDefinition> {
  readonly object: Draft<StoredObject<VersionsOf<Definition>>>;
}

/** What is wrong with the types of a value; never empty. */
export interface Mistyped {
  readonly errors: readonly FieldError[];
}

/** Both throw SchemaError: `UnsupportedVersion` for another apiVersion. */
export interface KindReader<Definition extends KindDefinition> {
  /** The object as it is, but for nulls in values of core types. */
  readonly read: (value: unknown) => Decoded<Definition> | Mistyped;
  /** The object converted to the storage version; what cannot be converted is SchemaError `NoConversion`. */
  readonly readStored: (value: unknown) => DecodedStored<Definition> | Mistyped;
}

export interface KindReaderOptions {
  /** Also refuse what the API server would refuse by the schema: absent fields, enums, ranges. */
  readonly complete?: boolean | undefined;
}

/** The reader of a kind. */
export function kindReader<Definition extends KindDefinition>(
  definition: Definition,
  { complete = false }: KindReaderOptions = {},
): KindReader<Definition> {
  const typeErrors = (version: KindVersion, object: JsonObject): FieldError[] =>
    typeErrorsOf(definition, version, object, complete);
  const isTyped = <T>(
    found: { object: JsonObject },
    version: KindVersion,
    errors: FieldError[],
  ): found is { object: JsonObject } & T => {
    errors.push(...typeErrors(version, found.object));
    return errors.length === 0;
  };
  return {
    read(value) {
      if (!isJsonObject(value)) return notAnObject;
      const version = versionOf(definition, value);
      const found = { version: version.name, object: withoutNullsOf(definition, value) };
      const errors: FieldError[] = [];
      return isTyped<Decoded<Definition>>(found, version, errors) ? found : { errors };
    },
    readStored(value) {
      if (!isJsonObject(value)) return notAnObject;
      const errors = typeErrors(versionOf(definition, value), value);
      if (errors.length > 0) return { errors };
      const found = { object: inStorageVersion(definition, withoutNullsOf(definition, value)) };
      return isTyped<DecodedStored<Definition>>(found, storageVersion(definition), errors)
        ? found
        : { errors };
    },
  };
}

const notAnObject: Mistyped = { errors: [required("", "an object is needed")] };

function typeErrorsOf(
  definition: KindDefinition,
  version: KindVersion,
  object: JsonObject,
  complete: boolean,
): FieldError[] {
  const { metadata } = object;
  const errors = structuralErrors(versionSchema(definition, version), object, complete);
  if (!isJsonObject(metadata)) errors.push(required("metadata"));
  else errors.push(...validateTypes(metadata, "ObjectMeta", "metadata"));
  errors.push(...coreTypeErrors(object, definition.corePlaces ?? []));
  return errors;
}

/** Of a kind: whoever works on its objects need not know that lists may hold nulls. */
export function withoutNullsOf({ corePlaces = [] }: KindDefinition, object: JsonObject): JsonObject {
  return withCoreRead(object, corePlaces);
}

/** Throws SchemaError `UnsupportedVersion`. */
export function versionOf(definition: KindDefinition, { apiVersion }: JsonObject): KindVersion {
  const version = definition.versions.find((each) => apiVersionOf(definition, each) === apiVersion);
  if (version === undefined) throw unsupportedVersion(apiVersion);
  return version;
}

function inStorageVersion(definition: KindDefinition, object: JsonObject): JsonObject {
  const { conversion, kind } = definition;
  if (conversion === "None") return { ...object, apiVersion: apiVersionOf(definition) };
  return conversion({ ...object, kind }, storageVersion(definition).name);
}
