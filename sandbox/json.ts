/** Reading of plain JSON values; stored objects are never changed in place. */
import {
  type JsonObject as Fields,
  isJsonObject as isFields,
  type LabelSelector,
} from "../kube/core/index.ts";
import type { StoredObject } from "./cluster.ts";

export { type Fields, isFields };

/** The value at a path of member names, undefined as soon as a step is missing. */
export function valueAt(value: unknown, ...path: readonly string[]): unknown {
  let current = value;
  for (const step of path) {
    if (!isFields(current)) return undefined;
    current = current[step];
  }
  return current;
}

export function textAt(value: unknown, ...path: readonly string[]): string {
  const found = valueAt(value, ...path);
  return typeof found === "string" ? found : "";
}

export function numberAt(value: unknown, ...path: readonly string[]): number | undefined {
  const found = valueAt(value, ...path);
  return typeof found === "number" ? found : undefined;
}

export function fieldsAt(value: unknown, ...path: readonly string[]): Fields {
  const found = valueAt(value, ...path);
  return isFields(found) ? found : {};
}

export function listAt(value: unknown, ...path: readonly string[]): readonly unknown[] {
  const found = valueAt(value, ...path);
  return Array.isArray(found) ? found : [];
}

/** The objects of a list, anything else in it left out. */
export function objectsAt(value: unknown, ...path: readonly string[]): readonly Fields[] {
  return listAt(value, ...path).filter(isFields);
}

/** The texts of a list, anything else in it left out. */
export function textsAt(value: unknown, ...path: readonly string[]): string[] {
  return listAt(value, ...path).filter((item) => typeof item === "string");
}

/** Compiling a selector checks what is in it. */
export function isSelector(value: unknown): value is LabelSelector {
  return isFields(value);
}

/** Sets a value, making the objects on the way. */
export function setAt(target: Fields, path: readonly string[], value: unknown): void {
  let current = target;
  for (const step of path.slice(0, -1)) {
    const next = current[step];
    if (isFields(next)) current = next;
    else {
      const made: Fields = {};
      current[step] = made;
      current = made;
    }
  }
  const last = path.at(-1);
  if (last === undefined) return;
  if (value === undefined) delete current[last];
  else current[last] = value;
}

/** An object with metadata, or undefined: the boundary between request bodies and stored objects. */
export function asObject(value: unknown): StoredObject | undefined {
  return isStored(value) ? value : undefined;
}

function isStored(value: unknown): value is StoredObject {
  return isFields(value) && isFields(value["metadata"]);
}
