/** Log lines for people: time, level, message, fields. */
import { type Log, type LogLevel, logTo } from "../../kube/index.ts";
import type { TextSink } from "../io.ts";

const levels: readonly LogLevel[] = ["debug", "info", "warn", "error"];

export function textLog(sink: TextSink, now: () => number, least: LogLevel): Log {
  const lowest = levels.indexOf(least);
  return logTo((level, message, fields) => {
    if (levels.indexOf(level) < lowest) return;
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
