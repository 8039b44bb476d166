/** The suites that kill controllers, each with a sandbox of its own: third 3. */
import t from "tap";
import { suitesFor } from "./all.ts";
import { tapSteps } from "./tap_steps.ts";

t.test("acceptance cases", { timeout: 570_000 }, (t) => tapSteps(t, suitesFor("fault", [3, 3])));
