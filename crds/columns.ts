/** Columns of `kubectl get`, and those that several kinds share. */
import type { PrinterColumn } from "./kind.ts";

export function integerColumn(name: string, jsonPath: string, description: string): PrinterColumn {
  return { name, type: "integer", jsonPath, description };
}

export function textColumn(name: string, jsonPath: string, description: string): PrinterColumn {
  return { name, type: "string", jsonPath, description };
}

export function dateColumn(name: string, jsonPath: string, description: string): PrinterColumn {
  return { name, type: "date", jsonPath, description };
}

/** A text that is shown only in wide output. */
export function wideColumn(name: string, jsonPath: string, description: string): PrinterColumn {
  return { name, type: "string", priority: 1, jsonPath, description };
}

export const ageColumn = dateColumn("AGE", ".metadata.creationTimestamp", "Time since creation.");

/** What runs in the pods of a workload. */
export const containerColumns: readonly PrinterColumn[] = [
  wideColumn("CONTAINERS", ".spec.template.spec.containers[*].name", "Container names."),
  wideColumn("IMAGES", ".spec.template.spec.containers[*].image", "Container images."),
];
