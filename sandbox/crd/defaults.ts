/** Defaults of structural schemas. */
import { cloneJson } from "../../kube/core/index.ts";
import { isFields } from "../json.ts";
import type { Shape } from "../resources/shape.ts";

/** Fills in what is absent, and nulls where null is not allowed; changes the value in place. */
export function applySchemaDefaults(value: unknown, shape: Shape): void {
  if (Array.isArray(value)) {
    const { items } = shape;
    if (items !== undefined) for (const item of value) applySchemaDefaults(item, items);
    return;
  }
  if (!isFields(value)) return;
  for (const name of shape.memberNames) {
    const member = shape.member(name);
    if (member === undefined || member.raw["default"] === undefined) continue;
    const absent = value[name] === undefined || (value[name] === null && !member.nullable);
    if (absent) value[name] = cloneJson<unknown>(member.raw["default"]);
  }
  for (const [name, member] of Object.entries(value)) {
    const memberShape = shape.member(name) ?? shape.values;
    if (memberShape !== undefined) applySchemaDefaults(member, memberShape);
  }
}
