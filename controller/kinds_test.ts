import t from "tap";
import { kinds as definitions } from "../crds/index.ts";
import { controllers, kinds } from "./kinds.ts";

t.test("every kind that is defined has a controller, and no other", async (t) => {
  const names = (found: readonly { kind: string }[]) => found.map(({ kind }) => kind).sort();
  t.same(names(kinds.map(({ resource }) => resource)), names(definitions));
});

t.test("names of controllers, which metrics and numbers of workers are found by", async (t) => {
  const names = controllers.map(({ controllerName }) => controllerName);
  t.equal(new Set(names).size, names.length);
});
