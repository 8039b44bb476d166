import t from "tap";
import { jsonPath } from "./json_path.ts";

const value = {
  metadata: { annotations: { "a.b/c": "yes" } },
  status: {
    conditions: [
      { type: "Ready", status: "True" },
      { type: "Other", status: "False" },
    ],
    counts: [1, 2, 3],
  },
};

t.test("reads simple paths", (t) => {
  for (const [path, expected] of [
    [".status.counts[0]", [1]],
    [".status.counts[-1]", [3]],
    [".status.counts[*]", [1, 2, 3]],
    ['.status.conditions[?(@.type=="Ready")].status', ["True"]],
    [".status.conditions[?(@.type!='Ready')].status", ["False"]],
    [".metadata.annotations.a\\.b/c", ["yes"]],
    [".metadata.annotations['a.b/c']", ["yes"]],
    [".status.none.deeper", []],
  ] as const) {
    t.same(jsonPath(path)?.(value), expected, path);
  }
  t.equal(jsonPath(".status[?(broken"), undefined);
  t.end();
});
