import t from "tap";
import { daemonScenarios } from "./daemon_scenarios.ts";
import { tryDeaths } from "./deaths.ts";

t.test("a controller of daemons dies after each of its writes", { timeout: 280_000 }, (t) =>
  tryDeaths(t, daemonScenarios),
);
