/** Pieces that several tables share. */
import { formatSelector, isJsonObject, type LabelSelector } from "../../../kube/core/index.ts";
import type { StoredObject } from "../../cluster.ts";
import { type Fields, fieldsAt, isFields, objectsAt, textAt } from "../../json.ts";
import { ageColumn, ageOfObject, type Column, column, nameColumn, type Printer } from "../printer.ts";

/** Name, these columns, age. */
export function simple(
  columns: readonly Column[],
  cells: (object: StoredObject, now: number) => readonly unknown[],
  behind: readonly Column[] = [],
  cellsBehind: (object: StoredObject) => readonly unknown[] = () => [],
): Printer {
  return {
    columns: [nameColumn, ...columns, ageColumn, ...behind],
    row: (object, now) => [
      object.metadata.name ?? "",
      ...cells(object, now),
      ageOfObject(object, now),
      ...cellsBehind(object),
    ],
  };
}

/** `app=web,tier=a`, `<none>`. */
export function labelText(labels: Fields): string {
  const texts = Object.entries(labels).map(([key, value]) => `${key}=${String(value)}`);
  return texts.length === 0 ? "<none>" : texts.sort().join(",");
}

/** Containers, images and selector of kinds with a pod template; for `-o wide`. */
export const templateColumns: readonly Column[] = [
  column("Containers", "Names of the template's containers.", { priority: 1 }),
  column("Images", "Images of the template's containers.", { priority: 1 }),
];
export const selectorColumn = column("Selector", "Labels of its pods.", { priority: 1 });

export function templateCells(template: Fields): string[] {
  const containers = objectsAt(template, "spec", "containers");
  const join = (name: string): string => containers.map((container) => textAt(container, name)).join(",");
  return [join("name"), join("image")];
}

export function selectorCell(object: StoredObject): string {
  const selector = fieldsAt(object, "spec", "selector");
  const structured = isJsonObject(selector["matchLabels"]) || Array.isArray(selector["matchExpressions"]);
  if (!structured) return labelText(selector);
  return (isSelector(selector) ? formatSelector(selector) : "") || "<none>";
}

function isSelector(value: unknown): value is LabelSelector {
  return isFields(value);
}
