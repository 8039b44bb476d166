import fc from "fast-check";
import t from "tap";
import { applyMergePatch, jsonEqual } from "../../kube/core/index.ts";
import { contentErrors, contentOf } from "./content.ts";

const seed = 20_261_122;

const keys = fc.stringMatching(/^[a-zA-Z0-9._-]{1,5}$/).filter((key) => !key.startsWith("."));
const values = fc.dictionary(keys, fc.string({ maxLength: 8 }), { maxKeys: 4 });

function encoded(data: Readonly<Record<string, string>>): Record<string, string> {
  return Object.fromEntries(
    Object.entries(data).map(([key, text]) => [key, Buffer.from(text).toString("base64")]),
  );
}

t.test("what is stored is what was meant, whichever way it was written", async () => {
  fc.assert(
    fc.property(values, values, (data, plain) => {
      const meant = contentOf("Secret", { type: "Opaque", data: encoded({ ...data, ...plain }) });
      const broken = Object.fromEntries(
        Object.entries(encoded(data)).map(([key, text]) => [key, `${text.slice(0, 2)}\n${text.slice(2)}`]),
      );
      const written = contentOf("Secret", { data: broken, stringData: plain, immutable: false });
      return (
        jsonEqual(written, meant) && contentErrors("Secret", { data: broken, stringData: plain }).length === 0
      );
    }),
    { seed, numRuns: 1000 },
  );
});

t.test("any object is read; what is stored is stored as it is", async () => {
  const anything = fc.dictionary(
    fc.constantFrom("data", "stringData", "binaryData", "type", "immutable"),
    fc.oneof(fc.dictionary(keys, fc.oneof(fc.string(), fc.integer(), fc.constant(null))), fc.jsonValue()),
  );
  fc.assert(
    fc.property(fc.constantFrom("Secret" as const, "ConfigMap" as const), anything, (kind, object) => {
      const isValid = contentErrors(kind, object).length === 0;
      const content = contentOf(kind, object);
      return (
        jsonEqual(contentOf(kind, { ...content }), content) &&
        jsonEqual(applyMergePatch({}, content), content) &&
        (!isValid || contentErrors(kind, { ...content }).length === 0)
      );
    }),
    { seed, numRuns: 2000 },
  );
});

t.test("refused by field, without the value", async (t) => {
  const errors = (kind: "Secret" | "ConfigMap", object: Record<string, unknown>) =>
    contentErrors(kind, object).map(({ path, type, detail }) => `${path} ${type} ${detail}`);
  t.same(errors("Secret", { data: { a: "geheim!" } }), ["data[a] Invalid must be base64"]);
  t.same(errors("Secret", { stringData: { a: 5 } }), ["stringData[a] Invalid must be a string"]);
  t.match(errors("ConfigMap", { data: { "a b": "" } }), [/^data\[a b\] Invalid a valid config key/]);
  t.same(errors("ConfigMap", { data: [] }), ["data Invalid must be a map of strings"]);
  t.same(errors("ConfigMap", { data: { a: "x".repeat(1_048_577) } }), [
    "data TooLong may not be more than 1048576 bytes",
  ]);
  t.same(errors("Secret", { data: { a: Buffer.alloc(1_048_576).toString("base64") } }), []);
  t.same(errors("Secret", { data: { a: Buffer.alloc(1_048_577).toString("base64") } }).length, 1);
});
