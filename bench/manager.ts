/** The manager under test: a process of the user's, or the project's own controller, started here. */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { freePort } from "../cli/index.ts";
import { type Clock, loadCredentials, type Random } from "../kube/index.ts";
import { accountKubeconfig, grantForGates } from "../testkit/kube/account_fixture.ts";
import { ControllerProcess, type Program, runCommand } from "./controller_process.ts";
import { BenchError } from "./errors.ts";
import { hold } from "./load/cores.ts";
import { type Faults, type FaultyServer, startFaultyServer } from "./load/faulty_server.ts";
import { type RunningAllocations, startAllocations } from "./measure/allocations.ts";
import { type Measured, type MeasuredProcess, type ProcessSpent, processSpent } from "./measure/costs.ts";
import { collectedHeapMb } from "./measure/inspector.ts";
import { sampleProcess } from "./measure/process_stats.ts";

export interface Manager extends Measured {
  readonly own: boolean;
  /**
   * Kills the process and starts another one; milliseconds from its start until it says that it is ready.
   * `whileDown` runs between the two.
   */
  restart?(whileDown?: () => Promise<void>): Promise<number>;
  /** Heap after a collection, MB; only of a process that was started `inspected`. */
  collectedHeapMb?(): Promise<number>;
  /** Samples what it allocates from now on; of the same. */
  startAllocations?(): Promise<RunningAllocations>;
  /** Only of a manager that was started so. */
  readonly replicas?: Replicas | undefined;
  stop(): Promise<void>;
}

/** Several processes of the controller that share its work. */
export interface Replicas {
  readonly shards: number;
  /** Those that run, by their identity as holder of leases; those that never led are not known by it. */
  byIdentity(): ReadonlyMap<string, MeasuredProcess>;
  /** Ends one without a chance to tidy up. */
  kill(pid: number): Promise<void>;
}

/** How many processes, and over how many leases their work is spread. */
export interface Sharing {
  readonly replicas: number;
  readonly shards: number;
}

/** Somebody else's process. */
export function foreignManager(pid: number, metricsUrl: string | undefined): Manager {
  if (sampleProcess(pid) === undefined)
    throw new BenchError(`there is no process ${pid} on this machine (--pid)`);
  return { processes: [{ pid, metricsUrl }], own: false, stop: async () => undefined };
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
  /** Several replicas, which then stand for election; default: one. */
  sharing?: Sharing | undefined;
  /** Node's inspector answers on loopback: its heap can be collected, its allocations sampled. */
  inspected?: boolean | undefined;
  /** Its processes are held on these; default: anywhere. */
  cores?: string | undefined;
  /** Of its way to the API server; default: none. */
  faults?: Faults | undefined;
  clock: Clock;
  random: Random;
  signal: AbortSignal;
}

/** Installs definitions and webhooks, then starts the controller; resolves when all replicas are ready. */
export async function startOwnManager(options: OwnManagerOptions): Promise<Manager> {
  const webhook = await freePort();
  const manager = new OwnManager(options, webhook, mkdtempSync(join(tmpdir(), "refit-bench-manager-")));
  try {
    await manager.install();
    await manager.start();
  } catch (error) {
    await manager.stop();
    throw error;
  }
  return manager;
}

class OwnManager implements Manager {
  readonly own = true;
  readonly #options: OwnManagerOptions;
  /** All replicas answer webhooks here, as behind a Service. */
  readonly #webhookPort: number;
  readonly #folder: string;
  readonly #program: Program;
  readonly #replicas: Replica[] = [];
  #faulty: FaultyServer | undefined;

  constructor(options: OwnManagerOptions, webhookPort: number, folder: string) {
    this.#options = options;
    this.#webhookPort = webhookPort;
    this.#folder = folder;
    this.#program = {
      entry: options.entry,
      environment: {
        WEBHOOK_HOST: "127.0.0.1",
        WEBHOOK_PORT: String(webhookPort),
        WEBHOOK_CERT_DIR: join(folder, "certificates"),
        // Shared as in a cluster.
        ...(options.sharing === undefined ? {} : { WEBHOOK_CERT_WRITER: "secret" }),
      },
    };
  }

  /** Kubeconfig of the controller. */
  get #own(): string {
    return join(this.#folder, "kubeconfig");
  }

  get processes(): Manager["processes"] {
    const [first, ...others] = this.#replicas.map((replica) => replica.measured);
    return first === undefined ? [{ pid: 0, metricsUrl: undefined }] : [first, ...others];
  }

  async install(): Promise<void> {
    const address = ["--webhook-host", "127.0.0.1", "--webhook-port", String(this.#webhookPort)];
    const { kubeconfig, gates = "" } = this.#options;
    await runCommand(this.#program, ["install", "--kubeconfig", kubeconfig, ...address]);
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
    const { sharing } = this.#options;
    let from = this.#webhookPort + 1;
    for (let index = 0; index < (sharing?.replicas ?? 1); index++) {
      const metrics = await freePort(from);
      const health = await freePort(metrics + 1);
      const inspector = await freePort(health + 1);
      from = inspector + 1;
      this.#replicas.push(new Replica({ metrics, health, inspector }, (ports) => this.#startProcess(ports)));
    }
    await Promise.all(this.#replicas.map((replica) => this.#ready(replica)));
  }

  async #ready(replica: Replica): Promise<void> {
    const { cores } = this.#options;
    await replica.ready();
    if (cores !== undefined) hold(replica.measured.pid, cores);
  }

  #startProcess({ metrics, health, inspector }: Ports): ControllerProcess {
    const { gates, sharing, elects = sharing !== undefined, inspected = false, flags = [] } = this.#options;
    const { clock, signal } = this.#options;
    return new ControllerProcess({
      program: this.#program,
      nodeFlags: inspected ? [`--inspect=127.0.0.1:${inspector}`] : [],
      flags: [
        "--kubeconfig",
        this.#own,
        `--enable-leader-election=${elects}`,
        ...(gates === undefined ? [] : [`--feature-gates=${gates}`]),
        `--metrics-addr=127.0.0.1:${metrics}`,
        `--health-probe-addr=127.0.0.1:${health}`,
        ...(sharing === undefined ? [] : [`--shards=${sharing.shards}`, "--logging-format=json"]),
        ...flags,
      ],
      healthPort: health,
      clock,
      signal,
    });
  }

  async restart(whileDown?: () => Promise<void>): Promise<number> {
    const { clock } = this.#options;
    await this.#endAll("SIGKILL");
    await whileDown?.();
    const started = clock.monotonic();
    for (const replica of this.#replicas) replica.start();
    await Promise.all(this.#replicas.map((replica) => this.#ready(replica)));
    return clock.monotonic() - started;
  }

  collectedHeapMb(): Promise<number> {
    return collectedHeapMb(this.#inspector);
  }

  startAllocations(): Promise<RunningAllocations> {
    return startAllocations(this.#inspector);
  }

  get #inspector(): number {
    return this.#replicas[0]?.ports.inspector ?? 0;
  }

  get replicas(): Replicas | undefined {
    const { sharing } = this.#options;
    if (sharing === undefined) return undefined;
    return {
      shards: sharing.shards,
      byIdentity: () => new Map(this.#replicas.flatMap((replica) => replica.identified)),
      kill: async (pid) => {
        await this.#replicas.find(({ measured }) => measured.pid === pid)?.kill();
      },
    };
  }

  async stop(): Promise<void> {
    // Before its webhooks are removed: a controller that runs puts them back.
    await this.#endAll("SIGTERM");
    const { uninstall, kubeconfig } = this.#options;
    try {
      if (uninstall) await runCommand(this.#program, ["uninstall", "--kubeconfig", kubeconfig]);
    } finally {
      await this.#faulty?.stop();
      rmSync(this.#folder, { recursive: true, force: true });
    }
  }

  async #endAll(signal: NodeJS.Signals): Promise<void> {
    await Promise.all(this.#replicas.map((replica) => replica.end(signal)));
  }
}

interface Ports {
  readonly metrics: number;
  readonly health: number;
  readonly inspector: number;
}

/** A replica keeps its ports, whatever becomes of its process. */
class Replica {
  readonly ports: Ports;
  readonly #startProcess: (ports: Ports) => ControllerProcess;
  #process: ControllerProcess;
  #spent: ProcessSpent | undefined;

  constructor(ports: Ports, startProcess: (ports: Ports) => ControllerProcess) {
    this.ports = ports;
    this.#startProcess = startProcess;
    this.#process = startProcess(ports);
  }

  get measured(): MeasuredProcess {
    const metricsUrl = `http://127.0.0.1:${this.ports.metrics}/metrics`;
    return { pid: this.#process.pid, metricsUrl, ended: this.#spent };
  }

  /** An entry of those that run, where its identity is known. */
  get identified(): [identity: string, process: MeasuredProcess][] {
    const { identity } = this.#process;
    return identity === undefined || this.#spent !== undefined ? [] : [[identity, this.measured]];
  }

  start(): void {
    this.#process = this.#startProcess(this.ports);
  }

  ready(): Promise<void> {
    return this.#process.ready();
  }

  end(signal: NodeJS.Signals): Promise<void> {
    return this.#process.end(signal);
  }

  async kill(): Promise<void> {
    this.#spent = await processSpent(this.measured);
    await this.end("SIGKILL");
  }
}
