/** Printer columns of a custom kind. */
import { goJson } from "../../kube/core/index.ts";
import { type Fields, numberAt, objectsAt, textAt } from "../json.ts";
import {
  ageColumn,
  ageOf,
  ageOfObject,
  type Column,
  nameColumn,
  type Printer,
} from "../resources/printer.ts";
import { jsonPath } from "./json_path.ts";

interface CustomColumn {
  readonly column: Column;
  readonly read: (value: unknown) => readonly unknown[];
}

/** `version` is one entry of `spec.versions`. */
export function customPrinter(version: Fields): Printer {
  const columns: CustomColumn[] = objectsAt(version, "additionalPrinterColumns").map((entry) => ({
    column: {
      name: textAt(entry, "name"),
      type: textAt(entry, "type"),
      format: textAt(entry, "format"),
      description: textAt(entry, "description") || `Value at ${textAt(entry, "jsonPath")}.`,
      priority: numberAt(entry, "priority") ?? 0,
    },
    read: jsonPath(textAt(entry, "jsonPath")) ?? (() => []),
  }));
  if (columns.length === 0) {
    return {
      columns: [nameColumn, ageColumn],
      row: (object, now) => [object.metadata.name ?? "", ageOfObject(object, now)],
    };
  }
  return {
    columns: [nameColumn, ...columns.map(({ column }) => column)],
    row: (object, now) => [
      object.metadata.name ?? "",
      ...columns.map(({ column, read }) => cell(read(object)[0], column.type, now)),
    ],
  };
}

function cell(value: unknown, type: string, now: number): unknown {
  if (value === undefined || value === null) return null;
  switch (type) {
    case "integer":
      return typeof value === "number" ? Math.trunc(value) : null;
    case "number":
      return typeof value === "number" ? value : null;
    case "boolean":
      return typeof value === "boolean" ? value : null;
    case "date":
      return typeof value === "string" ? ageOf(value, now) : null;
    default:
      return typeof value === "string" ? value : goJson(value);
  }
}
