/** Errors of crds/. */

export type SchemaErrorCode = "UnsupportedVersion" | "NoConversion";

export class SchemaError extends Error {
  override readonly name = "SchemaError";
  readonly code: SchemaErrorCode;

  constructor(code: SchemaErrorCode, message: string) {
    super(message);
    this.code = code;
  }
}

/** A schedule that cannot be read; the message is the parser's. */
export class ScheduleError extends Error {
  override readonly name = "ScheduleError";
}

/** The error for a version, or an apiVersion, that a kind does not have. */
export function unsupportedVersion(version: unknown): SchemaError {
  const text = typeof version === "string" ? version.slice(version.lastIndexOf("/") + 1) : "";
  return new SchemaError("UnsupportedVersion", `unsupported version: ${text}`);
}
