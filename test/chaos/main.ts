/**
 * `npm run test:chaos -- [options] [TROUBLE...]`: real troubles on a real control plane with hollow nodes, while the simulation's
 * observer watches. The last line counts.
 */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { parseArgs } from "node:util";
import { seededRandom } from "../../kube/index.ts";
import { Chance } from "../../simulation/index.ts";
import { type HollowNodesFixture, startHollowNodes } from "../../testkit/bench/hollow_nodes_fixture.ts";
import { select } from "../cases/select.ts";
import { Tally } from "../cases/tally.ts";
import { startClusters, type TestCluster } from "../cluster/cluster.ts";
import { install } from "../cluster/install.ts";
import { readArguments, type SuiteOptions, suiteLines, usageOf } from "../usage.ts";
import { auditFlags } from "./audit.ts";
import { Observation } from "./observation.ts";
import { Replicas } from "./replicas.ts";
import { type Stage, type Trouble, troubles } from "./troubles.ts";
import { Workload } from "./workload.ts";

const options = {
  seed: {
    type: "string",
    value: "N",
    help: "What people change, and when troubles begin. Without it: by the time of day.",
  },
  mutant: {
    type: "string",
    default: "",
    value: "NAME",
    help: "Breaks the controller in this way (simulation/mutants.ts).",
  },
  help: { type: "boolean", short: "h", default: false, help: "Print help." },
} as const satisfies SuiteOptions;

const { values, positionals } = readArguments(() => parseArgs({ allowPositionals: true, options }));
if (values.help) {
  const call = "npm run test:chaos -- [options] [TROUBLE...]";
  const about = usageOf(
    "Runs rollouts through real troubles on a real control plane, as root.",
    call,
    options,
  );
  console.log(`${about}\n\nTroubles; all where none is named:\n${suiteLines(troubles)}`);
  process.exit(0);
}

const chosen = readArguments(() => select(troubles, positionals));
const seed = Number(values.seed ?? Date.now() % 1_000_000);
const print = (line: string) => console.log(line);
const tally = new Tally(print);

/** One rollout of everything through one trouble. */
async function tell(
  trouble: Trouble,
  stage: Stage,
  workload: Workload,
  observation: Observation,
  chance: Chance,
): Promise<void> {
  const { observer } = observation;
  const before = observer.violations.length;
  await workload.change(chance);
  await observation.untilWrites(chance.whole(5, 40));
  const prompt = observation.allow(trouble.staleMs);
  const end = await trouble.begin(stage);
  await sleep(trouble.forMs);
  await end();
  prompt();
  await observation.untilSettled();
  for (const error of await stage.replicas.unexpectedErrors()) observer.violation("errors", error);
  const found = observer.violations
    .slice(before)
    .map(({ at, check, text }) => `${(at / 1000).toFixed(1)} s ${check}: ${text}`);
  if (found.length > 0) throw new Error(found.join("\n"));
}

async function tellAll(stage: Stage, nodes: HollowNodesFixture, observation: Observation): Promise<void> {
  const chance = new Chance(seededRandom(seed));
  const workload = new Workload(stage.cluster.api, nodes);
  await workload.create();
  await observation.untilSettled();
  for (const trouble of chosen) {
    const suite = trouble.number;
    const writes = observation.observer.writes;
    try {
      await tell(trouble, stage, workload, observation, chance);
      const step = `${trouble.title} (${observation.observer.writes - writes} writes)`;
      tally.report({ outcome: "passed", suite, step });
    } catch (error) {
      tally.report({
        outcome: "failed",
        suite,
        step: trouble.title,
        error: error instanceof Error ? error.message : String(error),
      });
    }
  }
}

async function runOn(cluster: TestCluster, log: string): Promise<void> {
  const { api, kubeconfig } = cluster;
  await install(api, kubeconfig);
  const nodes = await startHollowNodes({
    kubeconfig,
    run: "chaos",
    nodes: 6,
    podsPerNode: 100,
    start: "1500-2500",
  });
  const observation = new Observation(api, [log]);
  const replicas = new Replicas({
    kubeconfig,
    count: 2,
    mutant: values.mutant,
    onStart: (userAgent, token) => observation.name(userAgent, token),
  });
  try {
    await observation.start();
    const { hostname, port } = new URL(api.url);
    await replicas.start({ host: hostname, port: Number(port) });
    await tellAll({ cluster, replicas }, nodes, observation);
  } finally {
    await observation.stop();
    await replicas.stop();
    await nodes.stop();
  }
}

async function testChaos(): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), "refit-chaos-audit-"));
  const log = join(folder, "audit.log");
  const [cluster] = await startClusters(1, {
    nodes: 0,
    outageMs: 10_000,
    environment: process.env,
    serverFlags: auditFlags(join(folder, "policy.json"), log),
    onStage: (name, ms) => print(`stage: ${name} in ${(ms / 1000).toFixed(1)} s`),
  });
  try {
    print(`seed ${seed}`);
    await runOn(cluster, log);
  } finally {
    await cluster.stop();
    rmSync(folder, { recursive: true, force: true });
  }
}

await testChaos().catch((error: unknown) => {
  tally.report({ outcome: "failed", suite: "test:chaos", step: "run", error: String(error) });
});
print(tally.line());
process.exitCode = tally.failed > 0 ? 1 : 0;
