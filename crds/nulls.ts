/** Members that are null say the same as absent ones to typed clients of the API, but not to its structural schemas. */
import { isJsonObject, type JsonObject } from "../kube/core/index.ts";
import { type JsonSchema, versionSchema } from "./definition.ts";
import { kindNamed } from "./kinds.ts";

/**
 * The object without the null members that its schema declares: manifests with an empty `partition:` are admitted then.
 * What the schema leaves open (templates, maps, lists of nulls) stays. The object itself when there is nothing to drop.
 */
export function withoutNulls(object: JsonObject): JsonObject {
  const { apiVersion, kind } = object;
  if (typeof apiVersion !== "string" || typeof kind !== "string") return object;
  const [group, name] = apiVersion.split("/");
  const definition = kindNamed(kind, group);
  const version = definition?.versions.find((each) => each.name === name);
  if (definition === undefined || version === undefined) return object;
  return cleanedObject(versionSchema(definition, version), object);
}

function cleaned(schema: unknown, value: unknown): unknown {
  if (!isJsonObject(schema)) return value;
  if (Array.isArray(value)) return cleanedList(schema["items"], value);
  return isJsonObject(value) ? cleanedObject(schema, value) : value;
}

function cleanedList(schema: unknown, list: readonly unknown[]): readonly unknown[] {
  const result = list.map((item) => cleaned(schema, item));
  return result.some((item, index) => item !== list[index]) ? result : list;
}

function cleanedObject(schema: JsonSchema, object: JsonObject): JsonObject {
  const declared = isJsonObject(schema["properties"]) ? schema["properties"] : {};
  const others = schema["additionalProperties"];
  let result: JsonObject | undefined;
  for (const [key, value] of Object.entries(object)) {
    const isDeclared = Object.hasOwn(declared, key);
    const kept =
      value === null && isDeclared ? undefined : cleaned(isDeclared ? declared[key] : others, value);
    if (kept === value) continue;
    result ??= { ...object };
    if (kept === undefined) delete result[key];
    else result[key] = kept;
  }
  return result ?? object;
}
