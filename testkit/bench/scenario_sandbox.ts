/** Scenarios of the bench, small, on one sandbox with one controller process. */
import { join } from "node:path";
import type { Test } from "tap";
import type { Phase, Run } from "../../bench/measure/result.ts";
import { silentProgress } from "../../bench/progress.ts";
import { runOn, runOnce } from "../../bench/run.ts";
import { scenarioNamed } from "../../bench/scenarios/all.ts";
import { runSettings } from "../../bench/settings.ts";
import { openTarget, type Target } from "../../bench/target.ts";
import { nullLog, seededRandom, systemClock } from "../../kube/index.ts";
import { MissingRights } from "../kube/account_fixture.ts";

export const pods = 10;
const deps = {
  clock: systemClock,
  log: nullLog,
  progress: silentProgress,
  signal: new AbortController().signal,
  controller: join(import.meta.dirname, "..", "..", "cli", "bin.js"),
  settleMs: 50,
  sampleMs: 50,
};

export class ScenarioSandbox {
  readonly #target: Target;

  private constructor(target: Target) {
    this.#target = target;
  }

  /** Ends with the test. */
  static async start(t: Pick<Test, "teardown">): Promise<ScenarioSandbox> {
    const rights = new MissingRights();
    const target = await openTarget({
      ...deps,
      log: { ...nullLog, debug: rights.log },
      kubeconfig: undefined,
      pid: undefined,
      metricsUrl: undefined,
      kinds: ["CloneSet", "StatefulSet", "DaemonSet", "BroadcastJob", "AdvancedCronJob"],
      gates: "ResourceDistributionGate=true",
      seed: 1,
      random: seededRandom(1),
    });
    t.teardown(async () => {
      await target.stop();
      rights.check();
    });
    return new ScenarioSandbox(target);
  }

  /** Runs what the words say, as on the bench's command line. */
  run(words: string, seed: number, size = pods): Promise<Run> {
    return runOn(this.#target, runSettings(words.split(" ")), size, deps, seededRandom(seed));
  }

  /** Runs a scenario and checks the names of its phases, the pods of each, and what every phase must show. */
  async check(
    t: Test,
    name: string,
    phases: readonly (readonly [name: string, pods: number])[],
  ): Promise<Run> {
    const small = `--pods ${pods} --start 20 --max-unavailable 50% --size 5 --steps 70%,0`;
    const nodes = scenarioNamed(name).perNode === true ? "" : " --nodes 5";
    const limit = name === "rollout" ? "5" : "0";
    const run = await this.run(`${name} ${small}${nodes} --limit ${limit}`, 2);
    t.same(
      run.phases.map((phase) => [phase.name, phase.pods]),
      phases,
    );
    for (const phase of run.phases) checkPhase(t, phase);
    return run;
  }
}

/** Runs what the words say on a sandbox and with a controller of its own. */
export function runWords(words: string, size: number): Promise<Run> {
  return runOnce(runSettings(words.split(" ")), size, deps);
}

export function checkPhase(t: Test, phase: Phase): void {
  t.equal(phase.budget?.violations ?? 0, 0, `${phase.name} keeps the budget`);
  t.ok(phase.tookMs > 0, `${phase.name} took time`);
  t.equal(phase.requests.source, "manager");
  const { machineBusy = 0 } = phase;
  t.ok(machineBusy > 0 && machineBusy <= 1, `${phase.name} kept the machine busy: ${machineBusy}`);
  t.ok((phase.residentMb?.peak ?? 0) > 20, "memory of the controller's process");
  t.equal(phase.series.atMs.length, phase.series.residentMb.length);
  t.ok(phase.series.atMs.length >= 2, "sampled at the beginning and at the end");
}
