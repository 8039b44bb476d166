/** Scenarios about SidecarSets, small, on one sandbox with one controller process. */
import t from "tap";
import { pods, ScenarioSandbox } from "../testkit/bench/scenario_sandbox.ts";

t.test("scenarios of SidecarSets on the sandbox", { timeout: 280_000 }, async (t) => {
  const sandbox = await ScenarioSandbox.start(t);
  await t.test("sidecarset", async (t) => {
    const run = await sandbox.check(t, "sidecarset", [
      ["create", 10],
      ["update of the sidecar", 10],
      ["storm", 10],
    ]);
    const [, updated, storm] = run.phases;
    t.equal(updated?.requests.by["PATCH pods"], pods, "one patch of each pod");
    // How often a node reports between two looks of the controller is chance.
    t.ok(
      (updated?.requests.by["PATCH pods/status"] ?? 0) <= 2 * pods,
      "at most its condition before and after",
    );
    t.equal(updated?.facts["restarts of other containers"], 0);
    t.equal(storm?.facts["sidecars a pod"], 5);
  });
  await t.test("webhook with SidecarSets", async (t) => {
    const run = await sandbox.run(`webhook --pods ${pods} --nodes 1 --sidecar-sets 2 --limit 0`, 4);
    t.strictSame(
      run.phases.map(({ name, facts }) => [name, facts["reviews answered with a patch"]]),
      [
        ["warm-up", pods],
        ["pod of a CloneSet", pods],
        ["pod of another owner", 0],
        ["pod of one SidecarSet", pods],
        ["pod of 2 SidecarSets", pods],
      ],
    );
  });
});
