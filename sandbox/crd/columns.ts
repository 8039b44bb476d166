/** Printer columns of a custom kind. */
import { goJson } from "../../kube/core/index.ts";
import { type Fields, numberAt, objectsAt, textAt } from "../json.ts";
import { ageColumn, ageOf, column, nameColumn, type Printer, tableOf } from "../resources/printer.ts";
import { jsonPath } from "./json_path.ts";

/** `version` is one entry of `spec.versions`. */
export function customPrinter(version: Fields): Printer {
  const own = objectsAt(version, "additionalPrinterColumns").map((entry) => {
    const path = textAt(entry, "jsonPath");
    const type = textAt(entry, "type");
    const read = jsonPath(path) ?? (() => []);
    return column(
      textAt(entry, "name"),
      textAt(entry, "description") || `Value at ${path}.`,
      (object, now) => cellText(read(object)[0], type, now),
      { type, format: textAt(entry, "format"), priority: numberAt(entry, "priority") ?? 0 },
    );
  });
  return tableOf([nameColumn, ...(own.length === 0 ? [ageColumn] : own)]);
}

function cellText(value: unknown, type: string, now: number): unknown {
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
