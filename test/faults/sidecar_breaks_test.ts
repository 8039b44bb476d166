import t from "tap";
import { longestMs, tryDeaths } from "./deaths.ts";
import { sidecarScenarios } from "./sidecar_scenarios.ts";

// Sets are not namespaced: two controllers at a time would work on each other's.
t.test("a controller of sidecars dies after each of its writes", { timeout: longestMs }, (t) =>
  tryDeaths(t, ["SidecarSet"], sidecarScenarios, { lanes: 1 }),
);
