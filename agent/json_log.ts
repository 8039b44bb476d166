/** The agent's log: JSON lines on standard error, as pino writes them, without its threads and host look-ups. */
import { writeSync } from "node:fs";
import { isLogged, type Log, type LogLevel, logTo } from "../kube/index.ts";

export interface JsonLogOptions {
  readonly level: LogLevel;
  readonly base: Readonly<Record<string, unknown>>;
  /** Milliseconds since the epoch. */
  readonly now: () => number;
  /** Default: standard error, at once, so that the last line before a crash is not lost. */
  readonly write?: (line: string) => void;
}

export function jsonLog(options: JsonLogOptions): Log {
  const write = options.write ?? writeError;
  return logTo((level, msg, fields) => {
    if (!isLogged(level, options.level)) return;
    write(`${JSON.stringify({ level, ts: options.now(), msg, ...fields })}\n`);
  }, options.base);
}

function writeError(line: string): void {
  try {
    writeSync(2, line);
  } catch {
    // Nobody reads any more, or the pipe is full: the log is not worth the process.
  }
}
