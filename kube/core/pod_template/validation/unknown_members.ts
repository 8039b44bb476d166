/** Which members of an object does the API not know? */
import { type CoreType, coreStruct } from "../../core_types.ts";
import { childPath, keyPath } from "../../field_errors.ts";
import { isJsonObject } from "../../json.ts";

export interface UnknownMember {
  /** `spec.containers[0].imagee`. */
  readonly path: string;
  readonly name: string;
  /** What may stand there. */
  readonly known: readonly string[];
}

/** Members that a core type (`PodTemplateSpec`, …) lacks, at any depth. Values of wrong types are left to others. */
export function unknownMembers(value: unknown, typeName: string, path: string): UnknownMember[] {
  const found: UnknownMember[] = [];
  visit(value, { kind: "struct", name: typeName, pointer: false }, path, found);
  return found;
}

function visit(value: unknown, type: CoreType, path: string, found: UnknownMember[]): void {
  if (type.kind === "list") {
    if (Array.isArray(value))
      for (const [index, item] of value.entries()) visit(item, type.element, `${path}[${index}]`, found);
  } else if (type.kind === "map") {
    if (isJsonObject(value))
      for (const [key, item] of Object.entries(value)) visit(item, type.element, keyPath(path, key), found);
  } else if (type.kind === "struct" && isJsonObject(value)) {
    const fields = coreStruct(type.name);
    if (fields === undefined) return;
    for (const [name, member] of Object.entries(value)) {
      const field = fields.get(name);
      if (field === undefined) found.push({ path: childPath(path, name), name, known: [...fields.keys()] });
      else visit(member, field.type, childPath(path, name), found);
    }
  }
}
