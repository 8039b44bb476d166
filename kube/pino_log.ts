/** The log that ships: JSON lines with `ts` (milliseconds), `level`, `msg` and the fields. */
import { type DestinationStream, type Logger, pino } from "pino";
import { isLogged, type Log, type LogLevel, logTo } from "./log.ts";

export interface PinoLogOptions {
  /** Default `info`; a function where it changes while the log is used. */
  level?: LogLevel | (() => LogLevel);
  /** Written to every line, for example `{ process: "agent" }`. */
  base?: Readonly<Record<string, unknown>>;
  /** Default: standard error, synchronous, so that the last line before a crash is not lost. */
  destination?: DestinationStream;
  /** Milliseconds since the epoch. */
  now: () => number;
}

export function pinoLog(options: PinoLogOptions): Log {
  const { level = "info" } = options;
  const least = typeof level === "function" ? level : () => level;
  const settings = {
    level: "debug",
    base: options.base ?? null,
    timestamp: () => `,"ts":${options.now()}`,
    formatters: { level: (label: string) => ({ level: label }) },
  };
  const logger: Logger = pino(settings, options.destination ?? pino.destination({ fd: 2, sync: true }));
  return logTo((level, message, fields) => {
    if (isLogged(level, least())) logger[level](fields, message);
  });
}
