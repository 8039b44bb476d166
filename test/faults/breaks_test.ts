import t from "tap";
import { tryDeaths } from "./deaths.ts";
import { scenarios } from "./scenarios.ts";

t.test("a controller dies after each of its writes", { timeout: 280_000 }, (t) => tryDeaths(t, scenarios));
