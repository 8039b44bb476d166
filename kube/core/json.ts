/** JSON values as patches and templates see them. */

export type JsonObject = { [key: string]: unknown };

export function isJsonObject(value: unknown): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** Equality of two JSON values; the order of keys does not matter, undefined members count as absent. */
export function jsonEqual(left: unknown, right: unknown): boolean {
  if (left === right) return true;
  if (Array.isArray(left)) {
    return (
      Array.isArray(right) &&
      left.length === right.length &&
      left.every((item, index) => jsonEqual(item, right[index]))
    );
  }
  if (!isJsonObject(left) || !isJsonObject(right)) return false;
  for (const key of Object.keys(left)) if (!jsonEqual(left[key], own(right, key))) return false;
  for (const key of Object.keys(right))
    if (right[key] !== undefined && own(left, key) === undefined) return false;
  return true;
}

/** A deep copy; undefined members are dropped, as JSON would. */
export function cloneJson<T>(value: T): T;
export function cloneJson(value: unknown): unknown {
  if (Array.isArray(value)) return value.map((item) => cloneJson(item));
  if (!isJsonObject(value)) return value;
  const copy: JsonObject = {};
  for (const key of Object.keys(value)) if (value[key] !== undefined) put(copy, key, cloneJson(value[key]));
  return copy;
}

/** A member of the object itself, never one of its prototype. */
export function own<T>(object: Readonly<Record<string, T>>, key: string): T | undefined {
  return Object.hasOwn(object, key) ? object[key] : undefined;
}

/** A member that is an object, created where there is none. */
export function ensureObject(object: JsonObject, key: string): JsonObject {
  const present = own(object, key);
  if (isJsonObject(present)) return present;
  const created: JsonObject = {};
  put(object, key, created);
  return created;
}

/** Sets a member, also when it is called `__proto__`, which plain assignment would lose. */
export function put(object: JsonObject, key: string, value: unknown): void {
  if (key === "__proto__") {
    Object.defineProperty(object, key, { value, writable: true, enumerable: true, configurable: true });
  } else {
    object[key] = value;
  }
}

/**
 * Values of the API are nested a few dozen deep. The server's own limit is 10,000, at which functions that call themselves
 * for each level run out of stack.
 */
export const deepestJson = 1000;

/** Whether a JSON text nests values deeper than `deepestJson`. Looks at each byte once and never nests itself. */
export function isTooDeep(json: Uint8Array): boolean {
  if (json.length <= deepestJson) return false;
  let depth = 0;
  let inString = false;
  for (let at = 0; at < json.length; at++) {
    const byte = json[at];
    if (byte === quote) inString = !inString;
    else if (inString) {
      if (byte === backslash) at++;
    } else if (byte === openObject || byte === openArray) {
      if (++depth > deepestJson) return true;
    } else if (byte === closeObject || byte === closeArray) depth--;
  }
  return false;
}

const quote = 0x22;
const backslash = 0x5c;
const openArray = 0x5b;
const closeArray = 0x5d;
const openObject = 0x7b;
const closeObject = 0x7d;
