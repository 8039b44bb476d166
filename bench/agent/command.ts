/**
 * `npm run bench -- agent [--seconds 20] [--kubeconfig FILE --nodes NODE=SOCKET,... --images A,B] [--cycles 3] [--out FILE]`
 * The agent's own costs anywhere; restarts, swaps and pulls where real nodes with a running agent are named.
 */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { loadavg, tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { customResourceDefinition, kinds } from "../../crds/index.ts";
import { jsonResource, type KubeObject, seededRandom } from "../../kube/index.ts";
import { startSandbox } from "../../sandbox/index.ts";
import { startFakeCri } from "../../testkit/cri/fake_cri.ts";
import { accountKubeconfig, installAccess } from "../../testkit/kube/account_fixture.ts";
import { connect } from "../connection.ts";
import { checkWritable, write } from "../files.ts";
import type { BenchIo, Command } from "../io.ts";
import { machine, tool } from "../machine.ts";
import { ascending, quantile } from "../measure/statistics.ts";
import type { OptionTable } from "../options.ts";
import { readArguments, within } from "../settings.ts";
import { type CallCost, measureCalls } from "./calls.ts";
import { Lab, type LabSettings } from "./lab.ts";
import { labSettings, nodeOptions } from "./node_options.ts";
import { type AgentCost, measureAgents } from "./process.ts";
import { measurePulls, type Pull } from "./pulls.ts";
import { measureNode, type Turn, type What } from "./real_node.ts";

interface NodeResult {
  readonly runtime: string;
  /** Of one, five and fifteen minutes, at the end. */
  readonly load: readonly number[];
  readonly turns: readonly Turn[];
  readonly pulls: readonly Pull[];
  readonly ratios: Ratios;
}

interface AgentResult {
  readonly schema: "refit-bench-agent";
  readonly schemaVersion: 2;
  readonly tool: Awaited<ReturnType<typeof tool>>;
  readonly machine: ReturnType<typeof machine>;
  readonly processes: readonly AgentCost[];
  readonly calls: CallCost;
  readonly node?: NodeResult;
}

const agentOptions = {
  ...nodeOptions,
  seconds: {
    type: "string",
    default: "20",
    value: "S",
    help: "How long an idle agent is looked at, 1 to 3600.",
  },
  cycles: { type: "string", default: "3", value: "N", help: "Turns of each kind on real nodes, 1 to 100." },
  "pull-image": {
    type: "string",
    default: "docker.io/library/busybox:1.35",
    value: "IMAGE",
    help: "Image that is pulled to the nodes.",
  },
  out: { type: "string", value: "FILE", help: "Write results as JSON." },
} as const satisfies OptionTable;

export const agent: Command = {
  usage: "[--kubeconfig FILE --nodes NODE=SOCKET,…]",
  summary: "the agent's own costs anywhere; restarts, swaps and pulls on real nodes",
  options: agentOptions,
  run: runAgent,
};

async function runAgent(args: readonly string[], io: BenchIo): Promise<number> {
  const { values } = readArguments(() =>
    parseArgs({
      args: [...args],
      options: agentOptions,
    }),
  );
  const seconds = within(values.seconds, "seconds", 1, 3600);
  const cycles = within(values.cycles, "cycles", 1, 100);
  const lab = labSettings(values);
  checkWritable(values.out);
  const own = await ownCosts(seconds, io);
  const measured = lab && (await onNode(lab, { cycles, pullImage: values["pull-image"] }, io));
  const result: AgentResult = {
    schema: "refit-bench-agent",
    schemaVersion: 2,
    tool: await tool(),
    machine: machine(),
    ...own,
    ...(measured === undefined ? {} : { node: measured }),
  };
  for (const line of agentTable(result)) io.print(line);
  if (values.out !== undefined) write(values.out, `${JSON.stringify(result)}\n`, io);
  return 0;
}

/** Before a sandbox API server and a fake runtime in this process. */
async function ownCosts(seconds: number, io: BenchIo): Promise<Pick<AgentResult, "processes" | "calls">> {
  const folder = mkdtempSync(join(tmpdir(), "refit-bench-agent-"));
  const sandbox = await startSandbox({ seed: 1, clock: io.clock, nodes: 0 });
  const runtimeFolder = join(folder, "run");
  mkdirSync(runtimeFolder);
  const socket = join(runtimeFolder, "containerd.sock");
  const runtime = await startFakeCri({ socket, clock: io.clock });
  try {
    const kubeconfig = join(folder, "kubeconfig");
    writeFileSync(kubeconfig, sandbox.kubeconfig, { mode: 0o600 });
    await define(kubeconfig, io);
    await installAccess(kubeconfig);
    const own = join(folder, "agent.kubeconfig");
    writeFileSync(own, await accountKubeconfig(kubeconfig, "kruise-daemon"), { mode: 0o600 });
    const processes = await measureAgents({ folder, kubeconfig: own, socket }, seconds, io);
    return { processes, calls: await measureCalls(socket, io) };
  } finally {
    await runtime.stop();
    await sandbox.stop();
    rmSync(folder, { recursive: true, force: true });
  }
}

async function define(kubeconfig: string, io: BenchIo): Promise<void> {
  const definitions = jsonResource<KubeObject>({
    group: "apiextensions.k8s.io",
    version: "v1",
    plural: "customresourcedefinitions",
    kind: "CustomResourceDefinition",
    namespaced: false,
  });
  const { client } = await connect({ clock: io.clock, random: seededRandom(1) }, kubeconfig);
  try {
    for (const kind of kinds) await client.create(definitions, undefined, customResourceDefinition(kind));
  } finally {
    await client.close();
  }
}

async function onNode(
  settings: LabSettings,
  { cycles, pullImage }: { cycles: number; pullImage: string },
  io: BenchIo,
): Promise<NodeResult> {
  const lab = await Lab.open(settings, io);
  try {
    const turns = await measureNode(lab, cycles);
    const pulls = await measurePulls(lab, pullImage, cycles);
    return { runtime: lab.runtime, load: loadavg(), turns, pulls, ratios: ratiosOf(turns, pulls) };
  } finally {
    await lab.close();
  }
}

type Ratios = Readonly<Record<string, number>>;

/** What is compared: of each kind of turn the figure that its users feel. */
const comparisons: readonly {
  readonly name: string;
  readonly what: What;
  readonly measure: "readyMs" | "gapMs";
  readonly fits?: (turn: Turn) => boolean;
}[] = [
  { name: "one container, gap", what: "one", measure: "gapMs" },
  { name: "one container, until ready", what: "one", measure: "readyMs" },
  { name: "four slow containers, gap", what: "four", measure: "gapMs" },
  { name: "four slow containers, until ready", what: "four", measure: "readyMs" },
  { name: "back to the image before, gap", what: "back", measure: "gapMs" },
  { name: "restart, first", what: "restart", measure: "readyMs", fits: ({ round }) => round === 1 },
  { name: "restart, repeated", what: "restart", measure: "readyMs", fits: ({ round }) => round > 1 },
];

function median(values: readonly number[]): number {
  return quantile(ascending(values), 0.5);
}

/** The agent's median by the kubelet's, and a pull job's by that of the runtimes alone. Pure. */
export function ratiosOf(turns: readonly Turn[], pulls: readonly Pull[]): Ratios {
  const ratios: Record<string, number> = {};
  for (const { name, what, measure, fits } of comparisons) {
    const of = (by: Turn["by"]): number =>
      median(
        turns
          .filter((turn) => turn.what === what && turn.by === by && (fits?.(turn) ?? true))
          .map((turn) => turn[measure]),
      );
    ratios[name] = of("agent") / of("kubelet");
  }
  ratios["pull job / runtimes alone"] =
    median(pulls.map((pull) => pull.jobMs)) / median(pulls.map((pull) => pull.runtimeMs));
  return ratios;
}

export function agentTable(result: Pick<AgentResult, "processes" | "calls" | "node">): string[] {
  const fixed = (value: number, digits = 0): string => value.toFixed(digits);
  const lines = ["agent at rest    ready    memory   bare   ratio   requests"];
  for (const one of result.processes) {
    lines.push(
      `${one.runtime.padEnd(14)} ${fixed(one.readyMs).padStart(5)} ms ${fixed(one.residentMb, 1).padStart(6)} MB ${fixed(one.bareMb, 1).padStart(6)} ${fixed(one.ratio, 2).padStart(7)} ${String(one.requests).padStart(5)} in ${one.idleSeconds} s`,
    );
  }
  const { calls, node } = result;
  lines.push(`one call to the runtime: ${fixed(calls.ms, 3)} ms`);
  if (!node) return lines;
  for (const { what, by, round, readyMs, gapMs, completedMs } of node.turns) {
    const completed = completedMs === undefined ? "" : `, Completed ${fixed(completedMs)} ms after it`;
    lines.push(
      `${what.padEnd(8)} ${by.padEnd(8)} ${String(round).padStart(2)}  ready after ${fixed(readyMs).padStart(6)} ms${completed}, not all running for ${fixed(gapMs).padStart(6)} ms`,
    );
  }
  for (const { nodes, jobMs, runtimeMs } of node.pulls)
    lines.push(
      `pull to ${nodes} nodes: job ${fixed(jobMs).padStart(6)} ms, runtimes alone ${fixed(runtimeMs).padStart(6)} ms`,
    );
  for (const [name, ratio] of Object.entries(node.ratios))
    lines.push(`${name.padEnd(34)} ratio ${fixed(ratio, 3)}`);
  lines.push(`load average at the end: ${node.load.map((one) => fixed(one, 1)).join(" ")} (${node.runtime})`);
  return lines;
}
