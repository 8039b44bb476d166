/** What a command of the bench sees of the outside world, so that each can be run within a test. */
import type { Clock, Log } from "../kube/index.ts";
import type { OptionTable } from "./options.ts";
import type { Progress } from "./progress.ts";

export interface BenchIo {
  /** Results. */
  print(line: string): void;
  /** Everything else. */
  note(line: string): void;
  readonly progress: Progress;
  readonly clock: Clock;
  readonly log: Log;
  /** Aborted by Ctrl-C or SIGTERM. */
  readonly signal: AbortSignal;
  /** Entry of the controller that is started where none is named. */
  readonly controller: string;
  /** See `RunDeps`. */
  readonly settleMs?: number;
  readonly sampleMs?: number;
}

export interface Command {
  /** Arguments after the name. */
  readonly usage: string;
  /** One line of the help. */
  readonly summary: string;
  readonly options: OptionTable;
  /** Resolves to the exit code. Throws BenchError for what cannot be done. */
  run(args: readonly string[], io: BenchIo): Promise<number>;
}
