/** Scenarios about pods that are spread over subsets, small, on one sandbox with one controller process. */
import t from "tap";
import { ScenarioSandbox } from "../testkit/bench/scenario_sandbox.ts";
import type { Phase } from "./measure/result.ts";

const read = ({ requests }: Phase) => Object.keys(requests.by).filter((each) => each.startsWith("GET "));

t.test("scenarios of subsets on the sandbox", { timeout: 280_000 }, async (t) => {
  const sandbox = await ScenarioSandbox.start(t);
  await t.test("a UnitedDeployment", async (t) => {
    const run = await sandbox.check(t, "uniteddeployment", [
      ["create", 10],
      ["rollout in place", 10],
      ["scale in", 10],
    ]);
    const [created, updated, left] = run.phases;
    t.equal(created?.requests.by["POST clonesets"], 10);
    t.strictSame(created?.facts, { subsets: 10, "pods each": 1 });
    t.equal(updated?.requests.by["PATCH clonesets"], 10, "one request a workload");
    t.equal(left?.requests.by["PATCH clonesets"], 10);
    // Before a revision is made the server is asked whether its owner is still there.
    const owners = ["GET clonesets", "GET uniteddeployments"];
    t.strictSame(run.phases.map(read), [owners, owners, []], "nothing else is read");
    t.equal(updated?.requests.by["GET uniteddeployments"], 1);
    t.equal(updated?.requests.by["GET clonesets"], 10, "one a new revision");
  });
  await t.test("a WorkloadSpread", async (t) => {
    const run = await sandbox.check(t, "workloadspread", [
      ["warm-up", 10],
      ["without a spread", 10],
      ["with a spread", 10],
      ["scale in", 7],
    ]);
    const [, without, spread, left] = run.phases;
    t.strictSame(without?.facts, {});
    t.match(spread?.facts, { "pods in first": 3, "pods in second": 3, "pods in others": 4 });
    for (const cost of ["time", "manager CPU"])
      t.ok((spread?.facts[`${cost}, times without a spread`] ?? Number.NaN) > 0, cost);
    t.strictSame(left?.facts, { "pods in first": 3 }, "the last subset goes first");
  });
});
