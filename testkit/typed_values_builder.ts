/**
 * Random values of a type of the core table or of wire_types.ts, written as people write manifests: fields come and go,
 * zeros are spelled out or not. Two changes of them: one that means nothing, one that means something.
 */
import {
  type CoreField,
  type CoreType,
  isJsonObject,
  type JsonObject,
  own,
  put,
  type ScalarName,
  type StructLookup,
} from "../kube/core/index.ts";

/** A number below the given one. */
export type Pick = (below: number) => number;

const samples: Readonly<Record<ScalarName, readonly unknown[]>> = {
  string: ["a", "Always", "x<y", ""],
  bool: [true, false],
  int: [1, 7, 0],
  float: [1, 0],
  byte: [1, 0],
  bytes: ["aGk=", ""],
  time: ["2026-01-02T03:04:05Z", "2026-02-03T04:05:06Z"],
  microtime: ["2026-01-02T03:04:05.000000Z", "2026-02-03T04:05:06.000000Z"],
  quantity: ["1", "500m", "1Gi", "0"],
  intstr: [1, "20%", 0, "web"],
  any: [{ some: "thing" }, {}],
};

/** Zeros are the last; `any` has none. */
const zeros: Readonly<Partial<Record<ScalarName, readonly unknown[]>>> = {
  string: [""],
  bool: [false],
  int: [0],
  float: [0],
  byte: [0],
  intstr: [0],
  quantity: ["0", 0],
};

const DEEP = 5;

export class TypedValues {
  readonly #structs: StructLookup;
  readonly #pick: Pick;

  constructor(structs: StructLookup, pick: Pick) {
    this.#structs = structs;
    this.#pick = pick;
  }

  struct(type: string, depth = 0): JsonObject {
    const made: JsonObject = {};
    for (const field of this.#fields(type)) {
      const chance = !field.omitEmpty ? 90 : depth > DEEP ? 3 : field.type.kind === "struct" ? 30 : 15;
      if (this.#pick(100) < chance) put(made, field.name, this.#value(field.type, depth + 1));
    }
    return made;
  }

  /** The same in other words: members that mean nothing come, go, or are written otherwise. */
  reworded(value: JsonObject, type: string): JsonObject {
    const made: JsonObject = { ...value };
    for (const field of this.#fields(type)) {
      const before = own(value, field.name) ?? undefined;
      const forms = this.#emptyForms(field);
      const isEmpty = before === undefined || forms.some((form) => sameJson(form, before));
      const after =
        isEmpty && this.#pick(3) === 0
          ? forms[this.#pick(forms.length)]
          : this.#rewordedPart(before, field.type);
      if (after === undefined) delete made[field.name];
      else put(made, field.name, after);
    }
    return made;
  }

  /** The same but for one scalar; undefined when there is none to change. */
  changed(value: JsonObject, type: string): JsonObject | undefined {
    const places = this.#places(value, type);
    const place = places[this.#pick(Math.max(1, places.length))];
    return place?.();
  }

  /** 1.32 knows them. */
  #fields(type: string): CoreField[] {
    return [...(this.#structs(type)?.values() ?? [])].filter(({ in132 }) => in132);
  }

  #value(type: CoreType, depth: number): unknown {
    const count = this.#pick(3);
    switch (type.kind) {
      case "struct":
        return this.struct(type.name, depth);
      case "list":
        return Array.from({ length: count }, () => this.#value(type.element, depth + 1));
      case "map":
        return Object.fromEntries(
          ["a", "b"].slice(0, count).map((key) => [key, this.#value(type.element, depth + 1)]),
        );
      case "scalar": {
        const values = samples[type.scalar];
        return values[this.#pick(values.length)];
      }
    }
  }

  /** What of a field is as good as nothing; undefined stands for its absence. */
  #emptyForms({ type, omitEmpty }: CoreField): unknown[] {
    const absent = [undefined, null];
    if (type.pointer) return absent;
    switch (type.kind) {
      case "struct":
        return [...absent, {}, this.reworded({}, type.name)];
      case "list":
        return omitEmpty ? [...absent, []] : absent;
      case "map":
        return omitEmpty ? [...absent, {}] : absent;
      case "scalar":
        if (type.scalar === "bytes") return omitEmpty ? [...absent, ""] : absent;
        return [...absent, ...(zeros[type.scalar] ?? [])];
    }
  }

  #rewordedPart(value: unknown, type: CoreType): unknown {
    if (type.kind === "struct" && isJsonObject(value)) return this.reworded(value, type.name);
    if (type.kind === "list" && Array.isArray(value))
      return value.map((item: unknown) => this.#rewordedPart(item, type.element));
    if (type.kind === "map" && isJsonObject(value))
      return Object.fromEntries(
        Object.entries(value).map(([key, item]) => [key, this.#rewordedPart(item, type.element)]),
      );
    return value;
  }

  /** Each gives the whole object with one scalar changed. */
  #places(value: JsonObject, type: string): (() => JsonObject)[] {
    return this.#fields(type).flatMap((field) => {
      const member = own(value, field.name) ?? undefined;
      return this.#changes(member, field.type).map((change) => () => ({ ...value, [field.name]: change() }));
    });
  }

  #changes(value: unknown, type: CoreType): (() => unknown)[] {
    switch (type.kind) {
      case "struct":
        return isJsonObject(value) ? this.#places(value, type.name) : [];
      case "list":
        return Array.isArray(value)
          ? value.flatMap((item: unknown, index) =>
              this.#changes(item, type.element).map((change) => () => value.with(index, change())),
            )
          : [];
      case "map":
        return isJsonObject(value)
          ? Object.entries(value).flatMap(([key, item]) =>
              this.#changes(item, type.element).map((change) => () => ({ ...value, [key]: change() })),
            )
          : [];
      case "scalar":
        return type.scalar === "any" ? [] : [() => this.#other(value, type)];
    }
  }

  /** A value of another meaning. Without a pointer, what is absent is zero. */
  #other(value: unknown, { scalar, pointer }: Extract<CoreType, { kind: "scalar" }>): unknown {
    const forms = zeros[scalar] ?? [];
    const meaning = (form: unknown) =>
      !pointer && forms.includes(form ?? forms[0]) ? undefined : (form ?? undefined);
    const others = samples[scalar].filter((sample) => meaning(sample) !== meaning(value));
    return others[this.#pick(others.length)];
  }
}

function sameJson(left: unknown, right: unknown): boolean {
  return JSON.stringify(left) === JSON.stringify(right);
}
