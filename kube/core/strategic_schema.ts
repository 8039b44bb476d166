/** How a strategic merge patch treats the members of one object: what the core types say about them. */
import { type CoreField, type CoreType, coreStruct } from "./core_types.ts";
import { PatchError } from "./errors.ts";
import { isJsonObject } from "./json.ts";

export const PATCH = "$patch";
export const RETAIN_KEYS = "$retainKeys";
export const DELETE_FROM = "$deleteFromPrimitiveList/";
export const ELEMENT_ORDER = "$setElementOrder/";

export interface MemberRule {
  /** Type of the member, or of the elements when it is a list. */
  readonly type: CoreType;
  readonly merges: boolean;
  readonly replaces: boolean;
  readonly retainsKeys: boolean;
  readonly mergeKey: string;
}

const anyType: CoreType = { kind: "scalar", scalar: "any", pointer: false };
const plain = (type: CoreType): MemberRule => ({
  type: type.kind === "list" ? type.element : type,
  merges: false,
  replaces: false,
  retainsKeys: false,
  mergeKey: "",
});

/** The type to start from. Throws PatchError `InvalidPatch` for a name that the table does not have. */
export function rootType(name: string): CoreType {
  if (coreStruct(name) === undefined) {
    throw new PatchError("InvalidPatch", `no strategic merge patch for ${name}: its fields are not known`);
  }
  return { kind: "struct", name, pointer: false };
}

/** Rules of member `key` of an object of `type`. Throws PatchError `InvalidPath` for an unknown field. */
export function memberRule(type: CoreType, key: string): MemberRule {
  if (type.kind === "map") return plain(type.element);
  if (type.kind !== "struct") return plain(anyType);
  const field: CoreField | undefined = coreStruct(type.name)?.get(key);
  if (field === undefined) {
    const message = `unable to find api field in struct ${type.name} for the json field "${key}"`;
    throw new PatchError("InvalidPath", message);
  }
  return { ...plain(field.type), ...pick(field) };
}

function pick({ merges, replaces, retainsKeys, mergeKey }: CoreField) {
  return { merges, replaces, retainsKeys, mergeKey };
}

/** What tells an element from others: the value of its merge key, or the element itself. */
export function identity(element: unknown, mergeKey: string): unknown {
  if (mergeKey === "") return element;
  if (!isJsonObject(element)) {
    throw new PatchError(
      "InvalidPatch",
      `expected an object with key ${mergeKey}, got ${JSON.stringify(element)}`,
    );
  }
  if (!Object.hasOwn(element, mergeKey)) {
    const message = `map: ${JSON.stringify(element)} does not contain declared merge key: ${mergeKey}`;
    throw new PatchError("InvalidPatch", message);
  }
  return element[mergeKey];
}

/** Position of each identity; the first one counts. */
export function positions(list: readonly unknown[], mergeKey: string): Map<unknown, number> {
  const index = new Map<unknown, number>();
  list.forEach((element, position) => {
    const key = identity(element, mergeKey);
    if (!index.has(key)) index.set(key, position);
  });
  return index;
}
