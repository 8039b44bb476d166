/** Ends of a bench that are no bug of it: one clear line and an exit code, no stack. */

export class BenchError extends Error {
  override readonly name: string = "BenchError";
}

/** The command line is wrong: the usage is shown as well. */
export class UsageError extends BenchError {
  override readonly name = "UsageError";
}

/** Ctrl-C or SIGTERM. */
export class Interrupted extends BenchError {
  override readonly name = "Interrupted";

  constructor() {
    super("interrupted");
  }
}

export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
