/** Scenarios about kinds without a file of their own, small, on one sandbox with one controller process. */
import t from "tap";
import { ScenarioSandbox } from "../testkit/bench/scenario_sandbox.ts";

/** What each scenario must show: the names of its phases and the pods of each. */
const expected: Readonly<Record<string, readonly (readonly [name: string, pods: number])[]>> = {
  statefulset: [
    ["create", 10],
    ["rollout in place", 10],
  ],
  daemonset: [
    ["create", 10],
    ["rollout in place", 10],
  ],
  broadcastjob: [["run to the end", 10]],
  cronjob: [["due together", 20]],
};

t.test("scenarios of other kinds on the sandbox", { timeout: 280_000 }, async (t) => {
  const sandbox = await ScenarioSandbox.start(t);
  for (const [name, phases] of Object.entries(expected)) {
    await t.test(name, async (t) => void (await sandbox.check(t, name, phases)));
  }
  await t.test("copies in namespaces", async (t) => {
    const run = await sandbox.run("resourcedistribution --namespaces 10 --limit 0", 4, 1);
    const [created, changed, grown] = run.phases;
    t.equal(created?.requests.by["PATCH configmaps"] ?? 0, 0);
    t.equal(changed?.requests.by["PATCH configmaps"], 10, "one request a namespace");
    t.equal(grown?.requests.by["POST configmaps"], 1);
    t.equal(grown?.requests.by["PATCH configmaps"] ?? 0, 0, "the others are left alone");
    t.ok((grown?.facts["change to status, ms"] ?? Number.NaN) > 0);
  });
});
