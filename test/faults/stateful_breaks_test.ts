import t from "tap";
import { longestMs, tryDeaths } from "./deaths.ts";
import { statefulScenarios } from "./stateful_scenarios.ts";

t.test(
  "the controller of numbered pods and of tasks dies after each of its writes",
  { timeout: longestMs },
  (t) => tryDeaths(t, ["StatefulSet", "BroadcastJob"], statefulScenarios),
);
