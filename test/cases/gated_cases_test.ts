/** The acceptance suites that need a gate: those with the same gates share a controller, on a sandbox. */
import t from "tap";
import { rest } from "./all.ts";
import { tapSteps } from "./tap_steps.ts";

const gated = rest.filter(({ needs, gates }) => !needs.includes("own-controller") && gates !== undefined);

t.test("acceptance cases behind gates", { timeout: 850_000 }, (t) => tapSteps(t, gated));
