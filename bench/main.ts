/** `npm run bench -- rollout --pods 1000 --nodes 20 [--kubeconfig FILE] [--pid N --metrics-url URL] --out result.json` */
import { writeFileSync } from "node:fs";
import { parseArgs } from "node:util";
import { pinoLog, seededRandom, systemClock } from "../kube/index.ts";
import { profiles } from "../sandbox/index.ts";
import { startHollowCluster } from "./hollow_cluster.ts";
import { reportOf } from "./report.ts";
import { rolloutScenario } from "./rollout.ts";
import { openTarget } from "./target.ts";

const usage = `npm run bench -- rollout [--pods 1000] [--nodes 20] [--max-unavailable 10%] [--kubeconfig FILE]
    [--pid N [--metrics-url URL]] [--annotation key=value ...] [--timeout 900] [--seed 1] [--out result.json]
Without --kubeconfig a sandbox API server is started; without --pid the project's own controller.`;

class UsageError extends Error {}

const whole = (text: string | undefined, name: string): number => {
  if (text === undefined || !/^\d+$/.test(text))
    throw new UsageError(`--${name} must be a whole number, not ${JSON.stringify(text)}`);
  return Number(text);
};

async function main(argv: readonly string[]): Promise<void> {
  const { values, positionals } = parseArgs({
    args: [...argv],
    allowPositionals: true,
    options: {
      pods: { type: "string", default: "1000" },
      nodes: { type: "string", default: "20" },
      "max-unavailable": { type: "string", default: "10%" },
      kubeconfig: { type: "string" },
      pid: { type: "string" },
      "metrics-url": { type: "string" },
      annotation: { type: "string", multiple: true, default: [] },
      timeout: { type: "string", default: "900" },
      seed: { type: "string", default: "1" },
      out: { type: "string" },
    },
  });
  if (positionals[0] !== "rollout")
    throw new UsageError(`unknown scenario ${JSON.stringify(positionals[0] ?? "")}`);
  const pods = whole(values.pods, "pods");
  const nodes = whole(values.nodes, "nodes");
  const seed = whole(values.seed, "seed");
  const random = seededRandom(seed);
  const clock = systemClock;
  const log = pinoLog({ level: "warn", now: () => clock.now() });
  const run = `run-${Math.floor(clock.now() / 1000)}`;
  const target = await openTarget({
    kubeconfig: values.kubeconfig,
    pid: values.pid === undefined ? undefined : whole(values.pid, "pid"),
    metricsUrl: values["metrics-url"],
    seed,
    clock,
    random,
    log,
  });
  try {
    const timing = profiles.bench;
    const podsPerNode = Math.ceil(pods / nodes) * 2 + 20;
    const hollow = await startHollowCluster({
      client: target.client,
      clock,
      random,
      log,
      nodes,
      podsPerNode,
      timing,
      run,
    });
    try {
      const annotations = Object.fromEntries(
        values.annotation.map((pair) => [pair.split("=")[0] ?? "", pair.slice(pair.indexOf("=") + 1)]),
      );
      const result = await rolloutScenario({
        client: target.client,
        clock,
        pods: hollow.pods,
        replicas: pods,
        maxUnavailable: values["max-unavailable"],
        namespace: `bench-${run}`,
        run,
        pid: target.pid,
        metricsUrl: target.metricsUrl,
        annotations,
        progress,
        timeoutMs: whole(values.timeout, "timeout") * 1000,
      });
      if (process.stderr.isTTY) process.stderr.write("\n");
      console.log(reportOf(result));
      if (values.out !== undefined)
        writeFileSync(values.out, `${JSON.stringify({ ...result, nodes, seed }, null, 2)}\n`);
      if (result.rollout.budgetViolations > 0) process.exitCode = 1;
    } finally {
      await hollow.stop();
    }
  } finally {
    await target.stop();
  }
}

function progress(done: number, all: number, what: string): void {
  if (process.stderr.isTTY) process.stderr.write(`\r${done}/${all} ${what}  `);
}

try {
  await main(process.argv.slice(2));
} catch (error) {
  console.error(`bench: ${error instanceof Error ? error.message : String(error)}`);
  if (error instanceof UsageError) console.error(usage);
  process.exitCode = 1;
}
