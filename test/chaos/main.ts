/**
 * `npm run test:chaos -- [options] [TROUBLE...]`: real troubles on a real control plane with hollow nodes, while the simulation's
 * observer watches. The last line counts.
 */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { parseArgs } from "node:util";
import { onExit } from "signal-exit";
import { seededRandom } from "../../kube/index.ts";
import { Chance } from "../../simulation/index.ts";
import { type HollowNodesFixture, startHollowNodes } from "../../testkit/bench/hollow_nodes_fixture.ts";
import { freePorts } from "../../testkit/cli/free_ports.ts";
import { select } from "../cases/select.ts";
import { Tally } from "../cases/tally.ts";
import { startClusters, type TestCluster } from "../cluster/cluster.ts";
import { install } from "../cluster/install.ts";
import { MovedClock } from "../cluster/moved_clock.ts";
import { readArguments, type SuiteOptions, suiteLines, usageOf } from "../usage.ts";
import { auditFlags } from "./audit.ts";
import { Observation } from "./observation.ts";
import { type Place, Relay } from "./relay.ts";
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

/** A second API server, which hears from etcd as late as its road says. */
async function startBeside(cluster: TestCluster, flags: readonly string[]): Promise<Stage["beside"]> {
  const [port = 0] = await freePorts(1);
  const place = { host: "127.0.0.1", port };
  const store = placeOf(cluster.storeUrls[0] ?? "");
  const road = await Relay.open(place, () => store);
  const url = await cluster.startAnotherServer(`http://${place.host}:${port}`, flags);
  return { server: placeOf(url), road };
}

function placeOf(url: string): Place {
  const { hostname, port } = new URL(url);
  return { host: hostname, port: Number(port) };
}

async function runOn(cluster: TestCluster, folder: string): Promise<void> {
  const { api, kubeconfig } = cluster;
  await install(api, kubeconfig);
  const nodes = await startHollowNodes({
    kubeconfig,
    run: "chaos",
    nodes: 6,
    podsPerNode: 100,
    start: "1500-2500",
  });
  const [log, besideLog] = logsIn(folder);
  const observation = new Observation(api, [log, besideLog]);
  const clock = new MovedClock();
  const replicas = new Replicas({
    kubeconfig,
    folder,
    count: 2,
    mutant: values.mutant,
    environment: clock.environment,
    onStart: (userAgent, token) => observation.name(userAgent, token),
  });
  try {
    await observation.start();
    await replicas.start(placeOf(api.url));
    const beside = await startBeside(cluster, [`--audit-log-path=${besideLog}`]);
    try {
      await tellAll({ cluster, replicas, clock, beside }, nodes, observation);
    } finally {
      await beside.road.close();
    }
  } finally {
    await observation.stop();
    await replicas.stop();
    await nodes.stop();
    clock.remove();
  }
}

/** What the API servers were asked. */
function logsIn(folder: string): readonly [string, string] {
  return [join(folder, "audit.log"), join(folder, "audit-beside.log")];
}

function removeUnlessKept(folder: string): void {
  if (!process.env["REFIT_KEEP_LOGS"]) rmSync(folder, { recursive: true, force: true });
}

async function testChaos(): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), "refit-chaos-"));
  // Also when a signal ends it.
  onExit(() => removeUnlessKept(folder));
  const [cluster] = await startClusters(1, {
    nodes: 0,
    outageMs: 10_000,
    storeMembers: 3,
    storeDiskMb: 512,
    environment: process.env,
    serverFlags: auditFlags(join(folder, "policy.json"), logsIn(folder)[0]),
    onStage: (name, ms) => print(`stage: ${name} in ${(ms / 1000).toFixed(1)} s`),
  });
  try {
    print(`seed ${seed}`);
    await runOn(cluster, folder);
  } finally {
    await cluster.stop();
  }
}

await testChaos().catch((error: unknown) => {
  tally.report({ outcome: "failed", suite: "test:chaos", step: "run", error: String(error) });
});
print(tally.line());
process.exitCode = tally.failed > 0 ? 1 : 0;
