/** Reads what is kept of objects that others define: a member that is missing or of another type counts as empty. */
import { isJsonObject, type JsonObject, type Labels, own } from "../../kube/core/index.ts";

export function objectAt(object: JsonObject, key: string): JsonObject {
  const value = own(object, key);
  return isJsonObject(value) ? value : {};
}

export function objectsAt(object: JsonObject, key: string): JsonObject[] {
  const value = own(object, key);
  return Array.isArray(value) ? value.filter(isJsonObject) : [];
}

export function textAt(object: JsonObject, key: string): string {
  const value = own(object, key);
  return typeof value === "string" ? value : "";
}

export function numberAt(object: JsonObject, key: string): number | undefined {
  const value = own(object, key);
  return typeof value === "number" ? value : undefined;
}

export function textsAt(object: JsonObject, key: string): Labels {
  const members = Object.entries(objectAt(object, key));
  return Object.fromEntries(
    members.filter((member): member is [string, string] => typeof member[1] === "string"),
  );
}
