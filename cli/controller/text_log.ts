/** Log lines for people: time, level, message, fields. */
import { isLogged, type Log, type LogLevel, logTo } from "../../kube/index.ts";
import type { TextSink } from "../io.ts";

/** `least` is asked for each line: it may change. */
export function textLog(sink: TextSink, now: () => number, least: () => LogLevel): Log {
  return logTo((level, message, fields) => {
    if (!isLogged(level, least())) return;
    const pairs = Object.entries(fields).map(([name, value]) => ` ${name}=${fieldText(value)}`);
    sink.write(
      `${new Date(now()).toISOString()} ${level.toUpperCase().padEnd(5)} ${message}${pairs.join("")}\n`,
    );
  });
}

function fieldText(value: unknown): string {
  if (typeof value === "string") return /^[\w./:@-]+$/.test(value) ? value : JSON.stringify(value);
  return typeof value === "object" && value !== null ? JSON.stringify(value) : String(value);
}
