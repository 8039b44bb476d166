/** What ships, quickly: the built controller takes every kind that it serves through its first acceptance case. */
import t from "tap";
import { carriedOutKinds } from "../../crds/index.ts";
import { firstCases } from "./all.ts";
import { tapSteps } from "./tap_steps.ts";

t.test("every kind that is served has a first case", async (t) => {
  t.same(Object.keys(firstCases).sort(), carriedOutKinds.map(({ kind }) => kind).sort());
});

t.test("first cases on a sandbox", { timeout: 300_000 }, (t) =>
  tapSteps(t, [...new Set(Object.values(firstCases))]),
);
