/** What ships, quickly: the built controller takes every kind that it serves through its first acceptance case; here a third of them. */
import t from "tap";
import { kinds } from "../../crds/index.ts";
import { firstCases, suitesFor } from "./all.ts";
import { tapSteps } from "./tap_steps.ts";

t.test("every kind that is served has a first case", async (t) => {
  const named = Object.keys(firstCases).sort();
  t.same(named, kinds.map(({ kind }) => kind).sort(), "`firstCases` in test/cases/all.ts names each kind");
});

t.test("acceptance cases", { timeout: 570_000 }, (t) => tapSteps(t, suitesFor("first", [1, 3])));
