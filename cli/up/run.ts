/** `refit up`: a cluster in this process, the controller on it, and a rollout to look at. */
import { randomInt } from "node:crypto";
import { once } from "node:events";
import { createWriteStream, type WriteStream } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { counted } from "../../kube/core/index.ts";
import {
  type Client,
  type Clock,
  type Credentials,
  createClient,
  fixedCredentials,
  type Log,
  undiciTransport,
} from "../../kube/index.ts";
import {
  type KubernetesVersion,
  parseKubernetesVersion,
  type Sandbox,
  startSandbox,
  usualPodCapacity,
} from "../../sandbox/index.ts";
import { parseArguments } from "../arguments.ts";
import type { Call, ClusterAccess } from "../command.ts";
import { controllerFlags } from "../controller/controller_flags.ts";
import { listenError } from "../controller/listen_error.ts";
import { startControllerProcess } from "../controller/process.ts";
import { aborted } from "../controller/run.ts";
import { type ProcessSettings, processSettings } from "../controller/settings.ts";
import { textLog } from "../controller/text_log.ts";
import { Verbosity } from "../controller/verbosity.ts";
import { CliError, describeError } from "../errors.ts";
import { textAt } from "../fields.ts";
import { freePort } from "../free_port.ts";
import { globalFlagsBeside } from "../global_flags.ts";
import { applyObject, builtinType, waitEstablished } from "../install/apply.ts";
import { definitions, type InstallOptions, installObjects } from "../install/manifests.ts";
import { uninstallCheck } from "../install/run.ts";
import { ResourceTypes } from "../resource_types.ts";
import { startReadOnlyPage } from "../ui/run.ts";
import { demoName, printKept, runDemo } from "./demo.ts";
import { claimKubeconfig, type KubeconfigFile, processRuns } from "./kubeconfig_file.ts";
import { parentGone } from "./parent_gone.ts";
import { answerUninstallChecks, type CheckResult } from "./uninstall_checks.ts";

/** Where the controller is installed, and as whom it runs. */
const namespace = "kruise-system";
const account = "kruise-manager";

type UpOptions = ReturnType<typeof optionsOf>;

/** What the chart switches on, and what the examples need. */
const usualGates = ["ImagePullJobGate=true", "ResourceDistributionGate=true"];

const usualKubeconfig = ".refit/kubeconfig";
const fewestNodes = 5;

function optionsOf(call: Call) {
  const { flags } = call;
  const pods = flags.integer("pods", 1, 5000) ?? 20;
  return {
    pods,
    nodes: nodesFor(pods, flags.integer("nodes", 1, 1000)),
    port: flags.integer("port", 0, 65_535) ?? 0,
    seed: flags.integer("seed", 0, 2 ** 32 - 1) ?? randomInt(2 ** 31),
    timing: timingOf(flags.text("timing")),
    kubernetesVersion: versionOf(flags.text("kubernetes-version")),
    featureGates: flags.text("feature-gates") ?? "",
    /** Undefined: at the usual place. */
    kubeconfig: flags.text("kubeconfig-out"),
    once: flags.on("once"),
    outlivesParent: flags.on("outlive-parent"),
  };
}

function timingOf(text: string | undefined): "real" | "fast" {
  if (text === "real" || text === "fast") return text;
  throw new CliError(`invalid value "${text}" for --timing: must be real or fast`);
}

function versionOf(text: string | undefined): KubernetesVersion | undefined {
  if (text === undefined) return undefined;
  const version = parseKubernetesVersion(text);
  if (version === undefined)
    throw new CliError(`invalid value "${text}" for --kubernetes-version: must be like 1.34 or 1.34.4`);
  return version;
}

/** As many nodes as were asked for, else as many as the pods need. Throws CliError when those cannot hold the pods. */
export function nodesFor(pods: number, asked: number | undefined): number {
  const needed = Math.ceil(pods / usualPodCapacity);
  if (asked === undefined) return Math.max(fewestNodes, needed);
  if (asked >= needed) return asked;
  const nodes = asked === 1 ? "one node" : `${asked} nodes`;
  throw new CliError(
    `${pods} pods do not fit on ${nodes} of ${usualPodCapacity} pods each: --nodes must be ${needed} or more`,
  );
}

export async function runUp(call: Call): Promise<number> {
  const options = optionsOf(call);
  // Found out before anything is started: whether there is a place to write, and whether gates are known.
  const webhookPort = await freePort();
  await using started = new AsyncDisposableStack();
  const kubeconfig = await claimKubeconfig({
    wanted: options.kubeconfig,
    usualPath: usualKubeconfig,
    pid: process.pid,
    isRunning: processRuns,
  });
  started.defer(() => kubeconfig.remove());
  const folder = await mkdtemp(join(tmpdir(), "refit-"));
  // Certificates may be written once more while the controller stops.
  started.defer(() => rm(folder, { recursive: true, force: true, maxRetries: 5, retryDelay: 50 }));
  try {
    const settings = controllerSettings(options, webhookPort, folder);
    await runAll(call, options, { kubeconfig, settings, webhookPort }, started);
  } catch (error) {
    if (!call.io.signal.aborted) throw error;
  }
  if (call.io.signal.aborted) call.print("Stopping.");
  return 0;
}

interface Prepared {
  readonly kubeconfig: KubeconfigFile;
  readonly settings: ProcessSettings;
  readonly webhookPort: number;
}

async function runAll(
  call: Call,
  options: UpOptions,
  { kubeconfig, settings, webhookPort }: Prepared,
  started: AsyncDisposableStack,
): Promise<void> {
  const cluster = await startCluster(options, call.host.clock);
  started.defer(() => cluster.stop());
  await kubeconfig.write(cluster.kubeconfig);
  call.print(`Sandbox at ${cluster.url}, ${counted(options.nodes, "node")}, seed ${options.seed}`);
  const { log, logFile } = logTo(call, kubeconfig.path, started);
  const client = clientOf(call, credentialsFor(cluster, cluster.token), log);
  started.defer(() => client.close());
  const access = { client, namespace: "default", types: new ResourceTypes(client) };
  started.defer(answerUninstallChecks(cluster.cluster, () => checkUninstall(access)));
  const credentials = await install(call, cluster, client, { settings, webhookPort });
  const own = { client: clientOf(call, credentials, log), admissionClient: clientOf(call, credentials, log) };
  started.defer(() => own.client.close());
  started.defer(() => own.admissionClient.close());
  const { clock, random } = call.host;
  const controller = await startControllerProcess({
    ...own,
    log,
    settings,
    clock,
    random,
    verbosity: new Verbosity(0),
    identity: "refit-up",
  });
  started.defer(() => controller.stop());
  await Promise.race([controller.working, controller.failed]);
  const page = options.once ? "" : await startReadOnlyPage({ access, host: call.host }, started);
  if (page !== "") call.print(`Watch it in a browser: ${call.paint("cyan", page)}`);
  const result = await Promise.race([runDemo(call, client, options.pods), controller.failed]);
  printKept(call, result);
  if (options.once) return;
  printHints(call, kubeconfig.path, page, logFile);
  await Promise.race([ended(call, options), controller.failed]);
}

async function checkUninstall(access: ClusterAccess): Promise<CheckResult> {
  try {
    const { isClean, said } = await uninstallCheck(access);
    return { code: isClean ? 0 : 1, said };
  } catch (error) {
    return { code: 1, said: describeError(error) };
  }
}

async function ended({ host, io, print }: Call, { outlivesParent }: UpOptions): Promise<void> {
  if (outlivesParent) return await aborted(io.signal);
  await Promise.race([aborted(io.signal), parentGone(host.parent, host.clock, io.signal)]);
  if (!io.signal.aborted) print("What started this process has ended, so it ends, too.");
}

/** Throws CliError when the port cannot be had. */
async function startCluster(options: UpOptions, clock: Clock): Promise<Sandbox> {
  const { nodes, port, seed, timing: profile, kubernetesVersion } = options;
  try {
    return await startSandbox({ nodes, port, seed, profile, agent: true, kubernetesVersion, clock });
  } catch (error) {
    if (error instanceof Error && "syscall" in error) throw listenError(`127.0.0.1:${port}`, "--port", error);
    throw error;
  }
}

function credentialsFor({ url, caCert }: Sandbox, token: string): Credentials {
  return fixedCredentials(url, { headers: { authorization: `Bearer ${token}` }, tls: { ca: caCert } });
}

/** Lines of the controller go into a file: on the screen they would tear the picture. */
function logTo(call: Call, kubeconfig: string, started: AsyncDisposableStack): { log: Log; logFile: string } {
  const logFile = `${kubeconfig}.controller.log`;
  const file: WriteStream = createWriteStream(logFile, { mode: 0o600 });
  file.on("error", () => undefined);
  started.defer(async () => {
    file.end();
    if (!file.closed && file.errored === null) await once(file, "close");
  });
  return {
    log: textLog(
      file,
      () => call.host.clock.now(),
      () => "info",
    ),
    logFile,
  };
}

function clientOf(call: Call, credentials: Credentials, log: Log): Client {
  const { clock, random } = call.host;
  const transport = undiciTransport({ clock });
  return createClient({ credentials, clock, random, userAgent: "kruise-manager", transport, log });
}

/** What a cluster needs before the controller starts; gives the credentials of its account, which may do what its roles say. */
async function install(
  call: Call,
  cluster: Sandbox,
  client: Client,
  { settings, webhookPort }: Pick<Prepared, "settings" | "webhookPort">,
): Promise<Credentials> {
  const { gates } = settings.controller;
  const options: InstallOptions = {
    namespace,
    webhookHost: "127.0.0.1",
    webhookPort,
    guardsDefinitions: gates.DeletionProtectionForCRDCascadingGate,
    distributesResources: gates.ResourceDistributionGate,
  };
  for (const object of installObjects(options)) await applyObject(client, builtinType(object), object);
  await waitEstablished({ client }, definitions(options), call.host, call.io.signal);
  const path = `/api/v1/namespaces/${namespace}/serviceaccounts/${account}/token`;
  const answer = await client.request("POST", path, {
    apiVersion: "authentication.k8s.io/v1",
    kind: "TokenRequest",
    spec: {},
  });
  return credentialsFor(cluster, textAt(answer, "status", "token") ?? "");
}

function controllerSettings(
  { featureGates }: UpOptions,
  webhookPort: number,
  folder: string,
): ProcessSettings {
  const gates = [...usualGates, ...(featureGates === "" ? [] : [featureGates])].join(",");
  const flags = ["--metrics-addr=0", "--health-probe-addr=0", "--enable-leader-election=false"];
  flags.push(`--feature-gates=${gates}`);
  const env = {
    WEBHOOK_HOST: "127.0.0.1",
    WEBHOOK_PORT: String(webhookPort),
    WEBHOOK_CERT_DIR: join(folder, "certificates"),
  };
  return processSettings(
    parseArguments(flags, { ...controllerFlags, ...globalFlagsBeside(controllerFlags) }, "refit up").flags,
    env,
  );
}

function printHints(call: Call, kubeconfig: string, page: string, logFile: string): void {
  const hint = (text: string): void => call.print(`  ${call.paint("cyan", text)}`);
  call.print();
  call.print("It is yours; in another terminal:");
  hint(`export KUBECONFIG=${kubeconfig}`);
  hint("kubectl get clone,pods -o wide");
  call.print("Break it, ask why, and mend it:");
  hint(`npm run refit -- set image clone/${demoName} web=nginx:no-such-tag`);
  hint(`npm run refit -- why clone/${demoName}`);
  hint(`npm run refit -- rollout undo clone/${demoName}`);
  call.print(`The page is at ${page}`);
  call.print(`The controller's log is ${logFile}. Ctrl-C stops everything.`);
}
