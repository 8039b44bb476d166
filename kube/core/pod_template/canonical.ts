/**
 * Templates as typed Kubernetes 1.32 writes them. Revision names are hashes of these bytes, so they stay as they were
 * when newer releases add fields or leave out empty ones (spec inplace-update 4.11).
 */

import { formatMicroTime, formatTime, parseTime } from "../conditions.ts";
import {
  type CoreField,
  type CoreType,
  coreStruct,
  type ScalarName,
  type StructLookup,
} from "../core_types.ts";
import { ParseError } from "../errors.ts";
import { compareBytes, goJson } from "../go_text.ts";
import { fnv32, jsonTextHash, safeEncode } from "../hash.ts";
import { isJsonObject, type JsonObject, jsonEqual, own, put } from "../json.ts";
import { canonicalQuantity, isQuantity } from "../quantity.ts";
import { objectAt, textAt } from "./fields.ts";

/** The template's typed JSON with sorted keys and without white space; fields unknown to 1.32 are dropped. */
export function canonicalPodTemplate(template: object): string {
  return goJson(encodeTyped(template, "PodTemplateSpec"), { sortKeys: true });
}

/** `data` of a ControllerRevision for this template (rule 36). */
export function revisionData(template: object): string {
  return revisionDataOfTyped(encodeTyped(template, "PodTemplateSpec"));
}

/** The same of a template that is typed already, whatever its type is. */
export function revisionDataOfTyped(typed: JsonObject): string {
  return goJson({ spec: { template: { ...typed, $patch: "replace" } } }, { sortKeys: true });
}

/** The hash part of a revision's name (rule 37). */
export function revisionHash(data: string, collisionCount = 0): string {
  return safeEncode(String(fnv32(data + collisionCount)));
}

/**
 * True if two revisions hold the same template. Kubernetes since 1.34 leaves `metadata.creationTimestamp: null` out
 * of what it writes, so texts that differ in this alone count as equal.
 */
export function revisionDataEqual(left: string | object, right: string | object): boolean {
  if (left === right) return true;
  return jsonEqual(withoutNulls(parsed(left)), withoutNulls(parsed(right)));
}

function parsed(data: string | object): unknown {
  if (typeof data !== "string") return data;
  try {
    return JSON.parse(data);
  } catch {
    return data;
  }
}

function withoutNulls(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withoutNulls);
  if (!isJsonObject(value)) return value;
  const kept: JsonObject = {};
  for (const key of Object.keys(value)) if (value[key] !== null) put(kept, key, withoutNulls(value[key]));
  return kept;
}

/** Hash of claim templates: names and specs, in any order (rule 41). */
export function claimTemplatesHash(claims: readonly object[]): number {
  const reduced = claims.map((claim) => {
    const object = isJsonObject(claim) ? claim : {};
    return encodeTyped(
      {
        metadata: { name: textAt(objectAt(object, "metadata"), "name") },
        spec: objectAt(object, "spec") ?? {},
      },
      "PersistentVolumeClaim",
    );
  });
  const nameOf = (claim: JsonObject) => textAt(objectAt(claim, "metadata"), "name");
  return jsonTextHash(goJson(reduced.sort((left, right) => compareBytes(nameOf(left), nameOf(right)))));
}

/**
 * An object of a type as a typed round trip leaves it, in the order of its fields; core types as Kubernetes 1.32 has
 * them. `structs`: where types are found.
 */
export function encodeTyped(
  value: unknown,
  typeName: string,
  structs: StructLookup = coreStruct,
): JsonObject {
  const object = isJsonObject(value) ? value : {};
  const encoded: JsonObject = {};
  for (const field of structs(typeName)?.values() ?? []) {
    if (!field.in132) continue;
    const member = encodeField(own(object, field.name) ?? undefined, field, structs);
    if (member !== undefined) put(encoded, field.name, member);
  }
  return encoded;
}

/** The member's JSON; undefined if it is left out. */
function encodeField(value: unknown, { type, omitEmpty }: CoreField, structs: StructLookup): unknown {
  if (type.pointer)
    return value === undefined ? (omitEmpty ? undefined : null) : encode(value, type, structs);
  const encoded = encode(value, type, structs);
  if (!omitEmpty) return encoded;
  switch (type.kind) {
    case "struct":
      return encoded;
    case "list":
      return Array.isArray(encoded) && encoded.length > 0 ? encoded : undefined;
    case "map":
      return isJsonObject(encoded) && Object.keys(encoded).length > 0 ? encoded : undefined;
    case "scalar":
      return encoded === "" || encoded === false || (encoded === 0 && type.scalar !== "intstr")
        ? undefined
        : encoded;
  }
}

/** A value of the type; what is absent or of another type becomes the type's zero. */
function encode(value: unknown, type: CoreType, structs: StructLookup): unknown {
  switch (type.kind) {
    case "struct":
      return encodeTyped(value, type.name, structs);
    case "list":
      return Array.isArray(value)
        ? value.map((item) => encode(item ?? undefined, type.element, structs))
        : null;
    case "map": {
      if (!isJsonObject(value)) return null;
      const encoded: JsonObject = {};
      for (const [key, item] of Object.entries(value))
        put(encoded, key, encode(item ?? undefined, type.element, structs));
      return encoded;
    }
    case "scalar":
      return encodeScalar(value, type.scalar);
  }
}

function encodeScalar(value: unknown, scalar: ScalarName): unknown {
  switch (scalar) {
    case "string":
      return typeof value === "string" ? value : "";
    case "bool":
      return value === true;
    case "int":
    case "float":
    case "byte":
      return typeof value === "number" ? value : 0;
    case "bytes":
      return typeof value === "string" ? value : null;
    case "intstr":
      return typeof value === "number" || typeof value === "string" ? value : 0;
    case "quantity":
      return isQuantity(value) ? canonicalQuantity(value) : "0";
    case "time":
      return encodeTime(value, formatTime);
    case "microtime":
      return encodeTime(value, formatMicroTime);
    case "any":
      return value ?? null;
  }
}

function encodeTime(value: unknown, format: (ms: number) => string): string | null {
  if (typeof value !== "string" || value === "") return null;
  try {
    return format(parseTime(value));
  } catch (error) {
    if (error instanceof ParseError) return value;
    throw error;
  }
}
