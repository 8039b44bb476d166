/** A refusal that whoever builds can act upon: what, where, why, what to do, on one line. */
export class BundleError extends Error {
  override readonly name = "BundleError";
  /** Of the process: 1 what was asked for could not be made, 2 it was asked for wrongly. */
  readonly exitCode: 1 | 2;

  constructor(message: string, options: { exitCode?: 1 | 2; cause?: unknown } = {}) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.exitCode = options.exitCode ?? 1;
  }
}

export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
