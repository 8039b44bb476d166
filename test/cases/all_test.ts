/** The acceptance suites that share one controller, on a sandbox. */
import t from "tap";
import { suites } from "./all.ts";
import { tapSteps } from "./tap_steps.ts";

const shared = suites.filter((suite) => !suite.needs.includes("own-controller"));

t.test("acceptance cases on a sandbox", { timeout: 850_000 }, (t) => tapSteps(t, shared));
