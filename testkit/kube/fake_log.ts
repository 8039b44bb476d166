/** A log whose lines a test reads. */
import { type Log, type LogLevel, logTo } from "../../kube/index.ts";

export interface TestLogLine {
  level: LogLevel;
  message: string;
  fields: Record<string, unknown>;
}

/** A log that keeps its lines. */
export function testLog(): Log & { readonly lines: TestLogLine[] } {
  const lines: TestLogLine[] = [];
  return { ...logTo((level, message, fields) => lines.push({ level, message, fields })), lines };
}
