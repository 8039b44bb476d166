/** Values that a schema of a kind allows, for properties of what is done with its objects. */
import fc from "fast-check";
import type { JsonSchema } from "../crds/index.ts";
import { isJsonObject } from "../kube/core/index.ts";

/** Values of certain fields, by path: `spec.list[].name`; `*` stands for any key of a map. */
export type Words = Readonly<Record<string, readonly unknown[]>>;

/** Optional fields come and go. `words`: for fields whose values the schema leaves open and the code does not. */
export function schemaValues(schema: JsonSchema, words: Words = {}, path = ""): fc.Arbitrary<unknown> {
  const { type, properties, items, additionalProperties, required, format, minimum } = schema;
  if (Object.hasOwn(words, path)) return fc.constantFrom(...(words[path] ?? []));
  if (schema["x-kubernetes-int-or-string"] === true) return fc.oneof(fc.nat(9), fc.constantFrom("10%", "x"));
  if (Array.isArray(schema["enum"])) return fc.constantFrom(...schema["enum"]);
  if (type === "object" && isJsonObject(properties)) {
    const fields = Object.entries(properties).map(([name, field]): [string, fc.Arbitrary<unknown>] => {
      const value = schemaValues(
        isJsonObject(field) ? field : {},
        words,
        path === "" ? name : `${path}.${name}`,
      );
      const needed = Array.isArray(required) && required.includes(name);
      return [name, needed ? value : fc.option(value, { nil: undefined })];
    });
    return fc.record(Object.fromEntries(fields));
  }
  if (type === "object") {
    const values = isJsonObject(additionalProperties)
      ? schemaValues(additionalProperties, words, `${path}.*`)
      : fc.constant("v");
    return fc.dictionary(fc.constantFrom("a", "b", "c"), values, { maxKeys: 2 });
  }
  if (type === "array") {
    const item = schemaValues(isJsonObject(items) ? items : {}, words, `${path}[]`);
    return fc.array(item, { minLength: 1, maxLength: 2 });
  }
  if (type === "integer") return fc.integer({ min: typeof minimum === "number" ? minimum : 0, max: 99 });
  if (type === "boolean") return fc.boolean();
  if (format === "date-time") return fc.constantFrom("2026-01-01T00:00:00Z", "2026-02-03T04:05:06Z");
  if (type === "string") return fc.constantFrom("Alpha", "beta", "RollingUpdate");
  return fc.constantFrom<unknown>({}, { some: "thing" });
}
