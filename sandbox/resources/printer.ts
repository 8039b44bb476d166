/** Tables as `kubectl get` prints them. */
import type { StoredObject } from "../cluster.ts";
import { textAt } from "../json.ts";

export interface Column {
  readonly name: string;
  /** `string`, `integer`, `number`, `boolean`, `date`. */
  readonly type: string;
  /** `name` for the first column. */
  readonly format: string;
  readonly description: string;
  /** 0 shows always, higher only with `-o wide`. */
  readonly priority: number;
}

/** What stands in a column; `now` in milliseconds, for ages. */
export type Cell = (object: StoredObject, now: number) => unknown;

export interface Printer {
  readonly columns: readonly Column[];
  /** One cell a column. */
  row(object: StoredObject, now: number): readonly unknown[];
}

export interface CellColumn extends Column {
  readonly cell: Cell;
}

export function column(
  name: string,
  description: string,
  cell: Cell,
  options: Partial<Column> = {},
): CellColumn {
  return { ...shownColumn(name, description, options), cell };
}

export function shownColumn(name: string, description: string, options: Partial<Column> = {}): Column {
  return { name, type: "string", format: "", description, priority: 0, ...options };
}

/** A table whose cells are read one by one. */
export function tableOf(all: readonly CellColumn[]): Printer {
  return {
    columns: all.map(({ cell: _cell, ...shown }) => shown),
    row: (object, now) => all.map(({ cell }) => cell(object, now)),
  };
}

/** The text at a path. */
export function at(...path: readonly string[]): Cell {
  return (object) => textAt(object, ...path);
}

/** Only with `-o wide`. */
export const wide = { priority: 1 } as const;
export const integer = { type: "integer" } as const;

const nameText = "Name of the object, unique among its kind and namespace.";
export const nameColumn = column("Name", nameText, at("metadata", "name"), { format: "name" });
export const ageColumn = column("Age", "Time since the object was created.", ageOfObject);

/** `<unknown>`, `5s`, `3d2h`: how long ago an RFC 3339 time was. */
export function ageOf(time: string, now: number): string {
  const at = Date.parse(time);
  return Number.isNaN(at) ? "<unknown>" : humanDuration(now - at);
}

function ageOfObject(object: StoredObject, now: number): string {
  return ageOf(textAt(object, "metadata", "creationTimestamp"), now);
}

/** Two significant units at most, as kubectl shows durations. */
export function humanDuration(milliseconds: number): string {
  const seconds = Math.floor(milliseconds / 1000);
  if (seconds < -1) return "<invalid>";
  if (seconds < 0) return "0s";
  if (seconds < 120) return `${seconds}s`;
  const minutes = Math.floor(seconds / 60);
  if (minutes < 10) return seconds % 60 === 0 ? `${minutes}m` : `${minutes}m${seconds % 60}s`;
  if (minutes < 180) return `${minutes}m`;
  const hours = Math.floor(seconds / 3600);
  if (hours < 8) return minutes % 60 === 0 ? `${hours}h` : `${hours}h${minutes % 60}m`;
  if (hours < 48) return `${hours}h`;
  const days = Math.floor(hours / 24);
  if (hours < 192) return hours % 24 === 0 ? `${days}d` : `${days}d${hours % 24}h`;
  if (hours < 24 * 365 * 2) return `${days}d`;
  const years = Math.floor(hours / (24 * 365));
  if (hours < 24 * 365 * 8) {
    const rest = Math.floor(hours / 24) % 365;
    return rest === 0 ? `${years}y` : `${years}y${rest}d`;
  }
  return `${years}y`;
}

const created: Cell = ({ metadata }) => metadata.creationTimestamp ?? null;

/** For kinds without columns of their own. */
export const plainPrinter = tableOf([
  nameColumn,
  column("Created At", "When the object was created.", created, { type: "date" }),
]);
