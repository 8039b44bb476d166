import fc from "fast-check";
import t from "tap";
import { applyMergePatch, createMergePatch, jsonEqual } from "./index.ts";

const json = fc.letrec((tie) => ({
  value: fc.oneof({ maxDepth: 3 }, fc.integer(), fc.string(), fc.array(fc.integer()), tie("object")),
  object: fc.dictionary(fc.constantFrom("a", "b", "c", "__proto__"), tie("value"), { noNullPrototype: true }),
})).object;

t.test("the created patch turns the first object into the second", (t) => {
  t.doesNotThrow(() =>
    fc.assert(
      fc.property(json, json, (left, right) => {
        const [before, after] = [Object(left), Object(right)];
        return jsonEqual(applyMergePatch(before, createMergePatch(before, after)), after);
      }),
      { seed: 7, numRuns: 300 },
    ),
  );
  t.end();
});

t.test("the examples of RFC 7386", (t) => {
  t.same(applyMergePatch({ a: "b", b: "c" }, { a: null }), { b: "c" });
  t.same(applyMergePatch({ a: ["b"] }, { a: "c" }), { a: "c" });
  t.same(applyMergePatch({ a: { b: "c" } }, { a: { b: "d", c: null } }), { a: { b: "d" } });
  t.same(applyMergePatch({ a: [{ b: "c" }] }, { a: [1] }), { a: [1] });
  t.same(applyMergePatch({ e: null }, { a: 1 }), { e: null, a: 1 });
  t.same(applyMergePatch({}, { a: { bb: { ccc: null } } }), { a: { bb: {} } });
  t.end();
});

t.test("equal objects need no patch", (t) => {
  t.same(createMergePatch({ a: { b: [1, { c: 2 }] } }, { a: { b: [1, { c: 2 }] } }), {});
  t.end();
});
