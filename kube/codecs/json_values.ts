/** Reading parsed JSON without trusting it. Wrong types read as absent; only the frame of an object is insisted on. */
import { KubeError } from "../errors.ts";

export type JsonObject = { readonly [name: string]: unknown };

export function isObject(value: unknown): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

const noFields: JsonObject = {};

export function objectAt(value: JsonObject, name: string): JsonObject {
  const field = value[name];
  return isObject(field) ? field : noFields;
}

export function listAt(value: JsonObject, name: string): readonly JsonObject[] {
  const field = value[name];
  return Array.isArray(field) ? field.filter(isObject) : [];
}

export function stringAt(value: JsonObject, name: string): string {
  const field = value[name];
  return typeof field === "string" ? field : "";
}

export function numberAt(value: JsonObject, name: string): number {
  const field = value[name];
  return typeof field === "number" ? field : 0;
}

const utf8 = new TextDecoder("utf-8");

/** Throws KubeError `Decode`. */
export function parseJson(bytes: Uint8Array): unknown {
  const text = utf8.decode(bytes);
  try {
    return JSON.parse(text);
  } catch (cause) {
    throw new KubeError("Decode", `not JSON: ${cause instanceof Error ? cause.message : "unreadable"}`, {
      cause,
    });
  }
}

/** Throws KubeError `Decode` unless the value is an object. */
export function expectObject(value: unknown, what: string): JsonObject {
  if (!isObject(value)) throw new KubeError("Decode", `${what} is not a JSON object`);
  return value;
}
