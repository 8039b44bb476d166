/**
 * `npm run test:life -- [options] [SUITE...]`: what an installation lives through, on a real control plane with hollow nodes. The last
 * line counts.
 */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { startHollowNodes } from "../../testkit/bench/hollow_nodes_fixture.ts";
import { suites as cases, oneVersionEach } from "../cases/all.ts";
import { runSuites, type Target } from "../cases/runner.ts";
import { select } from "../cases/select.ts";
import { Tally } from "../cases/tally.ts";
import type { World } from "../cases/world.ts";
import { startClusters, type TestCluster } from "../cluster/cluster.ts";
import { install } from "../cluster/install.ts";
import { readArguments, type SuiteOptions, suiteLines, usageOf } from "../usage.ts";
import { lifeSuites } from "./all.ts";
import { writeNewerBuild } from "./builds.ts";
import type { Life, LifeSuite } from "./suite.ts";

const options = {
  "former-server": {
    type: "string",
    value: "VERSION",
    help: "Release of the API server, such as 1.33.13, that l04 upgrades from; built once, which takes minutes. Without it: emulated.",
  },
  "cert-manager": {
    type: "string",
    value: "VERSION",
    help: "Release of cert-manager, such as 1.21.2, that issues in l03; built once, which takes minutes. Without it: a stand-in.",
  },
  cases: {
    type: "string",
    value: "NN,NN",
    help: "Acceptance cases that l10 runs against the images, instead of its own few.",
  },
  help: { type: "boolean", short: "h", default: false, help: "Print help." },
} as const satisfies SuiteOptions;

const { values, positionals } = readArguments(() => parseArgs({ allowPositionals: true, options }));
if (values.help) {
  const call = "npm run test:life -- [options] [SUITE...]";
  const about = usageOf("Runs suites of an installation's life on a real control plane.", call, options);
  console.log(`${about}\n\nSuites; all where none is named:\n${suiteLines(lifeSuites)}`);
  process.exit(0);
}

const needsRealNode = ({ needs }: LifeSuite) => needs.includes("real-node");
const chosen = readArguments(() => select(lifeSuites, positionals));
const chosenCases = readArguments(() =>
  values.cases === undefined ? undefined : select(cases, values.cases.split(",")),
);
const print = (line: string) => console.log(line);
const tally = new Tally(print);

async function runOn(cluster: TestCluster): Promise<void> {
  const { api, kubeconfig } = cluster;
  const builds = mkdtempSync(join(tmpdir(), "refit-newer-build-"));
  await install(api, kubeconfig);
  const nodes = await startHollowNodes({
    kubeconfig,
    run: "life",
    nodes: 6,
    podsPerNode: 100,
    start: "1500-2500",
  });
  const place = { api, kubeconfig, simulated: false };
  const ours: Target = { ...place, agents: false, startsControllers: true, parallel: 1 };
  const installed: Target = { ...place, agents: true, startsControllers: false, parallel: 6 };
  try {
    const life: Life = {
      nodes,
      newerProgram: writeNewerBuild(builds),
      cluster,
      formerServer: values["former-server"],
      certManager: values["cert-manager"],
      runCases: (numbers) =>
        runSuites([installed], oneVersionEach(chosenCases ?? select(cases, numbers), 0), {
          report: tally.report,
        }),
      print,
    };
    for (const suite of chosen) {
      // Agents would be scheduled to hollow nodes, too, and wait there for ever.
      if (needsRealNode(suite)) await nodes.stop();
      const begun = performance.now();
      const bound = { ...suite, run: (world: World) => suite.run(world, life) };
      // One of them runs as many cases as are named.
      await runSuites([ours], [bound], { report: tally.report, limitMs: 60 * 60_000 });
      print(`stage: ${suite.number} in ${((performance.now() - begun) / 1000).toFixed(1)} s`);
    }
  } finally {
    await nodes.stop();
    rmSync(builds, { recursive: true, force: true });
  }
}

async function testLife(): Promise<void> {
  const [cluster] = await startClusters(1, {
    ...(chosen.some(needsRealNode) ? { nodes: 1, podsUseApi: true } : { nodes: 0 }),
    outageMs: 0,
    environment: process.env,
    onStage: (name, ms) => print(`stage: ${name} in ${(ms / 1000).toFixed(1)} s`),
  });
  try {
    await runOn(cluster);
  } finally {
    await cluster.stop();
  }
}

await testLife().catch((error: unknown) => {
  tally.report({ outcome: "failed", suite: "test:life", step: "run", error: String(error) });
});
print(tally.line());
process.exitCode = tally.failed > 0 ? 1 : 0;
