/** The suites that start and end controllers themselves, each with a sandbox of its own: third 2. */
import t from "tap";
import { suitesFor } from "./all.ts";
import { tapSteps } from "./tap_steps.ts";

t.test("acceptance cases", { timeout: 570_000 }, (t) => tapSteps(t, suitesFor("own controller", [2, 3])));
