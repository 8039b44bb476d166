/** The acceptance suites that need a gate: those with the same gates share a controller, on a sandbox. */
import t from "tap";
import { suitesFor } from "./all.ts";
import { tapSteps } from "./tap_steps.ts";

t.test("acceptance cases", { timeout: 570_000 }, (t) => tapSteps(t, suitesFor("gated")));
