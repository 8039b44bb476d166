/** Errors of fields, built and printed as the API server does. */
import { counted } from "./counted.ts";
import { goJson, goQuote } from "./go_text.ts";
import type { FieldError } from "./types.ts";

export function required(path: string, detail = ""): FieldError {
  return { path, type: "Required", detail };
}

export function invalid(path: string, value: unknown, detail: string): FieldError {
  return { path, type: "Invalid", value, detail };
}

export function forbidden(path: string, detail: string): FieldError {
  return { path, type: "Forbidden", detail };
}

export function notSupported(path: string, value: unknown, supported: readonly string[]): FieldError {
  const list = supported.map(goQuote).join(", ");
  return { path, type: "NotSupported", value, detail: list ? `supported values: ${list}` : "" };
}

export function duplicate(path: string, value: unknown): FieldError {
  return { path, type: "Duplicate", value, detail: "" };
}

export function notFound(path: string, value: unknown): FieldError {
  return { path, type: "NotFound", value, detail: "" };
}

export function tooLong(path: string, maxBytes: number): FieldError {
  return {
    path,
    type: "TooLong",
    detail: `may not be more than ${counted(maxBytes, "byte")}`,
  };
}

export function tooMany(path: string, actual: number, max: number): FieldError {
  const detail = `must have at most ${counted(max, "item")}`;
  return { path, type: "TooMany", value: actual, detail };
}

const titles: Readonly<Record<FieldError["type"], string>> = {
  Required: "Required value",
  Invalid: "Invalid value",
  Forbidden: "Forbidden",
  NotSupported: "Unsupported value",
  Duplicate: "Duplicate value",
  NotFound: "Not found",
  TooLong: "Too long",
  TooMany: "Too many",
  TypeInvalid: "Invalid value",
  InternalError: "Internal error",
};

const withoutValue: ReadonlySet<FieldError["type"]> = new Set([
  "Required",
  "Forbidden",
  "TooLong",
  "InternalError",
]);

/** The part after the path, `Invalid value: "x": detail`: the `message` of a Status cause. */
export function formatFieldErrorBody(error: FieldError): string {
  let text = titles[error.type];
  if (!withoutValue.has(error.type) && error.value !== undefined) {
    text += `: ${typeof error.value === "string" ? goQuote(error.value) : goJson(error.value)}`;
  }
  return error.detail === "" ? text : `${text}: ${error.detail}`;
}

export function formatFieldError(error: FieldError): string {
  return `${error.path}: ${formatFieldErrorBody(error)}`;
}

/** One error as it is, several as `[a, b]`, equal ones once, none as the empty string. */
export function formatFieldErrors(errors: readonly FieldError[]): string {
  const messages = [...new Set(errors.map(formatFieldError))];
  return messages.length > 1 ? `[${messages.join(", ")}]` : (messages[0] ?? "");
}

/** `reason` of a Status cause for this kind of error. */
export function causeReason(error: FieldError): string {
  return error.type === "InternalError" ? "InternalError" : `FieldValue${error.type}`;
}

/** Path of a map entry: `spec.limits[cpu]`. */
export function keyPath(path: string, key: string): string {
  return `${path}[${key}]`;
}

/** Path of a member; the root path is the empty string. */
export function childPath(path: string, name: string): string {
  return path === "" ? name : `${path}.${name}`;
}
