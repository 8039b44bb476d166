/** The acceptance suites that start and kill controllers themselves, each on a sandbox of its own. */
import t from "tap";
import { rest } from "./all.ts";
import { tapSteps } from "./tap_steps.ts";

const alone = rest.filter(({ needs }) => needs.includes("own-controller"));

t.test("acceptance cases with controllers of their own", { timeout: 850_000 }, (t) => tapSteps(t, alone));
