/** Each scenario, small, on one sandbox with one controller process. */
import { join } from "node:path";
import t, { type Test } from "tap";
import { nullLog, seededRandom, systemClock } from "../kube/index.ts";
import { resultFile } from "./commands.ts";
import { type Phase, parseResult, type Run } from "./measure/result.ts";
import { silentProgress } from "./progress.ts";
import { figureRows, tableOf } from "./report/table.ts";
import { runOn } from "./run.ts";
import { scenarioNamed } from "./scenarios/all.ts";
import { runSettings } from "./settings.ts";
import { openTarget, type Target } from "./target.ts";

const pods = 10;
const deps = {
  clock: systemClock,
  log: nullLog,
  progress: silentProgress,
  signal: new AbortController().signal,
  controller: join(import.meta.dirname, "..", "cli", "main.ts"),
  settleMs: 50,
  sampleMs: 50,
};

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
  nodeloss: [
    ["create", 10],
    ["nodes lost", 2],
  ],
  admission: [
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
  status: [
    ["create", 10],
    ["rollout in place", 10],
    ["scale to zero", 10],
  ],
  // Last: it ends the controller.
  restart: [
    ["create", 10],
    ["restart", 10],
  ],
};

t.test("scenarios on the sandbox", { timeout: 280_000 }, async (t) => {
  const target: Target = await openTarget({
    ...deps,
    kubeconfig: undefined,
    pid: undefined,
    metricsUrl: undefined,
    kinds: ["CloneSet", "StatefulSet", "DaemonSet", "BroadcastJob", "AdvancedCronJob"],
    gates: "ResourceDistributionGate=true",
    seed: 1,
    random: seededRandom(1),
  });
  t.teardown(() => target.stop());
  const small = `--pods ${pods} --start 20 --max-unavailable 50% --size 5 --steps 70%,0 --limit 0`;
  const runs: Run[] = [];
  for (const [name, phases] of Object.entries(expected)) {
    await t.test(name, async (t) => {
      const nodes = scenarioNamed(name).perNode === true ? [] : ["--nodes", "5"];
      const limit = name === "rollout" ? ["--limit", "5"] : [];
      const settings = runSettings([name, ...small.split(" "), ...nodes, ...limit]);
      const run = await runOn(target, settings, pods, deps, seededRandom(2));
      runs.push(run);
      t.same(
        run.phases.map((phase) => [phase.name, phase.pods]),
        phases,
      );
      for (const phase of run.phases) checkPhase(t, phase);
      if (name === "rollout") {
        t.match(run.phases[1]?.facts, { "pods kept": pods, "restarts a pod": 1 });
        t.ok((run.limit?.writesPerSecond ?? 0) > 0, "the limit was measured");
        t.equal(run.phases[1]?.requests.by["PATCH pods"], pods, "one patch of the spec a pod");
      }
      if (name === "recreate") t.match(run.phases[1]?.facts, { "pods kept": 0 });
      if (name === "status")
        for (const { facts } of run.phases) {
          t.ok((facts["changes of counts"] ?? 0) > 0, "changes were seen");
          t.equal(facts["changes never told"], 0, "the status came to tell them all");
        }
      if (name === "restart") t.equal(run.phases[1]?.facts["pods written"], 0, "nothing is written again");
    });
  }
  await t.test("webhook with SidecarSets", async (t) => {
    const settings = runSettings(`webhook --pods ${pods} --nodes 1 --sidecar-sets 2 --limit 0`.split(" "));
    const run = await runOn(target, settings, pods, deps, seededRandom(4));
    t.strictSame(
      run.phases.map(({ name, facts }) => [name, facts["answered with a patch"]]),
      [
        ["warm-up", pods],
        ["pod of a CloneSet", pods],
        ["pod of another owner", 0],
        ["pod of one SidecarSet", pods],
        ["pod of 2 SidecarSets", pods],
      ],
    );
  });
  await t.test("copies in namespaces", async (t) => {
    const words = "resourcedistribution --namespaces 10 --limit 0".split(" ");
    const run = await runOn(target, runSettings(words), 1, deps, seededRandom(4));
    const [created, changed, grown] = run.phases;
    t.equal(created?.requests.by["PATCH configmaps"] ?? 0, 0);
    t.equal(changed?.requests.by["PATCH configmaps"], 10, "one request a namespace");
    t.equal(grown?.requests.by["POST configmaps"], 1);
    t.equal(grown?.requests.by["PATCH configmaps"] ?? 0, 0, "the others are left alone");
    t.ok((grown?.facts["change to status, ms"] ?? Number.NaN) > 0);
    runs.push(run);
  });
  await t.test("nodes that fail", async (t) => {
    const failing =
      "create --pods 10 --nodes 2 --start 20-60:tail --crash 50% --pull-failures 100% --limit 0";
    const run = await runOn(target, runSettings(failing.split(" ")), pods, deps, seededRandom(3));
    const [created] = run.phases;
    t.equal(created?.budget?.violations, 0, "what fails by itself is not held against the manager");
    t.ok((created?.readyMs[0] ?? 0) >= 1_000, "no pod before the back-off of its pull");
    t.ok((created?.podEventsPerPod ?? 0) > 4, "failures are reported");
  });
  const file = await resultFile(runs);
  t.same(parseResult(JSON.stringify(file), "file"), file, "the JSON is as the schema says");
  const rollout = runs.find((run) => run.scenario === "rollout");
  if (rollout === undefined) throw new Error("no rollout");
  t.match(tableOf(rollout), /rollout: 10 pods on 5 hollow nodes, seed 1; refit; Kubernetes v1/);
  t.ok(figureRows(rollout).some(([name, , cell]) => name === "budget violations" && cell === "0"));
});

function checkPhase(t: Test, phase: Phase): void {
  t.equal(phase.budget?.violations ?? 0, 0, `${phase.name} keeps the budget`);
  t.ok(phase.tookMs > 0, `${phase.name} took time`);
  t.equal(phase.requests.source, "manager");
  t.ok((phase.residentMb?.peak ?? 0) > 20, "memory of the controller's process");
  t.equal(phase.series.atMs.length, phase.series.residentMb.length);
  t.ok(phase.series.atMs.length >= 2, "sampled at the beginning and at the end");
}
