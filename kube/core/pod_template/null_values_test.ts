import fc from "fast-check";
import t from "tap";
import { jsonEqual } from "../json.ts";
import { encodeTyped, withoutNulls } from "./index.ts";

const container = { name: "main", image: "app:1" };
const template = (spec: object, metadata: object = {}) => ({
  metadata,
  spec: { containers: [container], ...spec },
});
const read = (value: unknown) => withoutNulls(value, "PodTemplateSpec");

t.test("members that are null are absent, items and entries that are null are empty ones", async (t) => {
  t.same(read(template({ tolerations: null, volumes: [null] })), template({ volumes: [{}] }));
  t.same(
    read(template({ nodeSelector: { a: null } }, { annotations: null, labels: { a: null, b: "c" } })),
    template({ nodeSelector: { a: "" } }, { labels: { a: "", b: "c" } }),
  );
  t.same(
    read({
      spec: { containers: [null, { ...container, args: [null, "x"], resources: { limits: { cpu: null } } }] },
    }),
    { spec: { containers: [{}, { ...container, args: ["", "x"], resources: { limits: { cpu: "0" } } }] } },
  );
});

t.test("what nobody knows, what is of another type, and what holds no null stay as they are", async (t) => {
  for (const value of [
    template({ later: { a: null, b: [null] } }),
    template({ volumes: "x" }),
    null,
    "x",
    [null],
  ])
    t.equal(read(value), value);
});

t.test(
  "property: it says the same to whoever reads with types, and reading twice is reading once",
  async (t) => {
    const part = fc.constantFrom<unknown>(null, undefined, {}, [], [null], [{}], { a: null }, "x", 1, {
      limits: { cpu: null },
    });
    const names = [
      "containers",
      "volumes",
      "tolerations",
      "nodeSelector",
      "affinity",
      "hostAliases",
      "overhead",
    ];
    const spec = fc.dictionary(fc.constantFrom(...names), part);
    fc.assert(
      fc.property(
        spec,
        fc.dictionary(fc.constantFrom("labels", "finalizers", "name"), part),
        (pod, metadata) => {
          const before = { metadata, spec: pod };
          const after = read(before);
          t.ok(jsonEqual(encodeTyped(after, "PodTemplateSpec"), encodeTyped(before, "PodTemplateSpec")));
          t.equal(read(after), after);
        },
      ),
      { numRuns: 500, seed: 23 },
    );
  },
);
