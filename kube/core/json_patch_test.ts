import fc from "fast-check";
import t from "tap";
import { applyJsonPatch, createJsonPatch, diffPositional, jsonEqual, PatchError } from "./index.ts";

const seed = 20_261;
const json = fc.letrec((tie) => ({
  value: fc.oneof({ maxDepth: 3 }, fc.integer(), fc.string(), fc.constant(null), tie("list"), tie("object")),
  list: fc.array(tie("value"), { maxLength: 4 }),
  object: fc.dictionary(fc.constantFrom("a", "b", "a/b", "m~n", ""), tie("value"), { noNullPrototype: true }),
})).object;

t.test("a positional difference applied to the first document gives the second, and changes neither", (t) => {
  t.doesNotThrow(() =>
    fc.assert(
      fc.property(json, json, (before, after) => {
        const kept = JSON.stringify(before);
        const patched = applyJsonPatch(Object(before), diffPositional(before, after));
        return jsonEqual(patched, after) && JSON.stringify(before) === kept;
      }),
      { seed, numRuns: 300 },
    ),
  );
  t.end();
});

t.test("an element inserted in front shows as a change of every index", (t) => {
  const operations = diffPositional(
    { c: [{ n: "a" }, { n: "b" }] },
    { c: [{ n: "x" }, { n: "a" }, { n: "b" }] },
  );
  t.same(operations, [
    { op: "replace", path: "/c/0/n", value: "x" },
    { op: "replace", path: "/c/1/n", value: "a" },
    { op: "add", path: "/c/2", value: { n: "b" } },
  ]);
  t.end();
});

t.test("what is put into a list that is otherwise the same is added where it stands", (t) => {
  const [a, b] = [{ n: "a" }, { n: "b" }];
  const put = (after: unknown[]) => createJsonPatch({ c: [a, b] }, { c: after });
  t.same(put([{ n: "x" }, a, { n: "y" }, b]), [
    { op: "add", path: "/c/0", value: { n: "x" } },
    { op: "add", path: "/c/2", value: { n: "y" } },
  ]);
  t.same(put([a, b]), []);
  t.same(put([{ n: "c" }, a]), [
    { op: "replace", path: "/c/0/n", value: "c" },
    { op: "replace", path: "/c/1/n", value: "a" },
  ]);
  t.end();
});

t.test("a patch gives the second document of whatever values the two share", (t) => {
  const element = fc.constantFrom<unknown>(...[{ n: 1 }, { n: 2 }, "a", 1, null]);
  const list = fc.record({ list: fc.array(element, { maxLength: 6 }) });
  t.doesNotThrow(() =>
    fc.assert(
      fc.property(list, list, (before, after) =>
        jsonEqual(applyJsonPatch(before, createJsonPatch(before, after)), after),
      ),
      { seed, numRuns: 2000 },
    ),
  );
  t.end();
});

t.test("surplus elements are removed from the end, keys are escaped", (t) => {
  t.same(diffPositional({ l: [1, 2, 3], "a/b~": 1 }, { l: [1] }), [
    { op: "remove", path: "/l/2" },
    { op: "remove", path: "/l/1" },
    { op: "remove", path: "/a~1b~0" },
  ]);
  t.end();
});

t.test("the document and the patch stay as they were when later operations go into added values", (t) => {
  const document = { a: { list: [1] }, untouched: {} };
  const value = { inner: { n: 1 } };
  const patched = applyJsonPatch(document, [
    { op: "add", path: "/b", value },
    { op: "replace", path: "/b/inner/n", value: 2 },
    { op: "add", path: "/a/list/-", value: 2 },
    { op: "copy", from: "/a", path: "/c" },
    { op: "move", from: "/a/list", path: "/d" },
  ]);
  t.same(patched, { a: {}, untouched: {}, b: { inner: { n: 2 } }, c: { list: [1, 2] }, d: [1, 2] });
  t.same(document, { a: { list: [1] }, untouched: {} });
  t.same(value, { inner: { n: 1 } });
  t.equal(patched["untouched"], document.untouched, "untouched parts are shared");
  t.end();
});

t.test("failures carry a stable code and the operation", (t) => {
  const code = (operations: unknown) => {
    try {
      applyJsonPatch({ a: 1, l: [1] }, Array.isArray(operations) ? operations : []);
    } catch (error) {
      return error instanceof PatchError ? `${error.code} ${error.index}` : String(error);
    }
    return "applied";
  };
  t.equal(code([{ op: "test", path: "/a", value: 2 }]), "TestFailed 0");
  t.equal(
    code([
      { op: "test", path: "/a", value: 1 },
      { op: "remove", path: "/x" },
    ]),
    "InvalidPath 1",
  );
  t.equal(code([{ op: "replace", path: "/x/y", value: 1 }]), "InvalidPath 0");
  t.equal(code([{ op: "add", path: "/l/9", value: 1 }]), "InvalidPath 0");
  t.equal(code([{ op: "add", path: "a", value: 1 }]), "InvalidPatch 0");
  t.equal(code([{ op: "turn", path: "/a" }]), "InvalidPatch 0");
  t.equal(code([{ op: "move", path: "/a" }]), "InvalidPatch 0");
  t.equal(code([null]), "InvalidPatch 0");
  t.equal(code([{ op: "add", path: "/__proto__/x", value: 1 }]), "InvalidPatch 0");
  t.equal(code([{ op: "replace", path: "", value: 1 }]), "InvalidPatch -1");
  t.end();
});
