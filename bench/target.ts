/** What is measured: an API server, and the manager before it. */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type Client, type Clock, isKubeError, type Log, type Random } from "../kube/index.ts";
import { type Cluster, startSandbox } from "../sandbox/index.ts";
import { type Connection, connect } from "./connection.ts";
import { BenchError } from "./errors.ts";
import { type Cores, hold } from "./load/cores.ts";
import type { Faults } from "./load/faulty_server.ts";
import { foreignManager, type Manager, type Sharing, startOwnManager } from "./manager.ts";
import { checkAccess, checkKinds, reachServer } from "./preflight.ts";
import type { WorkloadKind } from "./workloads.ts";

export interface TargetOptions {
  kubeconfig: string | undefined;
  pid: number | undefined;
  metricsUrl: string | undefined;
  /** Entry of the controller to start, without `pid`. */
  controller: string;
  kinds: readonly WorkloadKind[];
  /** Of the controller that is started. */
  gates?: string | undefined;
  /** Of the same, beside those that the bench sets. */
  controllerFlags?: readonly string[];
  elects?: boolean | undefined;
  sharing?: Sharing | undefined;
  inspected?: boolean | undefined;
  /** What is held where; default: nothing. */
  cores?: Cores | undefined;
  /** Of the way from the controller that is started to the server. */
  faults?: Faults | undefined;
  seed: number;
  clock: Clock;
  random: Random;
  log: Log;
  signal: AbortSignal;
}

export interface Target extends Connection {
  readonly kubeconfig: string;
  readonly manager: Manager;
  readonly version: string;
  /** A server that goes with this target: nothing has to be removed from it. */
  readonly sandbox: boolean;
  /** Its state. */
  readonly memory?: Cluster;
  stop(): Promise<void>;
}

export async function openTarget(options: TargetOptions): Promise<Target> {
  const closing: (() => Promise<void> | void)[] = [];
  const stop = async (): Promise<void> => {
    for (const close of closing.splice(0).reverse()) await close();
  };
  try {
    // Before anything is started: what this process starts is held there as well.
    if (options.cores !== undefined) hold(process.pid, options.cores.others);
    const own = options.kubeconfig === undefined ? await ownSandbox(options, closing) : undefined;
    const kubeconfig = options.kubeconfig ?? own?.file ?? "";
    const { own: requests, clientOf, client } = await connect(options, kubeconfig);
    closing.push(() => client.close());
    const version = await reachServer(client);
    await checkAccess(client, options.kinds);
    const manager = await managerOf(options, client, kubeconfig);
    closing.push(() => manager.stop());
    await checkKinds(client, options.kinds);
    const server = own === undefined ? { sandbox: false } : { sandbox: true, memory: own.memory };
    return { kubeconfig, client, clientOf, own: requests, manager, version, ...server, stop };
  } catch (error) {
    await stop();
    throw error;
  }
}

/** The sandbox's API server alone: the nodes are the bench's own, as before any server. */
async function ownSandbox(options: TargetOptions, closing: (() => Promise<void> | void)[]) {
  const { seed, clock, log } = options;
  const sandbox = await startSandbox({
    seed,
    clock,
    nodes: 0,
    log: (message, fields) => log.debug(message, fields),
  });
  closing.push(() => sandbox.stop());
  const folder = mkdtempSync(join(tmpdir(), "refit-bench-"));
  closing.push(() => rmSync(folder, { recursive: true, force: true }));
  const file = join(folder, "kubeconfig");
  writeFileSync(file, sandbox.kubeconfig, { mode: 0o600 });
  return { file, memory: sandbox.cluster };
}

const webhookConfiguration =
  "/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations/kruise-mutating-webhook-configuration";

async function managerOf(options: TargetOptions, client: Client, kubeconfig: string): Promise<Manager> {
  const { pid, metricsUrl, controller, clock, signal } = options;
  const cores = options.cores?.manager;
  if (pid !== undefined) {
    if (cores !== undefined) hold(pid, cores);
    return foreignManager(pid, metricsUrl);
  }
  if (await exists(client, webhookConfiguration))
    throw new BenchError(
      "a manager is installed in this cluster: name its process with --pid, or remove it first (refit uninstall)",
    );
  const uninstall = options.kubeconfig !== undefined;
  return startOwnManager({
    entry: controller,
    kubeconfig,
    uninstall,
    gates: options.gates,
    flags: options.controllerFlags ?? [],
    elects: options.elects,
    sharing: options.sharing,
    inspected: options.inspected,
    cores,
    faults: options.faults,
    clock,
    random: options.random,
    signal,
  });
}

async function exists(client: Client, path: string): Promise<boolean> {
  try {
    await client.request("GET", path);
    return true;
  } catch (error) {
    if (isKubeError(error, "NotFound")) return false;
    throw error;
  }
}
