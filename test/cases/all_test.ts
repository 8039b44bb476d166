/** Every acceptance suite on a sandbox; each step is one assertion. */
import t from "tap";
import { suites } from "./all.ts";
import { runOnSandbox } from "./sandbox_target.ts";
import type { StepResult } from "./suite.ts";

t.test("acceptance cases on a sandbox", { timeout: 115_000 }, async (t) => {
  const results: StepResult[] = [];
  await runOnSandbox(suites, (result) => void results.push(result));
  t.ok(results.length > suites.length, "every suite reported its steps");
  for (const result of results) {
    const place = `${result.suite}: ${result.step}`;
    if (result.outcome === "passed") t.pass(place);
    else if (result.outcome === "failed") t.equal(result.error, "", place);
    else t.pass(place, { skip: result.reason });
  }
});
