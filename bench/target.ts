/** What is measured: an API server, and the manager process before it. */
import { type ChildProcess, spawn } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import {
  type Client,
  type Clock,
  createClient,
  type Log,
  loadCredentials,
  type Random,
} from "../kube/index.ts";
import { startSandbox } from "../sandbox/index.ts";

const READY_TIMEOUT_MS = 60_000;

export interface TargetOptions {
  kubeconfig: string | undefined;
  pid: number | undefined;
  metricsUrl: string | undefined;
  seed: number;
  clock: Clock;
  random: Random;
  log: Log;
}

export interface Target {
  client: Client;
  kubeconfig: string;
  pid: number;
  metricsUrl: string | undefined;
  stop(): Promise<void>;
}

export async function openTarget(options: TargetOptions): Promise<Target> {
  const closing: (() => Promise<void> | void)[] = [];
  const stop = async (): Promise<void> => {
    for (const close of closing.reverse()) await close();
  };
  try {
    const kubeconfig = options.kubeconfig ?? (await ownSandbox(options, closing));
    const credentials = await loadCredentials({ kubeconfig, env: process.env, clock: options.clock });
    const client = createClient({
      credentials,
      clock: options.clock,
      random: options.random,
      userAgent: "refit-bench",
    });
    closing.push(() => client.close());
    await client.request("GET", "/version");
    if (options.pid !== undefined)
      return { client, kubeconfig, pid: options.pid, metricsUrl: options.metricsUrl, stop };
    const manager = await startManager(kubeconfig, options.clock, closing);
    return { client, kubeconfig, ...manager, stop };
  } catch (error) {
    await stop();
    throw error;
  }
}

/** The sandbox's API server alone: the nodes are the bench's own, as before any server. */
async function ownSandbox(options: TargetOptions, closing: (() => Promise<void> | void)[]): Promise<string> {
  const sandbox = await startSandbox({ seed: options.seed, clock: options.clock, nodes: 0 });
  closing.push(() => sandbox.stop());
  const folder = mkdtempSync(join(tmpdir(), "refit-bench-"));
  closing.push(() => rmSync(folder, { recursive: true, force: true }));
  const file = join(folder, "kubeconfig");
  writeFileSync(file, sandbox.kubeconfig, { mode: 0o600 });
  return file;
}

async function startManager(
  kubeconfig: string,
  clock: Clock,
  closing: (() => Promise<void> | void)[],
): Promise<{ pid: number; metricsUrl: string }> {
  const [webhook, metrics, health] = await Promise.all([freePort(), freePort(), freePort()]);
  const entry = process.env["REFIT_CONTROLLER"] ?? join(import.meta.dirname, "..", "cli", "main.ts");
  const certificates = mkdtempSync(join(tmpdir(), "refit-bench-certs-"));
  closing.push(() => rmSync(certificates, { recursive: true, force: true }));
  const env = {
    ...process.env,
    WEBHOOK_HOST: "127.0.0.1",
    WEBHOOK_PORT: String(webhook),
    WEBHOOK_CERT_DIR: certificates,
  };
  await run(
    [
      entry,
      "install",
      "--kubeconfig",
      kubeconfig,
      "--webhook-host",
      "127.0.0.1",
      "--webhook-port",
      String(webhook),
    ],
    env,
  );
  const child = spawn(
    process.execPath,
    [
      entry,
      "controller",
      "--kubeconfig",
      kubeconfig,
      "--enable-leader-election=false",
      `--metrics-addr=127.0.0.1:${metrics}`,
      `--health-probe-addr=127.0.0.1:${health}`,
    ],
    { env, stdio: ["ignore", "inherit", "inherit"] },
  );
  closing.push(() => ended(child));
  await ready(`http://127.0.0.1:${health}/readyz`, clock, child);
  return { pid: child.pid ?? 0, metricsUrl: `http://127.0.0.1:${metrics}/metrics` };
}

function run(args: readonly string[], env: NodeJS.ProcessEnv): Promise<void> {
  return new Promise((resolve, reject) => {
    const child = spawn(process.execPath, args, { env, stdio: ["ignore", "ignore", "inherit"] });
    child.on("error", reject);
    child.on("exit", (code) =>
      code === 0 ? resolve() : reject(new Error(`refit ${args[1]} ended with code ${code}`)),
    );
  });
}

async function ready(url: string, clock: Clock, child: ChildProcess): Promise<void> {
  const until = clock.monotonic() + READY_TIMEOUT_MS;
  while (clock.monotonic() < until) {
    if (child.exitCode !== null)
      throw new Error(`the controller ended with code ${child.exitCode} before it was ready`);
    const answer = await fetch(url, { signal: AbortSignal.timeout(1000) }).catch(() => undefined);
    if (answer?.ok) return;
    await clock.sleep(100);
  }
  throw new Error(`the controller was not ready after ${READY_TIMEOUT_MS / 1000} s (${url})`);
}

function ended(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return Promise.resolve();
  return new Promise((resolve) => {
    child.once("exit", () => resolve());
    child.kill("SIGTERM");
  });
}

function freePort(): Promise<number> {
  return new Promise((resolve, reject) => {
    const server = createServer();
    server.once("error", reject);
    server.listen(0, "127.0.0.1", () => {
      const address = server.address();
      const port = typeof address === "object" && address !== null ? address.port : 0;
      server.close(() => resolve(port));
    });
  });
}
