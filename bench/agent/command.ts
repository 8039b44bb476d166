/**
 * `npm run bench -- agent [--seconds 20] [--kubeconfig FILE --socket SOCKET --node NAME --images A,B] [--out FILE]`
 * The agent's own costs anywhere; restarts and swaps where a real node with a running agent is named.
 */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { startFakeCri } from "../../agent/index.ts";
import { customResourceDefinition, kinds } from "../../crds/index.ts";
import { jsonResource, type KubeObject, seededRandom } from "../../kube/index.ts";
import { startSandbox } from "../../sandbox/index.ts";
import { UsageError } from "../errors.ts";
import type { BenchIo, Command } from "../io.ts";
import { machine, tool } from "../machine.ts";
import { ascending, quantile } from "../measure/statistics.ts";
import { readArguments, within } from "../settings.ts";
import { connect } from "../target.ts";
import { type CallCost, measureCalls } from "./calls.ts";
import { type AgentCost, measureAgents } from "./process.ts";
import { measureNode, nodeRuntime, type Turn } from "./real_node.ts";

interface AgentResult {
  readonly schema: "refit-bench-agent";
  readonly schemaVersion: 1;
  readonly tool: Awaited<ReturnType<typeof tool>>;
  readonly machine: ReturnType<typeof machine>;
  readonly processes: readonly AgentCost[];
  readonly calls: CallCost;
  readonly node?: { readonly runtime: string; readonly turns: readonly Turn[]; readonly ratios: Ratios };
}

export const runAgent: Command = async (args, io) => {
  const { values } = readArguments(() =>
    parseArgs({
      args: [...args],
      options: {
        seconds: { type: "string", default: "20" },
        kubeconfig: { type: "string" },
        socket: { type: "string" },
        node: { type: "string" },
        images: { type: "string", default: "nginx:1.20,nginx:1.21" },
        rounds: { type: "string", default: "4" },
        out: { type: "string" },
      },
    }),
  );
  const seconds = within(values.seconds, "seconds", 1, 3600);
  const rounds = within(values.rounds, "rounds", 1, 100);
  const [first, second, more] = values.images.split(",");
  if (!first || !second || more !== undefined) throw new UsageError("--images needs two images: A,B");
  const { kubeconfig, socket, node } = values;
  const given = [kubeconfig, socket, node].filter((value) => value !== undefined).length;
  if (given !== 0 && given !== 3)
    throw new UsageError("a real node needs all of --kubeconfig, --socket and --node");
  const own = await ownCosts(seconds, io);
  const measured =
    kubeconfig === undefined || socket === undefined || node === undefined
      ? undefined
      : await onNode(kubeconfig, { socket, node, images: [first, second], rounds }, io);
  const result: AgentResult = {
    schema: "refit-bench-agent",
    schemaVersion: 1,
    tool: await tool(),
    machine: machine(),
    ...own,
    ...(measured === undefined ? {} : { node: measured }),
  };
  for (const line of agentTable(result)) io.print(line);
  if (values.out !== undefined) writeFileSync(values.out, `${JSON.stringify(result)}\n`);
  return 0;
};

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
    const processes = await measureAgents({ folder, kubeconfig, socket }, seconds, io);
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
  kubeconfig: string,
  at: { socket: string; node: string; images: readonly [string, string]; rounds: number },
  io: BenchIo,
): Promise<NonNullable<AgentResult["node"]>> {
  const { client } = await connect({ clock: io.clock, random: seededRandom(1) }, kubeconfig);
  try {
    const turns = await measureNode({ client, ...at }, io);
    return { runtime: await nodeRuntime(client, at.node), turns, ratios: ratiosOf(turns) };
  } finally {
    await client.close();
  }
}

type Ratios = Readonly<Record<string, number>>;

/** The agent's median by the kubelet's, the first of each pod apart from the repeated ones. Pure. */
export function ratiosOf(turns: readonly Turn[]): Ratios {
  const ratios: Record<string, number> = {};
  for (const what of ["restart", "swap"] as const) {
    for (const [when, fits] of [
      ["first", (round: number) => round === 1],
      ["repeated", (round: number) => round > 1],
    ] as const) {
      for (const measure of ["readyMs", "gapMs"] as const) {
        const median = (by: Turn["by"]): number =>
          quantile(
            ascending(
              turns
                .filter((turn) => turn.what === what && turn.by === by && fits(turn.round))
                .map((turn) => turn[measure]),
            ),
            0.5,
          );
        ratios[`${what} ${when} ${measure}`] = median("agent") / median("kubelet");
      }
    }
  }
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
  const { calls } = result;
  lines.push(
    `one call to the runtime: ${fixed(calls.ownMs, 3)} ms, by the gRPC library ${fixed(calls.libraryMs, 3)} ms, ratio ${fixed(calls.ratio, 2)}`,
  );
  for (const turn of result.node?.turns ?? []) {
    lines.push(
      `${turn.what.padEnd(8)} ${turn.by.padEnd(8)} ${String(turn.round).padStart(2)}  ready after ${fixed(turn.readyMs).padStart(6)} ms, none running for ${fixed(turn.gapMs).padStart(6)} ms`,
    );
  }
  for (const [name, ratio] of Object.entries(result.node?.ratios ?? {}))
    lines.push(`${name.padEnd(26)} agent / kubelet ${fixed(ratio, 2)}`);
  return lines;
}
