/** Errors of kube/core. */

export type PatchErrorCode = "TestFailed" | "InvalidPath" | "InvalidPatch";

/**
 * A patch that cannot be applied. `TestFailed`: a `test` operation did not hold; `InvalidPath`: a path of the
 * patch does not exist in the document; `InvalidPatch`: the patch itself is malformed.
 */
export class PatchError extends Error {
  override readonly name = "PatchError";
  readonly code: PatchErrorCode;
  /** Index of the failing operation of a JSON patch; -1 where there is none. */
  readonly index: number;

  constructor(code: PatchErrorCode, message: string, details: { index?: number; cause?: unknown } = {}) {
    super(message, details.cause === undefined ? undefined : { cause: details.cause });
    this.code = code;
    this.index = details.index ?? -1;
  }
}

export type ParseErrorCode =
  | "InvalidSelector"
  | "InvalidQuantity"
  | "InvalidIntOrString"
  | "InvalidTime"
  | "InvalidImage"
  | "InvalidExpression"
  | "InvalidPattern"
  | "PatternTooLarge";

/** What somebody threw, in words. */
export function errorText(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

/** A text that is not what it should be; the message is worded as the API server words it. */
export class ParseError extends Error {
  override readonly name = "ParseError";
  readonly code: ParseErrorCode;

  constructor(code: ParseErrorCode, message: string) {
    super(message);
    this.code = code;
  }
}
