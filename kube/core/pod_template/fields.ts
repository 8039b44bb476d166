/** Reading templates that may be malformed: what is not there or of another type counts as absent. */
import { isJsonObject, type JsonObject, own } from "../json.ts";

export function objectAt(parent: JsonObject | undefined, key: string): JsonObject | undefined {
  const value = parent === undefined ? undefined : own(parent, key);
  return isJsonObject(value) ? value : undefined;
}

export function listAt(parent: JsonObject | undefined, key: string): readonly unknown[] {
  const value = parent === undefined ? undefined : own(parent, key);
  return Array.isArray(value) ? value : [];
}

/** The objects of a list with their index; other elements are skipped. */
export function objectsAt(parent: JsonObject | undefined, key: string): readonly [JsonObject, number][] {
  const found: [JsonObject, number][] = [];
  listAt(parent, key).forEach((item, index) => {
    if (isJsonObject(item)) found.push([item, index]);
  });
  return found;
}

export function textAt(parent: JsonObject | undefined, key: string): string {
  const value = parent === undefined ? undefined : own(parent, key);
  return typeof value === "string" ? value : "";
}

export function numberAt(parent: JsonObject | undefined, key: string): number | undefined {
  const value = parent === undefined ? undefined : own(parent, key);
  return typeof value === "number" ? value : undefined;
}

export function flagAt(parent: JsonObject | undefined, key: string): boolean {
  return parent !== undefined && own(parent, key) === true;
}

/** True if the member is set to something, be it empty. */
export function has(parent: JsonObject | undefined, key: string): boolean {
  return parent !== undefined && (own(parent, key) ?? undefined) !== undefined;
}
