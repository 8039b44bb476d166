/** The acceptance suites of all other kinds that need no gate, on a sandbox: quarter 1. */
import t from "tap";
import { suitesFor } from "./all.ts";
import { tapSteps } from "./tap_steps.ts";

t.test("acceptance cases", { timeout: 570_000 }, (t) => tapSteps(t, suitesFor("other", [1, 4])));
