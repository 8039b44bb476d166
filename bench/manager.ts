/** The manager under test: a process of the user's, or the project's own controller, started here. */
import { type ChildProcess, spawn } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { controllerEnvironment, controllerNodeFlags, freePort } from "../cli/index.ts";
import { type Clock, loadCredentials, type Random } from "../kube/index.ts";
import { accountKubeconfig, grantForGates } from "../testkit/kube/account_fixture.ts";
import { BenchError } from "./errors.ts";
import { hold } from "./load/cores.ts";
import { type Faults, type FaultyServer, startFaultyServer } from "./load/faulty_server.ts";
import { collectedHeapMb } from "./measure/inspected_heap.ts";
import type { Measured } from "./measure/phase.ts";
import { sampleProcess } from "./measure/process_stats.ts";

const READY_TIMEOUT_MS = 60_000;
const keptLines = 12;

export interface Manager extends Measured {
  readonly own: boolean;
  /**
   * Kills the process and starts another one; milliseconds from its start until it says that it is ready.
   * `whileDown` runs between the two.
   */
  restart?(whileDown?: () => Promise<void>): Promise<number>;
  /** Heap after a collection, MB; only of a process that was started `inspected`. */
  collectedHeapMb?(): Promise<number>;
  stop(): Promise<void>;
}

/** Somebody else's process. */
export function foreignManager(pid: number, metricsUrl: string | undefined): Manager {
  if (sampleProcess(pid) === undefined)
    throw new BenchError(`there is no process ${pid} on this machine (--pid)`);
  return { pid, metricsUrl, own: false, stop: async () => undefined };
}

export interface OwnManagerOptions {
  /** `cli/bin.js` or a bundle of the tree to measure. */
  entry: string;
  /** Of the administrator; the controller runs as its own account. */
  kubeconfig: string;
  /** The cluster stays: definitions and webhooks are removed from it at the end. */
  uninstall: boolean;
  /** Of the controller, as its `--feature-gates` takes them. */
  gates?: string | undefined;
  /** Further ones of the controller. */
  flags?: readonly string[];
  /** It stands for election, as in a cluster; default: it works at once. */
  elects?: boolean | undefined;
  /** Its heap can be collected by Node's inspector, on loopback. */
  inspected?: boolean | undefined;
  /** Its processes are held on these; default: anywhere. */
  cores?: string | undefined;
  /** Of its way to the API server; default: none. */
  faults?: Faults | undefined;
  clock: Clock;
  random: Random;
  signal: AbortSignal;
}

/** Installs definitions and webhooks, then starts the controller; resolves when it is ready. */
export async function startOwnManager(options: OwnManagerOptions): Promise<Manager> {
  const webhook = await freePort();
  const metrics = await freePort(webhook + 1);
  const health = await freePort(metrics + 1);
  const inspector = await freePort(health + 1);
  const folder = mkdtempSync(join(tmpdir(), "refit-bench-manager-"));
  const manager = new OwnManager(options, { webhook, metrics, health, inspector }, folder);
  try {
    await manager.install();
    await manager.start();
  } catch (error) {
    await manager.stop();
    throw error;
  }
  return manager;
}

interface Ports {
  readonly webhook: number;
  readonly metrics: number;
  readonly health: number;
  readonly inspector: number;
}

class OwnManager implements Manager {
  readonly own = true;
  readonly #options: OwnManagerOptions;
  readonly #ports: Ports;
  readonly #folder: string;
  readonly #lastLines: string[] = [];
  #faulty: FaultyServer | undefined;
  #child: ChildProcess | undefined;
  #ending: ChildProcess | undefined;

  constructor(options: OwnManagerOptions, ports: Ports, folder: string) {
    this.#options = options;
    this.#ports = ports;
    this.#folder = folder;
  }

  /** Kubeconfig of the controller. */
  get #own(): string {
    return join(this.#folder, "kubeconfig");
  }

  get pid(): number {
    return this.#child?.pid ?? 0;
  }

  get metricsUrl(): string {
    return `http://127.0.0.1:${this.#ports.metrics}/metrics`;
  }

  async install(): Promise<void> {
    const address = ["--webhook-host", "127.0.0.1", "--webhook-port", String(this.#ports.webhook)];
    const { kubeconfig, gates = "" } = this.#options;
    await this.#run(["install", "--kubeconfig", kubeconfig, ...address]);
    await grantForGates(kubeconfig, gates);
    const config = await accountKubeconfig(kubeconfig, "kruise-manager");
    writeFileSync(this.#own, await this.#throughFaults(config), { mode: 0o600 });
  }

  /** The same account at the same server, by the faulty way if one is asked for. */
  async #throughFaults(config: string): Promise<string> {
    const { kubeconfig, faults, clock, random } = this.#options;
    if (faults === undefined) return config;
    const credentials = await loadCredentials({ kubeconfig, env: process.env, clock });
    const { server, tls } = await credentials.access();
    this.#faulty = await startFaultyServer({ server, ca: tls.ca, faults, clock, random });
    return config.replaceAll(server, this.#faulty.url);
  }

  get errorsAnswered(): number | undefined {
    if (this.#faulty === undefined) return undefined;
    const { before, after } = this.#faulty.answered;
    return before + after;
  }

  async start(): Promise<void> {
    const { gates, cores, elects = false, inspected = false, flags = [] } = this.#options;
    const ofNode = inspected ? [`--inspect=127.0.0.1:${this.#ports.inspector}`] : [];
    const child = this.#spawn(ofNode, [
      "controller",
      "--kubeconfig",
      this.#own,
      `--enable-leader-election=${elects}`,
      ...(gates === undefined ? [] : [`--feature-gates=${gates}`]),
      `--metrics-addr=127.0.0.1:${this.#ports.metrics}`,
      `--health-probe-addr=127.0.0.1:${this.#ports.health}`,
      ...flags,
    ]);
    this.#child = child;
    endWithThisProcess(child);
    child.once("exit", (code, signal) => {
      if (this.#ending !== child)
        process.stderr.write(
          `${this.#failed(`the controller ended by itself: ${signal ?? `code ${code}`}`).message}\n`,
        );
    });
    await this.#ready(child);
    if (cores !== undefined) hold(this.pid, cores);
  }

  async restart(whileDown?: () => Promise<void>): Promise<number> {
    const { clock } = this.#options;
    await this.#end("SIGKILL");
    await whileDown?.();
    const started = clock.monotonic();
    await this.start();
    return clock.monotonic() - started;
  }

  collectedHeapMb(): Promise<number> {
    return collectedHeapMb(this.#ports.inspector);
  }

  async stop(): Promise<void> {
    // Before its webhooks are removed: a controller that runs puts them back.
    await this.#end("SIGTERM");
    try {
      if (this.#options.uninstall) await this.#run(["uninstall", "--kubeconfig", this.#options.kubeconfig]);
    } finally {
      await this.#faulty?.stop();
      rmSync(this.#folder, { recursive: true, force: true });
    }
  }

  #end(signal: NodeJS.Signals): Promise<void> {
    const child = this.#child;
    if (child === undefined || child.exitCode !== null || child.signalCode !== null) return Promise.resolve();
    this.#ending = child;
    return new Promise((resolve) => {
      child.once("exit", () => resolve());
      child.kill(signal);
    });
  }

  #spawn(nodeFlags: readonly string[], args: readonly string[]): ChildProcess {
    const env = {
      ...process.env,
      ...controllerEnvironment,
      WEBHOOK_HOST: "127.0.0.1",
      WEBHOOK_PORT: String(this.#ports.webhook),
      WEBHOOK_CERT_DIR: join(this.#folder, "certificates"),
    };
    // In a process group of its own: Ctrl-C is for the bench, which still needs the manager to clean up.
    const child = spawn(
      process.execPath,
      [...controllerNodeFlags, ...nodeFlags, this.#options.entry, ...args],
      {
        env,
        detached: true,
        stdio: ["ignore", "pipe", "pipe"],
      },
    );
    for (const stream of [child.stdout, child.stderr])
      stream.on("data", (chunk: Buffer) => this.#keep(chunk));
    return child;
  }

  #keep(chunk: Buffer): void {
    this.#lastLines.push(
      ...chunk
        .toString()
        .split("\n")
        .filter((line) => line !== ""),
    );
    this.#lastLines.splice(0, Math.max(0, this.#lastLines.length - keptLines));
  }

  #run(args: readonly string[]): Promise<void> {
    return new Promise((resolve, reject) => {
      const child = this.#spawn([], args);
      child.on("error", reject);
      child.on("close", (code) =>
        code === 0 ? resolve() : reject(this.#failed(`refit ${args[0]} ended with code ${code}`)),
      );
    });
  }

  async #ready(child: ChildProcess): Promise<void> {
    const { clock, signal } = this.#options;
    const url = `http://127.0.0.1:${this.#ports.health}/readyz`;
    const until = clock.monotonic() + READY_TIMEOUT_MS;
    while (clock.monotonic() < until) {
      signal.throwIfAborted();
      if (child.exitCode !== null || child.signalCode !== null)
        throw this.#failed(`the controller ended with code ${child.exitCode} before it was ready`);
      const answer = await fetch(url, { signal: AbortSignal.timeout(1000) }).catch(() => undefined);
      if (answer?.ok === true) return;
      await clock.sleep(50);
    }
    throw this.#failed(`the controller was not ready after ${READY_TIMEOUT_MS / 1000} s (${url})`);
  }

  #failed(what: string): BenchError {
    return new BenchError([what, ...this.#lastLines.map((line) => `  ${line}`)].join("\n"));
  }
}

/** A bench that ends in whatever way takes its controller along: killed itself, it leaves that to a shell that notices. */
function endWithThisProcess(child: ChildProcess): void {
  const watcher = spawn("sh", ["-c", 'read -r _ || kill -KILL "$0"', String(child.pid)], {
    detached: true,
    stdio: ["pipe", "ignore", "ignore"],
  });
  watcher.on("error", () => undefined);
  watcher.stdin?.on("error", () => undefined);
  watcher.unref();
  const onExit = () => child.kill("SIGKILL");
  process.once("exit", onExit);
  child.once("exit", () => {
    process.off("exit", onExit);
    watcher.stdin?.end("ended\n");
  });
}
