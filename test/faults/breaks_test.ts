import t from "tap";
import { longestMs, tryDeaths } from "./deaths.ts";
import { scenarios } from "./scenarios.ts";

t.test("a controller dies after each of its writes", { timeout: longestMs }, (t) =>
  tryDeaths(t, ["CloneSet"], scenarios),
);
