/** The acceptance suites of Advanced StatefulSet, on a sandbox. */
import t from "tap";
import { suitesFor } from "./all.ts";
import { tapSteps } from "./tap_steps.ts";

t.test("acceptance cases", { timeout: 850_000 }, (t) => tapSteps(t, suitesFor("statefulset")));
