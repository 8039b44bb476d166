import fc from "fast-check";
import t from "tap";
import { coreShape } from "../resources/builtin.ts";
import {
  compareValues,
  differenceOf,
  type FieldSet,
  fieldsOfValue,
  intersectionOf,
  isEmptySet,
  pathsOf,
  unionOf,
} from "./field_set.ts";

const pod = coreShape("", "v1", "Pod");

t.test("names fields of lists by their keys", (t) => {
  const set = fieldsOfValue(
    { spec: { containers: [{ name: "a", image: "x" }], nodeSelector: { b: "c" } } },
    pod,
  );
  t.same(set, {
    "f:spec": {
      "f:containers": { 'k:{"name":"a"}': { ".": {}, "f:name": {}, "f:image": {} } },
      "f:nodeSelector": {},
    },
  });
  t.same(pathsOf(set), [
    '.spec.containers[name="a"]',
    '.spec.containers[name="a"].name',
    '.spec.containers[name="a"].image',
    ".spec.nodeSelector",
  ]);
  t.end();
});

t.test("tells what changed and what went", (t) => {
  const before = {
    metadata: { labels: { a: "1", b: "1" } },
    spec: { containers: [{ name: "a", image: "x" }] },
  };
  const after = { metadata: { labels: { a: "2" } }, spec: { containers: [{ name: "b", image: "x" }] } };
  const { changed, removed } = compareValues(before, after, pod);
  t.same(changed, {
    "f:metadata": { "f:labels": { "f:a": {} } },
    "f:spec": { "f:containers": { 'k:{"name":"b"}': { ".": {}, "f:name": {}, "f:image": {} } } },
  });
  t.same(removed, {
    "f:metadata": { "f:labels": { "f:b": {} } },
    "f:spec": { "f:containers": { 'k:{"name":"a"}': { ".": {}, "f:name": {}, "f:image": {} } } },
  });
  t.end();
});

const { set: anySet } = fc.letrec<{ set: FieldSet }>((tie) => ({
  set: fc.dictionary(
    fc.constantFrom("f:a", "f:b", 'k:{"name":"x"}'),
    fc.oneof({ maxDepth: 3, withCrossShrink: true }, fc.constant({}), tie("set")),
    { maxKeys: 3 },
  ),
}));

t.test("is a set: differences, intersections and unions agree", (t) => {
  const sorted = (set: FieldSet) => pathsOf(set).sort();
  fc.assert(
    fc.property(anySet, anySet, (left, right) => {
      const both = intersectionOf(left, right);
      const only = differenceOf(left, right);
      t.ok(isEmptySet(intersectionOf(both, only)) || pathsOf(intersectionOf(both, only)).length === 0);
      return JSON.stringify([...sorted(both), ...sorted(only)].sort()) === JSON.stringify(sorted(left));
    }),
    { seed: 5 },
  );
  fc.assert(
    fc.property(anySet, anySet, (left, right) => {
      const joined = new Set(pathsOf(unionOf(left, right)));
      return [...pathsOf(left), ...pathsOf(right)].every((path) => joined.has(path));
    }),
    { seed: 5 },
  );
  t.end();
});
