/** The acceptance suites that share one controller, on a sandbox; `first_cases_test.ts` runs the first of each kind. */
import t from "tap";
import { firstCases, suites } from "./all.ts";
import { tapSteps } from "./tap_steps.ts";

const first = new Set(Object.values(firstCases));
const shared = suites.filter((suite) => !suite.needs.includes("own-controller") && !first.has(suite));

t.test("acceptance cases on a sandbox", { timeout: 850_000 }, (t) => tapSteps(t, shared));
