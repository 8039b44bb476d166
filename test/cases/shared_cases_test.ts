/** The acceptance suites that share one controller with the gates as compiled, on a sandbox. */
import t from "tap";
import { rest } from "./all.ts";
import { tapSteps } from "./tap_steps.ts";

const shared = rest.filter(({ needs, gates }) => !needs.includes("own-controller") && gates === undefined);

t.test("acceptance cases on a sandbox", { timeout: 850_000 }, (t) => tapSteps(t, shared));
