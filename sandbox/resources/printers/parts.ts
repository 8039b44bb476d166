/** Pieces that several tables share. */
import { formatSelector, isJsonObject } from "../../../kube/core/index.ts";
import type { StoredObject } from "../../cluster.ts";
import { type Fields, fieldsAt, isSelector, objectsAt, textAt } from "../../json.ts";
import { ageColumn, type CellColumn, column, nameColumn, type Printer, tableOf, wide } from "../printer.ts";

/** Name, these columns, age, and what stands behind it. */
export function simple(columns: readonly CellColumn[], behind: readonly CellColumn[] = []): Printer {
  return tableOf([nameColumn, ...columns, ageColumn, ...behind]);
}

/** `app=web,tier=a`, `<none>`. */
export function labelText(labels: Fields): string {
  const texts = Object.entries(labels).map(([key, value]) => `${key}=${String(value)}`);
  return texts.length === 0 ? "<none>" : texts.sort().join(",");
}

/** Containers and images of kinds with a pod template; `path` is where that is. */
export function templateColumns(...path: readonly string[]): CellColumn[] {
  const join = (object: StoredObject, name: string): string =>
    objectsAt(object, ...path, "spec", "containers")
      .map((container) => textAt(container, name))
      .join(",");
  return [
    column("Containers", "Names of the template's containers.", (object) => join(object, "name"), wide),
    column("Images", "Images of the template's containers.", (object) => join(object, "image"), wide),
  ];
}

export function selectorCell(object: StoredObject): string {
  const selector = fieldsAt(object, "spec", "selector");
  const structured = isJsonObject(selector["matchLabels"]) || Array.isArray(selector["matchExpressions"]);
  if (!structured) return labelText(selector);
  return (isSelector(selector) ? formatSelector(selector) : "") || "<none>";
}
