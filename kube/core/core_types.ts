/**
 * The shapes of the core kinds, from the generated table gen/core_types.ts, and of types that are written down in the
 * same way elsewhere.
 *
 * Each type is one text, fields separated by spaces: `name?+:type~strategy=mergeKey@list`. `?` omitempty; `+` not
 * yet in Kubernetes 1.32; type: a scalar (`string bool int float byte bytes time microtime quantity intstr any`),
 * the name of a type, `*T` optional, `[]T` list, `{}T` map; `~` patch strategies; `=` patch merge key; `@` list type
 * of server-side apply: `atomic`, `set` or the keys of a map list. `...T` stands for all fields of T.
 */
import { coreKinds, coreTypes } from "./gen/core_types.ts";

export type ScalarName =
  | "string"
  | "bool"
  | "int"
  | "float"
  | "byte"
  | "bytes"
  | "time"
  | "microtime"
  | "quantity"
  | "intstr"
  | "any";

export type CoreType =
  | { readonly kind: "scalar"; readonly scalar: ScalarName; readonly pointer: boolean }
  | { readonly kind: "struct"; readonly name: string; readonly pointer: boolean }
  | { readonly kind: "list"; readonly element: CoreType; readonly pointer: boolean }
  | { readonly kind: "map"; readonly element: CoreType; readonly pointer: boolean };

export interface CoreField {
  readonly name: string;
  readonly type: CoreType;
  /** Left out of the JSON when empty. */
  readonly omitEmpty: boolean;
  /** Kubernetes 1.32 knows it. */
  readonly in132: boolean;
  readonly merges: boolean;
  readonly replaces: boolean;
  readonly retainsKeys: boolean;
  /** Empty where elements have no key. */
  readonly mergeKey: string;
  /** What server-side apply does with the field; `""` is the default of its type. */
  readonly listType: "" | "atomic" | "set" | "map";
  readonly listKeys: readonly string[];
}

/** Fields in the order of Kubernetes' declaration, by JSON name. */
export type CoreStruct = ReadonlyMap<string, CoreField>;

/** Finds the fields of a type; undefined if the table does not have it. */
export type StructLookup = (name: string) => CoreStruct | undefined;

export const coreStruct: StructLookup = structsOf(coreTypes);

/** The types of a table, which may name those of another one: no name may be in both. */
export function structsOf(
  texts: Readonly<Record<string, string>>,
  others: StructLookup = () => undefined,
): StructLookup {
  const parsed = new Map<string, CoreStruct>();
  const find: StructLookup = (name) => {
    const known = parsed.get(name);
    if (known !== undefined) return known;
    const text = Object.hasOwn(texts, name) ? texts[name] : undefined;
    if (text === undefined) return others(name);
    const struct = parseStruct(text, find);
    parsed.set(name, struct);
    return struct;
  };
  return find;
}

function parseStruct(text: string, find: StructLookup): CoreStruct {
  const fields = new Map<string, CoreField>();
  for (const part of text.split(" ")) {
    if (part.startsWith("..."))
      for (const [name, field] of find(part.slice(3)) ?? []) fields.set(name, field);
    const field = parseField(part);
    if (field !== undefined) fields.set(field.name, field);
  }
  return fields;
}

/** Type name of a core kind, `("apps/v1", "Deployment")` -> `Deployment`; undefined for kinds not in the table. */
export function coreTypeOf(apiVersion: string, kind: string): string | undefined {
  const key = `${apiVersion}/${kind}`;
  return Object.hasOwn(coreKinds, key) ? coreKinds[key] : undefined;
}

const fieldPattern = /^([^:?+.]+)(\??)(\+?):([^~=@]+)(?:~([^=@]+))?(?:=([^@]+))?(?:@(.+))?$/;

function parseField(text: string): CoreField | undefined {
  const match = fieldPattern.exec(text);
  if (match === null) return undefined;
  const [, name = "", optional, added, type = "", strategies = "", mergeKey = "", list = ""] = match;
  const strategy = strategies.split(",");
  const listType = list === "" || list === "atomic" || list === "set" ? list : "map";
  return {
    name,
    type: parseType(type),
    omitEmpty: optional === "?",
    in132: added !== "+",
    merges: strategy.includes("merge"),
    replaces: strategy.includes("replace"),
    retainsKeys: strategy.includes("retainKeys"),
    mergeKey,
    listType,
    listKeys: listType === "map" ? list.split(",") : [],
  };
}

const scalars: Readonly<Record<string, ScalarName>> = {
  string: "string",
  bool: "bool",
  int: "int",
  float: "float",
  byte: "byte",
  bytes: "bytes",
  time: "time",
  microtime: "microtime",
  quantity: "quantity",
  intstr: "intstr",
  any: "any",
};

function parseType(text: string): CoreType {
  const pointer = text.startsWith("*");
  const rest = pointer ? text.slice(1) : text;
  if (rest.startsWith("[]")) return { kind: "list", element: parseType(rest.slice(2)), pointer };
  if (rest.startsWith("{}")) return { kind: "map", element: parseType(rest.slice(2)), pointer };
  const scalar = scalars[rest];
  return scalar === undefined ? { kind: "struct", name: rest, pointer } : { kind: "scalar", scalar, pointer };
}
