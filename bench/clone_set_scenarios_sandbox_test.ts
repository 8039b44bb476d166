/** Scenarios about CloneSets, small, on one sandbox with one controller process. */
import t from "tap";
import { pods, ScenarioSandbox } from "../testkit/bench/scenario_sandbox.ts";
import { resultFile } from "./commands.ts";
import { parseResult, type Run } from "./measure/result.ts";
import { figureTable, tableOf } from "./report/table.ts";

/** What each scenario must show: the names of its phases and the pods of each. */
const expected: Readonly<Record<string, readonly (readonly [name: string, pods: number])[]>> = {
  create: [["create", 10]],
  scale: [
    ["create", 5],
    ["scale out", 5],
    ["scale in", 5],
  ],
  rollout: [
    ["create", 10],
    ["rollout in place", 10],
  ],
  recreate: [
    ["create", 10],
    ["recreate", 10],
  ],
  partition: [
    ["create", 10],
    ["partition 70%", 3],
    ["partition 0", 7],
  ],
  many: [
    ["create", 10],
    ["rollout in place", 10],
  ],
  one: [
    ["create", 10],
    ["rollout in place", 10],
    ["scale to zero", 10],
  ],
  status: [
    ["create", 10],
    ["rollout in place", 10],
    ["scale to zero", 10],
  ],
  nodeloss: [
    ["create", 10],
    ["nodes lost", 2],
  ],
};

t.test("scenarios about CloneSets on the sandbox", { timeout: 280_000 }, async (t) => {
  const sandbox = await ScenarioSandbox.start(t);
  const runs: Run[] = [];
  for (const [name, phases] of Object.entries(expected)) {
    await t.test(name, async (t) => {
      const run = await sandbox.check(t, name, phases);
      runs.push(run);
      if (name === "rollout") {
        t.match(run.phases[1]?.facts, { "pods kept": pods, "restarts a pod": 1 });
        t.ok((run.limit?.writesPerSecond ?? 0) > 0, "the limit was measured");
        t.equal(run.phases[1]?.requests.by["PATCH pods"], pods, "one patch of the spec a pod");
      }
      if (name === "recreate") t.match(run.phases[1]?.facts, { "pods kept": 0 });
      if (name === "status")
        for (const { facts } of run.phases) {
          t.ok((facts["changes of counts"] ?? 0) > 0, "changes were seen");
          t.equal(facts["changes never reported"], 0, "the status came to report them all");
        }
    });
  }
  const file = await resultFile(runs);
  t.same(parseResult(JSON.stringify(file), "file"), file, "the JSON is as the schema says");
  const rollout = runs.find((run) => run.scenario === "rollout");
  if (rollout === undefined) throw new Error("no rollout");
  t.match(tableOf(rollout), /rollout: 10 pods on 5 hollow nodes, seed 1; refit; Kubernetes v1/);
  t.ok(
    figureTable(rollout).rows.some(
      ([name, , cell]) => name === "budget violations" && cell === "0 violations",
    ),
  );
});
