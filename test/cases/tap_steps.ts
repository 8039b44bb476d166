import type { Test } from "tap";
import { runOnSandbox } from "./sandbox_target.ts";
import type { ApiVersion, StepResult, Suite } from "./suite.ts";

/**
 * Runs suites on sandboxes and reports each step as one assertion of the test. To stay quick, a suite runs in one of
 * its versions here, every second one in v1beta1; `npm run cases` and the real cluster run both.
 */
export async function tapSteps(
  t: Pick<Test, "ok" | "equal" | "pass">,
  suites: readonly Suite[],
): Promise<void> {
  const results: StepResult[] = [];
  const chosen = suites.map((suite, index) => ({ ...suite, versions: [versionOf(suite, index)] }));
  await runOnSandbox(chosen, (result) => void results.push(result));
  t.ok(results.length > suites.length, "every suite reported its steps");
  for (const result of results) {
    const place = `${result.suite}: ${result.step}`;
    if (result.outcome === "passed") t.pass(place);
    else if (result.outcome === "failed") t.equal(result.error, "", place);
    else t.pass(place, { skip: result.reason });
  }
}

function versionOf({ versions = ["v1alpha1", "v1beta1"] }: Suite, index: number): ApiVersion {
  return versions[index % versions.length] ?? "v1beta1";
}
