import t from "tap";
import { tryDeaths } from "./deaths.ts";
import { statefulScenarios } from "./stateful_scenarios.ts";

t.test(
  "the controller of numbered pods and of tasks dies after each of its writes",
  { timeout: 280_000 },
  (t) => tryDeaths(t, statefulScenarios),
);
