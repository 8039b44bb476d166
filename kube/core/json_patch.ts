/** RFC 6902 patches, and the positional difference that decides about in-place updates. */
import jsonpatch, { type Operation } from "fast-json-patch";
import { PatchError, type PatchErrorCode } from "./errors.ts";
import { isJsonObject, type JsonObject, jsonEqual } from "./json.ts";

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
  const operations: JsonPatchOperation[] = [];
  diffValue(before, after, "", operations);
  return operations;
}

function diffValue(before: unknown, after: unknown, path: string, operations: JsonPatchOperation[]): void {
  if (Array.isArray(before) && Array.isArray(after)) diffArray(before, after, path, operations);
  else if (isJsonObject(before) && isJsonObject(after)) diffObject(before, after, path, operations);
  else if (!jsonEqual(before, after)) operations.push({ op: "replace", path, value: after });
}

function diffArray(
  before: readonly unknown[],
  after: readonly unknown[],
  path: string,
  operations: JsonPatchOperation[],
): void {
  const shared = Math.min(before.length, after.length);
  for (let index = 0; index < shared; index++) {
    diffValue(before[index], after[index], `${path}/${index}`, operations);
  }
  for (let index = before.length - 1; index >= shared; index--) {
    operations.push({ op: "remove", path: `${path}/${index}` });
  }
  for (let index = shared; index < after.length; index++) {
    operations.push({ op: "add", path: `${path}/${index}`, value: after[index] });
  }
}

function diffObject(
  before: JsonObject,
  after: JsonObject,
  path: string,
  operations: JsonPatchOperation[],
): void {
  for (const key of Object.keys(before)) {
    const member = `${path}/${escapeSegment(key)}`;
    if (before[key] === undefined) continue;
    if (!Object.hasOwn(after, key) || after[key] === undefined)
      operations.push({ op: "remove", path: member });
    else diffValue(before[key], after[key], member, operations);
  }
  for (const key of Object.keys(after)) {
    if (after[key] === undefined || (Object.hasOwn(before, key) && before[key] !== undefined)) continue;
    operations.push({ op: "add", path: `${path}/${escapeSegment(key)}`, value: after[key] });
  }
}

/** One segment of a JSON pointer: `~` and `/` escaped. */
function escapeSegment(segment: string): string {
  return segment.replaceAll("~", "~0").replaceAll("/", "~1");
}

function unescapeSegment(segment: string): string {
  return segment.replaceAll("~1", "/").replaceAll("~0", "~");
}
