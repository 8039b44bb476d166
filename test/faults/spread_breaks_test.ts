import t from "tap";
import { longestMs, tryDeaths } from "./deaths.ts";
import { distributionScenarios, spreadScenarios, unitedScenarios } from "./spread_scenarios.ts";

t.test("a controller of UnitedDeployments dies after each of its writes", { timeout: longestMs }, (t) =>
  tryDeaths(t, ["UnitedDeployment"], unitedScenarios),
);

t.test("a controller of WorkloadSpreads dies after each of its writes", { timeout: longestMs }, (t) =>
  tryDeaths(t, ["WorkloadSpread"], spreadScenarios),
);

// Distributions are not namespaced: two controllers at a time would work on each other's.
t.test("a controller of ResourceDistributions dies after each of its writes", { timeout: longestMs }, (t) =>
  tryDeaths(t, ["ResourceDistribution"], distributionScenarios, {
    lanes: 1,
    gates: "ResourceDistributionGate=true",
    everywhere: true,
  }),
);
