import t from "tap";
import { daemonScenarios } from "./daemon_scenarios.ts";
import { longestMs, tryDeaths } from "./deaths.ts";

t.test("a controller of daemons dies after each of its writes", { timeout: longestMs }, (t) =>
  tryDeaths(t, ["DaemonSet"], daemonScenarios),
);
