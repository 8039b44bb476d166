import t from "tap";
import { jsonPath } from "./json_path.ts";

const object = {
  spec: { type: "Adaptive", containers: [{ name: "a" }, { name: "b" }] },
  status: {
    conditions: [
      { type: "Ready", status: "True" },
      { type: "Other", status: "False" },
    ],
  },
};

t.test("jsonPath() reads members, items, wildcards and filters", async (t) => {
  const read = (path: string) => jsonPath(path)?.(object);
  t.same(read(".spec.type"), ["Adaptive"]);
  t.same(read(".spec.containers[*].name"), ["a", "b"]);
  t.same(read(".spec.containers[1].name"), ["b"]);
  t.same(read('.status.conditions[?(@.type=="Ready")].status'), ["True"]);
  t.same(read('.status.conditions[?(@.type != "Ready")].status'), ["False"]);
  t.same(read(".spec.missing"), []);
});

t.test("jsonPath() finds nothing where a filter stands on a plain value", async (t) => {
  t.same(jsonPath('.spec.type[?(@ == "Adaptive")]')?.(object), []);
});

t.test("jsonPath() is undefined for what it cannot understand", async (t) => {
  t.equal(jsonPath(".spec["), undefined);
  t.equal(jsonPath("spec"), undefined);
});
