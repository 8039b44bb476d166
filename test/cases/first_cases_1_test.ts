/** What ships, quickly: the built controller takes every kind that it serves through its first acceptance case; here a third of them. */
import t from "tap";
import { kinds } from "../../crds/index.ts";
import { firstCases, suitesFor } from "./all.ts";
import { tapSteps } from "./tap_steps.ts";

t.test("every kind that is served has a first case", async (t) => {
  t.same(Object.keys(firstCases).sort(), kinds.map(({ kind }) => kind).sort());
});

t.test("acceptance cases", { timeout: 570_000 }, (t) => tapSteps(t, suitesFor("first", [1, 3])));
