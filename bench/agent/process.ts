/** What an idle agent costs: start, memory and requests, on each runtime beside that runtime with nothing to do. */
import { type ChildProcess, spawn } from "node:child_process";
import { existsSync, mkdirSync } from "node:fs";
import { join } from "node:path";
import { type AgentRuntime, agentEnvironment, agentProgram, denoPermissions } from "../../agent/index.ts";
import { freePort } from "../../cli/index.ts";
import { BenchError } from "../errors.ts";
import type { BenchIo } from "../io.ts";
import { sampleProcess } from "../measure/process_stats.ts";

export interface AgentCost {
  readonly runtime: AgentRuntime;
  /** From the start of the process until `/readyz` says 200. */
  readonly readyMs: number;
  readonly residentMb: number;
  /** The same runtime, waiting. */
  readonly bareMb: number;
  readonly ratio: number;
  readonly cpuSeconds: number;
  /** Requests to the API server while it was idle. */
  readonly requests: number;
  readonly idleSeconds: number;
}

export interface Surroundings {
  readonly folder: string;
  readonly kubeconfig: string;
  readonly socket: string;
}

const root = new URL("../../", import.meta.url).pathname;
const runtimes: Readonly<Record<AgentRuntime, string>> = {
  node: process.execPath,
  deno: `${root}node_modules/.bin/deno`,
};
const bundle = `${root}dist/agent.mjs`;

export async function measureAgents(
  around: Surroundings,
  idleSeconds: number,
  io: BenchIo,
): Promise<AgentCost[]> {
  if (!existsSync(bundle)) throw new BenchError(`${bundle} is missing: run \`npm run build:agent\` first`);
  const costs: AgentCost[] = [];
  for (const runtime of ["node", "deno"] as const) {
    io.note(`agent on ${runtime}: start and ${idleSeconds} s of rest`);
    costs.push(await measureAgent(runtime, around, idleSeconds, io));
  }
  return costs;
}

async function measureAgent(
  runtime: AgentRuntime,
  around: Surroundings,
  idleSeconds: number,
  io: BenchIo,
): Promise<AgentCost> {
  const bareMb = await bareMemory(runtime, io);
  const stateFolder = join(around.folder, `state-${runtime}`);
  mkdirSync(stateFolder);
  const port = await freePort();
  const permissions = denoPermissions({
    stateFolder,
    socketFolder: join(around.socket, ".."),
    pluginConfigFile: around.kubeconfig,
    home: "/root",
  });
  const [, ...words] = agentProgram(runtime, permissions, bundle);
  const began = io.clock.monotonic();
  const child = spawn(
    runtimes[runtime],
    [
      ...words,
      `--addr=127.0.0.1:${port}`,
      `--socket-file=${around.socket}`,
      `--kubeconfig=${around.kubeconfig}`,
      `--state-dir=${stateFolder}`,
    ],
    { stdio: "ignore", env: { ...process.env, ...agentEnvironment, NODE_NAME: "bench-node" } },
  );
  try {
    await untilReady(`http://127.0.0.1:${port}/readyz`, child, io);
    const readyMs = io.clock.monotonic() - began;
    const before = await requestCount(port);
    await io.clock.sleep(idleSeconds * 1000, io.signal);
    const sample = sampleProcess(child.pid ?? 0);
    if (!sample) throw new BenchError(`the agent on ${runtime} has ended`);
    return {
      runtime,
      readyMs,
      residentMb: sample.residentMb,
      bareMb,
      ratio: sample.residentMb / bareMb,
      cpuSeconds: sample.cpuSeconds,
      requests: (await requestCount(port)) - before,
      idleSeconds,
    };
  } finally {
    await ended(child);
  }
}

async function bareMemory(runtime: AgentRuntime, io: BenchIo): Promise<number> {
  const words = runtime === "node" ? ["-e"] : ["eval"];
  const child = spawn(runtimes[runtime], [...words, "setTimeout(() => {}, 60000)"], { stdio: "ignore" });
  try {
    await io.clock.sleep(2_000, io.signal);
    return sampleProcess(child.pid ?? 0)?.residentMb ?? Number.NaN;
  } finally {
    await ended(child);
  }
}

async function untilReady(url: string, child: ChildProcess, io: BenchIo): Promise<void> {
  const end = io.clock.monotonic() + 30_000;
  while (io.clock.monotonic() < end && child.exitCode === null) {
    const answer = await fetch(url).catch(() => undefined);
    if (answer?.ok) return;
    await io.clock.sleep(10, io.signal);
  }
  throw new BenchError(`the agent was not ready within 30 s (${url})`);
}

async function requestCount(port: number): Promise<number> {
  const text = await (await fetch(`http://127.0.0.1:${port}/metrics`)).text();
  const counts = text.matchAll(/^rest_client_requests_total\{[^}]*\} (\d+)/gm);
  return [...counts].reduce((sum, [, count]) => sum + Number(count), 0);
}

function ended(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return Promise.resolve();
  return new Promise((resolve) => {
    child.once("exit", () => resolve());
    child.kill("SIGTERM");
  });
}
