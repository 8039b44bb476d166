/** The API server alone. */
import type { Scenario } from "../scenario.ts";

export const limit: Scenario = {
  name: "limit",
  summary: "a bare loop of pod patches: what the API server takes at most",
  kinds: [],
  run: async (stage) => ({ phases: [], limit: await stage.measureLimit() }),
};
