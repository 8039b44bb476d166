/** The other half of the first acceptance cases. */
import t from "tap";
import { suitesFor } from "./all.ts";
import { tapSteps } from "./tap_steps.ts";

t.test("first cases on a sandbox", { timeout: 570_000 }, (t) => tapSteps(t, suitesFor("first", 2)));
