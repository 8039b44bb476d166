/**
 * `npm run test:cluster -- [--nodes N] [--clusters N] [--agents RUNTIME [--agent-flag=FLAG...]] [--keep] [CASE...]`:
 * starts real clusters, one by default, installs the project's definitions, runs the suites against them and
 * removes everything again. The last line counts.
 * `--bench "agent --cycles 3"` runs a bench on it after the suites, or alone when no suite is named; it may be repeated.
 * `npm run test:cluster -- --build` only builds the cluster's programs, so that the next run finds them.
 */
import { spawn } from "node:child_process";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { oneVersionEach, suites } from "../cases/all.ts";
import { runSuites, type Target } from "../cases/runner.ts";
import { select } from "../cases/select.ts";
import { Tally } from "../cases/tally.ts";
import { readArguments, type SuiteOptions, usageOf } from "../usage.ts";
import { agentRuntimes } from "./agents.ts";
import { buildPrograms, startClusters, type TestCluster } from "./cluster.ts";
import { install } from "./install.ts";

const options = {
  nodes: { type: "string", default: "2", value: "N", help: "Real nodes of each cluster." },
  // Most of a suite is waiting, and one with a controller of its own waits alone.
  clusters: { type: "string", default: "1", value: "N", help: "Clusters that share the suites." },
  keep: { type: "boolean", default: false, help: "Leave the cluster up until the process is interrupted." },
  // Half the time.
  "one-version": {
    type: "boolean",
    default: false,
    help: "Each suite in one version, the other one than `npm test` takes.",
  },
  agents: {
    type: "string",
    default: "mixed",
    value: "node|deno|mixed|none",
    help: "What runs the built node agent on the nodes; mixed: in turn.",
  },
  "agent-flag": {
    type: "string",
    multiple: true,
    value: "FLAG",
    help: "A flag of those agents.",
  },
  bench: {
    type: "string",
    multiple: true,
    value: "WORDS",
    help: "Words of `npm run bench`; kubeconfig and nodes are added. Runs after the suites, or alone without any.",
  },
  outage: {
    type: "string",
    default: "15",
    value: "S",
    help: "Seconds for which a suite takes the API server away.",
  },
  build: { type: "boolean", default: false, help: "Only build the cluster's programs." },
  help: { type: "boolean", short: "h", default: false, help: "Print help." },
} as const satisfies SuiteOptions;

const { values, positionals } = readArguments(() => parseArgs({ allowPositionals: true, options }));
if (values.help) {
  const call = "npm run test:cluster -- [options] [CASE...]";
  console.log(usageOf("Runs acceptance suites on real clusters that it starts.", call, options));
  process.exit(0);
}

const benches = values.bench ?? [];
const seconds = (ms: number) => `${(ms / 1000).toFixed(1)} s`;
const print = (line: string) => console.log(line);
const tally = new Tally(print);

async function targetOf(cluster: TestCluster): Promise<Target> {
  await install(cluster.api, cluster.kubeconfig);
  const runtime = agentRuntimes.find((name) => name === values.agents);
  if (runtime === undefined && values.agents !== "none") {
    throw new Error(`--agents=${values.agents}: must be ${agentRuntimes.join(", ")} or none`);
  }
  const nodeAgents =
    runtime === undefined ? [] : await cluster.startAgents(runtime, values["agent-flag"] ?? []);
  return {
    api: cluster.api,
    kubeconfig: cluster.kubeconfig,
    simulated: false,
    agents: nodeAgents.length > 0,
    nodeAgents,
    faults: cluster.faults,
    startsControllers: true,
    parallel: 8,
  };
}

async function runAll(clusters: readonly [TestCluster, ...TestCluster[]]): Promise<void> {
  const targets: Target[] = [];
  for (const cluster of clusters) targets.push(await targetOf(cluster));
  const begun = performance.now();
  const benchesAlone = benches.length > 0 && positionals.length === 0;
  const selected = benchesAlone ? [] : select(suites, positionals);
  const chosen = values["one-version"] ? oneVersionEach(selected, 1) : selected;
  await runSuites(targets, chosen, { report: tally.report });
  print(`stage: suites in ${seconds(performance.now() - begun)}`);
  for (const words of benches) await runBench(clusters[0], words);
}

async function runBench(cluster: TestCluster, words: string): Promise<void> {
  const nodes = cluster.nodes.map(({ name, socket }) => `${name}=${socket}`).join(",");
  const entry = join(import.meta.dirname, "..", "..", "bench", "main.ts");
  const cut = words.split(" ").filter((word) => word !== "");
  const child = spawn(
    process.execPath,
    [entry, ...cut, "--kubeconfig", cluster.kubeconfig, "--nodes", nodes],
    { stdio: "inherit" },
  );
  const code = await new Promise((resolve) => child.once("close", resolve));
  const step = `bench ${words}`;
  tally.report(
    code === 0
      ? { outcome: "passed", suite: "test:cluster", step }
      : { outcome: "failed", suite: "test:cluster", step, error: `it ended with code ${code}` },
  );
}

async function testClusters(): Promise<void> {
  const clusters = await startClusters(Number(values.clusters), {
    nodes: Number(values.nodes),
    outageMs: Number(values.outage) * 1_000,
    environment: process.env,
    onStage: (name, ms) => print(`stage: ${name} in ${seconds(ms)}`),
  });
  for (const { kubeconfig } of clusters) print(`kubeconfig: ${kubeconfig}`);
  try {
    await runAll(clusters);
    if (values.keep) await new Promise(() => setInterval(() => undefined, 60_000));
  } finally {
    await Promise.all(clusters.map((cluster) => cluster.stop()));
  }
}

if (values.build) {
  print(await buildPrograms(process.env));
} else {
  await testClusters().catch((error: unknown) => {
    tally.report({ outcome: "failed", suite: "test:cluster", step: "run", error: String(error) });
  });
  print(tally.line());
  process.exitCode = tally.failed > 0 ? 1 : 0;
}
