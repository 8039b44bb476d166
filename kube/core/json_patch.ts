/** RFC 6902 patches, and the positional difference that decides about in-place updates. */
import jsonpatch, { type Operation } from "fast-json-patch";
import { PatchError, type PatchErrorCode } from "./errors.ts";
import { isJsonObject, type JsonObject, jsonEqual, own } from "./json.ts";

export interface JsonPatchOperation {
  op: "add" | "remove" | "replace" | "test" | "move" | "copy";
  /** JSON pointer (RFC 6901). */
  path: string;
  value?: unknown;
  /** Source pointer of `move` and `copy`. */
  from?: string;
}

/**
 * Applies the operations in order and returns the new document. The given document is never changed: parts that
 * the patch touches are copied, the rest is shared. Throws PatchError; then nothing of the patch took effect.
 */
export function applyJsonPatch(document: object, operations: readonly JsonPatchOperation[]): JsonObject {
  const copies = new Set<unknown>();
  let current: unknown = document;
  operations.forEach((operation, index) => {
    if (!isJsonObject(operation)) {
      throw new PatchError("InvalidPatch", `operation ${index} is not an object`, { index });
    }
    const { path, from } = operation;
    if (typeof path === "string" && path !== "") current = unshare(current, path, copies);
    if (operation.op === "move" && typeof from === "string") current = unshare(current, from, copies);
    try {
      current = jsonpatch.applyOperation(
        current,
        toLibrary(operation, index),
        true,
        true,
        true,
        index,
      ).newDocument;
    } catch (error) {
      throw toPatchError(error, operation, index);
    }
  });
  if (!isJsonObject(current))
    throw new PatchError("InvalidPatch", "the patch replaces the object by a value");
  return current;
}

/** Copies the containers on the way to `pointer` that are not copies already. */
function unshare(root: unknown, pointer: string, copies: Set<unknown>): unknown {
  const top = copyOnce(root, copies);
  let parent = top;
  for (const segment of pointer.split("/").slice(1, -1).map(unescapeSegment)) {
    const isIndex = Array.isArray(parent) && /^\d+$/.test(segment);
    if (isIndex && Array.isArray(parent)) {
      parent = parent[Number(segment)] = copyOnce(parent[Number(segment)], copies);
    } else if (isJsonObject(parent) && segment !== "__proto__" && Object.hasOwn(parent, segment)) {
      parent = parent[segment] = copyOnce(parent[segment], copies);
    } else {
      break;
    }
  }
  return top;
}

function copyOnce(value: unknown, copies: Set<unknown>): unknown {
  if (copies.has(value)) return value;
  const copy = Array.isArray(value) ? value.slice() : isJsonObject(value) ? { ...value } : value;
  if (copy !== value) copies.add(copy);
  return copy;
}

function toLibrary(operation: JsonPatchOperation, index: number): Operation {
  const { op, path, from, value } = operation;
  switch (op) {
    case "add":
    case "replace":
    case "test":
      return { op, path, value };
    case "remove":
      return { op, path };
    case "move":
    case "copy":
      if (typeof from !== "string") {
        throw new PatchError("InvalidPatch", `operation ${index} (${op} ${path}) has no "from"`, { index });
      }
      return { op, path, from };
    default:
      throw new PatchError("InvalidPatch", `operation ${index}: unknown op ${JSON.stringify(op)}`, { index });
  }
}

const pathErrors: ReadonlySet<string> = new Set([
  "OPERATION_PATH_UNRESOLVABLE",
  "OPERATION_FROM_UNRESOLVABLE",
  "OPERATION_PATH_CANNOT_ADD",
  "OPERATION_VALUE_OUT_OF_BOUNDS",
  "OPERATION_PATH_ILLEGAL_ARRAY_INDEX",
]);

function toPatchError(error: unknown, operation: JsonPatchOperation, index: number): PatchError {
  if (error instanceof PatchError) return error;
  const name = error instanceof Error ? error.name : "";
  const code: PatchErrorCode =
    name === "TEST_OPERATION_FAILED" ? "TestFailed" : pathErrors.has(name) ? "InvalidPath" : "InvalidPatch";
  const reason = {
    TestFailed: "the value is another one",
    InvalidPath: "the path does not exist",
    InvalidPatch: "the operation is malformed",
  }[code];
  const message = `operation ${index} (${operation.op} ${operation.path}) failed: ${reason}`;
  return new PatchError(code, message, { index, cause: error });
}

/**
 * The difference as add, remove and replace operations; arrays are compared index by index, so an element
 * inserted in front shows as a change of all that follow (spec inplace-update 4.1, rule 1). Applying the result
 * to `before` gives `after`.
 */
export function diffPositional(before: unknown, after: unknown): JsonPatchOperation[] {
  return new Difference(false).between(before, after);
}

/**
 * A patch that turns `before` into `after`, which was made of it: elements of a list that are the same values on both sides
 * stay where they are, and what was put between them is added there. Everything else as in `diffPositional`.
 */
export function createJsonPatch(before: unknown, after: unknown): JsonPatchOperation[] {
  return new Difference(true).between(before, after);
}

/** Most of an object is equal on both sides: a path becomes text only where something differs. */
class Difference {
  readonly #keepsElements: boolean;
  readonly #operations: JsonPatchOperation[] = [];
  /** Keys and indices from the root to what is being compared. */
  readonly #path: (string | number)[] = [];

  constructor(keepsElements: boolean) {
    this.#keepsElements = keepsElements;
  }

  between(before: unknown, after: unknown): JsonPatchOperation[] {
    this.#value(before, after);
    return this.#operations;
  }

  #value(before: unknown, after: unknown): void {
    if (before === after) return;
    if (Array.isArray(before) && Array.isArray(after)) this.#array(before, after);
    else if (isJsonObject(before) && isJsonObject(after)) this.#object(before, after);
    else if (!jsonEqual(before, after))
      this.#operations.push({ op: "replace", path: pointerOf(this.#path), value: after });
  }

  #array(before: readonly unknown[], after: readonly unknown[]): void {
    if (this.#keepsElements && isPartOf(before, after)) {
      this.#inserted(before, after);
      return;
    }
    const shared = Math.min(before.length, after.length);
    for (let index = 0; index < shared; index++) this.#member(index, before[index], after[index]);
    if (before.length === after.length) return;
    const path = pointerOf(this.#path);
    for (let index = before.length - 1; index >= shared; index--)
      this.#operations.push({ op: "remove", path: `${path}/${index}` });
    for (let index = shared; index < after.length; index++)
      this.#operations.push({ op: "add", path: `${path}/${index}`, value: after[index] });
  }

  #inserted(before: readonly unknown[], after: readonly unknown[]): void {
    const path = pointerOf(this.#path);
    let kept = 0;
    for (const [index, value] of after.entries()) {
      if (kept < before.length && value === before[kept]) kept++;
      else this.#operations.push({ op: "add", path: `${path}/${index}`, value });
    }
  }

  #object(before: JsonObject, after: JsonObject): void {
    for (const key of Object.keys(before)) {
      if (before[key] === undefined) continue;
      const value = own(after, key);
      if (value === undefined) this.#operations.push({ op: "remove", path: this.#pointerTo(key) });
      else this.#member(key, before[key], value);
    }
    for (const key of Object.keys(after)) {
      if (after[key] === undefined || own(before, key) !== undefined) continue;
      this.#operations.push({ op: "add", path: this.#pointerTo(key), value: after[key] });
    }
  }

  #member(key: string | number, before: unknown, after: unknown): void {
    this.#path.push(key);
    this.#value(before, after);
    this.#path.pop();
  }

  #pointerTo(key: string): string {
    return pointerOf([...this.#path, key]);
  }
}

/** Whether all elements are in `whole` as well, in their order. */
function isPartOf(elements: readonly unknown[], whole: readonly unknown[]): boolean {
  let found = 0;
  for (const element of whole) if (found < elements.length && element === elements[found]) found++;
  return found === elements.length;
}

/** The JSON pointer (RFC 6901). */
function pointerOf(path: readonly (string | number)[]): string {
  let pointer = "";
  for (const segment of path) pointer += `/${typeof segment === "number" ? segment : escapeSegment(segment)}`;
  return pointer;
}

/** One segment of a JSON pointer: `~` and `/` escaped. */
function escapeSegment(segment: string): string {
  return segment.replaceAll("~", "~0").replaceAll("/", "~1");
}

function unescapeSegment(segment: string): string {
  return segment.replaceAll("~1", "/").replaceAll("~0", "~");
}
