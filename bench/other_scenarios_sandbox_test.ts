/** Scenarios about admission, failing nodes and the controller itself, small, on one sandbox with one controller process. */
import t from "tap";
import { ScenarioSandbox } from "../testkit/bench/scenario_sandbox.ts";

/** What each scenario must show: the names of its phases and the pods of each. */
const expected: Readonly<Record<string, readonly (readonly [name: string, pods: number])[]>> = {
  admission: [
    ["without webhook", 10],
    ["through webhook", 10],
  ],
  newpods: [
    ["warm-up", 10],
    ["without webhook", 10],
    ["through webhook", 10],
  ],
  hold: [
    ["create", 5],
    ["restart", 10],
    ["rollout in place", 5],
  ],
  webhook: [
    ["warm-up", 10],
    ["pod of a CloneSet", 10],
    ["pod of another owner", 10],
  ],
  // Last: it ends the controller.
  restart: [
    ["create", 10],
    ["restart", 10],
  ],
};

t.test("other scenarios on the sandbox", { timeout: 280_000 }, async (t) => {
  const sandbox = await ScenarioSandbox.start(t);
  for (const [name, phases] of Object.entries(expected)) {
    await t.test(name, async (t) => {
      const run = await sandbox.check(t, name, phases);
      if (name === "restart") t.equal(run.phases[1]?.facts["pods written"], 0, "nothing is written again");
    });
  }
  await t.test("nodes that fail", async (t) => {
    const failing =
      "create --pods 10 --nodes 2 --start 20-60:tail --crash 50% --pull-failures 100% --limit 0";
    const run = await sandbox.run(failing, 3);
    const [created] = run.phases;
    t.equal(created?.budget?.violations, 0, "what fails by itself is not held against the manager");
    t.ok((created?.readyMs[0] ?? 0) >= 1_000, "no pod before the back-off of its pull");
    t.ok((created?.podEventsPerPod ?? 0) > 4, "failures are reported");
  });
});
