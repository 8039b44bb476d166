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
