/** The acceptance suites of Advanced StatefulSet, on a sandbox: third 2. */
import t from "tap";
import { suitesFor } from "./all.ts";
import { tapSteps } from "./tap_steps.ts";

t.test("acceptance cases", { timeout: 570_000 }, (t) => tapSteps(t, suitesFor("statefulset", [2, 3])));
