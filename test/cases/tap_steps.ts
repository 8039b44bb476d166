import type { Test } from "tap";
import { oneVersionEach } from "./all.ts";
import { runOnSandbox } from "./sandbox_target.ts";
import type { StepResult } from "./step_result.ts";
import type { Suite } from "./suite.ts";

/**
 * Runs suites on sandboxes and reports each step as one assertion of the test. To stay quick, a suite runs in one of
 * its versions here, every second one in v1beta1; `npm run cases` and the real cluster run both.
 */
export async function tapSteps(
  t: Pick<Test, "ok" | "fail" | "pass">,
  suites: readonly Suite[],
): Promise<void> {
  const results: StepResult[] = [];
  await runOnSandbox(oneVersionEach(suites, 0), (result) => void results.push(result));
  t.ok(results.length > suites.length, "every suite reported its steps");
  for (const result of results) {
    const place = `${result.suite}: ${result.step}`;
    if (result.outcome === "passed") t.pass(place);
    // No comparison: the text may be thousands of lines, whose difference to nothing costs gigabytes.
    else if (result.outcome === "failed") t.fail(place, { found: result.error });
    else t.pass(place, { skip: result.reason });
  }
}
