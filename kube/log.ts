/** Structured logging: a message for people, fields for machines. Secrets never reach a line. */
import { KubeError } from "./errors.ts";

export type LogLevel = "debug" | "info" | "warn" | "error";

const levels: readonly LogLevel[] = ["debug", "info", "warn", "error"];

/** Whether a line of a level is written where `least` is the lowest that is. */
export function isLogged(level: LogLevel, least: LogLevel): boolean {
  return levels.indexOf(level) >= levels.indexOf(least);
}
export type LogFields = Readonly<Record<string, unknown>>;

export interface Log {
  debug(message: string, fields?: LogFields): void;
  info(message: string, fields?: LogFields): void;
  warn(message: string, fields?: LogFields): void;
  error(message: string, fields?: LogFields): void;
  /** A log whose lines all carry `fields`. */
  with(fields: LogFields): Log;
}

export const nullLog: Log = {
  debug: () => undefined,
  info: () => undefined,
  warn: () => undefined,
  error: () => undefined,
  with: () => nullLog,
};

/** A log that hands each line to `write`, fields merged and made safe. Level filtering is the writer's. */
export function logTo(
  write: (level: LogLevel, message: string, fields: Record<string, unknown>) => void,
  base: LogFields = {},
): Log {
  const at =
    (level: LogLevel) =>
    (message: string, fields: LogFields = {}): void =>
      write(level, message, safeFields({ ...base, ...fields }));
  return {
    debug: at("debug"),
    info: at("info"),
    warn: at("warn"),
    error: at("error"),
    with: (fields) => logTo(write, { ...base, ...fields }),
  };
}

const secretName =
  /authorization|passw|token|secret$|secret.?(data|value)|private.?key|client.?key|key.?data|cookie/i;
const secretText = /\b(Bearer|Basic)\s+[A-Za-z0-9._~+/=-]{6,}/g;
const deepest = 6;

/** Copies fields for output: errors become data, secrets become `[hidden]`, depth is bounded. */
export function safeFields(fields: LogFields): Record<string, unknown> {
  const safe: Record<string, unknown> = {};
  for (const [name, value] of Object.entries(fields)) safe[name] = safeValue(name, value, 0);
  return safe;
}

function safeValue(name: string, value: unknown, depth: number): unknown {
  if (isSecretName(name) && (typeof value === "string" || value instanceof Uint8Array)) return "[hidden]";
  if (typeof value === "string") return hideSecrets(value);
  if (typeof value === "bigint") return value.toString();
  if (typeof value === "function" || typeof value === "symbol") return String(value);
  if (typeof value !== "object" || value === null) return value;
  if (depth >= deepest) return "[deeper]";
  if (value instanceof Error) return errorFields(value, depth);
  if (value instanceof Uint8Array) return `[${value.byteLength} bytes]`;
  if (Array.isArray(value)) return value.map((item) => safeValue(name, item, depth + 1));
  const copy: Record<string, unknown> = {};
  for (const [key, item] of Object.entries(value)) copy[key] = safeValue(key, item, depth + 1);
  return copy;
}

function errorFields(error: Error, depth: number): Record<string, unknown> {
  const fields: Record<string, unknown> = { message: hideSecrets(error.message) };
  if (error instanceof KubeError) {
    fields["code"] = error.code;
    if (error.status !== undefined) fields["status"] = error.status;
  } else {
    fields["name"] = error.name;
    // A stack says where our own code went wrong; for an answer of the server it says nothing.
    if (error.stack !== undefined) fields["stack"] = hideSecrets(error.stack);
  }
  if (error.cause !== undefined) fields["cause"] = safeValue("cause", error.cause, depth + 1);
  return fields;
}

/** Whether what has this name is kept out of sight. */
export function isSecretName(name: string): boolean {
  return secretName.test(name);
}

/** The text without credentials of HTTP. */
export function hideSecrets(text: string): string {
  return text.replace(secretText, "$1 [hidden]");
}
