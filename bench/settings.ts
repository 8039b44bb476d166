/** The command line of a scenario, checked. */
import { parseArgs } from "node:util";
import { UsageError } from "./errors.ts";
import type { Cores } from "./load/cores.ts";
import type { Faults } from "./load/faulty_server.ts";
import type { Sharing } from "./manager.ts";
import type { OptionTable } from "./options.ts";
import type { Scenario, ScenarioSettings } from "./scenario.ts";
import { scenarioNamed } from "./scenarios/all.ts";
import { behaviourOf, type NodeBehaviour, parseShare } from "./timing.ts";

export interface RunSettings {
  readonly scenario: Scenario;
  /** Each is a run of its own. */
  readonly sizes: readonly number[];
  readonly repeat: number;
  readonly nodes: number;
  readonly maxUnavailable: string;
  readonly size: number;
  /** Undefined: one replica, which is not asked to share. */
  readonly sharing: Sharing | undefined;
  readonly steps: readonly string[];
  readonly inFlight: number;
  readonly sidecarSets: number;
  readonly namespaces: number;
  readonly limitPatches: number;
  readonly minutes: number;
  readonly behaviour: NodeBehaviour;
  readonly annotations: Readonly<Record<string, string>>;
  readonly kubeconfig: string | undefined;
  readonly pid: number | undefined;
  readonly metricsUrl: string | undefined;
  readonly label: string | undefined;
  /** Entry of the controller to start; default: this tree's sources. */
  readonly controller: string | undefined;
  /** Flags of that controller. */
  readonly controllerFlags: readonly string[];
  /** Clients beside the bench. */
  readonly watchers: number;
  readonly cores: Cores | undefined;
  /** Of the manager's way to the API server. */
  readonly faults: Faults | undefined;
  readonly seed: number;
  readonly timeoutMs: number;
  /** Folder for what the manager allocates in each phase; undefined: it is not sampled. */
  readonly allocations: string | undefined;
  readonly out: string | undefined;
  readonly page: string | undefined;
  /** As given, for the result. */
  readonly words: Readonly<Record<string, string>>;
}

const most = { pods: 100_000, nodes: 5_000, podsOfNode: 1_000 };

export const scenarioOptions = {
  pods: {
    type: "string",
    value: "N[,N…]",
    help: "Sizes, a run each, 1 to 100000. Default 1000, unless the scenario says otherwise.",
  },
  nodes: { type: "string", value: "N", help: "Hollow nodes, 1 to 5000. Default one for 50 pods." },
  "max-unavailable": {
    type: "string",
    default: "10%",
    value: "N|P%",
    help: "Budget of each workload, in pods or percent.",
  },
  size: {
    type: "string",
    default: "10",
    value: "N",
    help: "Pods of one workload of `many`, `replicas` and `hold`.",
  },
  replicas: {
    type: "string",
    default: "4",
    value: "N",
    help: "Processes of the controller in `replicas`, 1 to 16.",
  },
  shards: {
    type: "string",
    value: "N",
    help: "Leases that these share, 1 to 64. Default two for each of them, one for a single one.",
  },
  steps: { type: "string", default: "90%,50%,0", value: "A,B,…", help: "Partitions of `partition`." },
  "in-flight": {
    type: "string",
    default: "16",
    value: "N",
    help: "Requests at once of `admission`, `newpods` and `webhook`, 1 to 64.",
  },
  "sidecar-sets": { type: "string", default: "0", value: "N", help: "SidecarSets of `webhook`, 0 to 100." },
  namespaces: {
    type: "string",
    default: "2000",
    value: "N",
    help: "Targets of `resourcedistribution`, 1 to 100000.",
  },
  limit: {
    type: "string",
    default: "400",
    value: "N",
    help: "Patches of each kind of the bare loop; 0: none.",
  },
  minutes: { type: "string", default: "20", value: "N", help: "How long `soak` lasts, 1 to 1440." },
  start: {
    type: "string",
    default: "200",
    value: "MS",
    help: "How long a hollow node takes to start a container: 200, 100-400 (uniform) or 100-4000:tail.",
  },
  pull: { type: "string", default: "0", value: "MS", help: "The same of pulling an image." },
  ready: { type: "string", default: "0", value: "MS", help: "The same from start to ready." },
  crash: { type: "string", default: "0%", value: "P%", help: "Containers that end once and are restarted." },
  "pull-failures": {
    type: "string",
    default: "0%",
    value: "P%",
    help: "Pods whose image cannot be pulled at first.",
  },
  annotation: {
    type: "string",
    multiple: true,
    value: "K=V",
    help: "On the workloads, as often as needed.",
  },
  kubeconfig: {
    type: "string",
    value: "FILE",
    help: "Measure before this cluster, not a sandbox; the project's own controller needs one without a manager.",
  },
  pid: {
    type: "string",
    value: "N",
    help: "With --kubeconfig: the manager of this process, whatever it is.",
  },
  "metrics-url": { type: "string", value: "URL", help: "Of that manager: http://HOST:PORT/metrics." },
  label: { type: "string", value: "NAME", help: "Name of the manager in results." },
  controller: {
    type: "string",
    value: "FILE",
    help: "Another build of the own controller to start, such as dist/refit.mjs.",
  },
  "controller-flag": {
    type: "string",
    multiple: true,
    value: "FLAG",
    help: "A flag of the own controller, such as --controller-flag=--stage-metrics. Repeatable.",
  },
  allocations: {
    type: "string",
    value: "DIR",
    help: "Sample what the own controller allocates: a figure, and a .heapprofile file of each phase in DIR/PODS.",
  },
  watchers: {
    type: "string",
    default: "0",
    value: "N",
    help: "Clients beside, 0 to 64, a process each: they watch all pods as JSON and read each that changed.",
  },
  cores: {
    type: "string",
    value: "M,O",
    help: "Hold the manager on core M, the bench, its server and the clients on core O (Linux, taskset).",
  },
  latency: {
    type: "string",
    default: "0",
    value: "MS",
    help: "Of each request of the own controller, before the server gets it, 0 to 60000.",
  },
  errors: {
    type: "string",
    default: "0%",
    value: "P%",
    help: "Its requests that are answered with 500, 503 or 429, before or after they took effect.",
  },
  seed: { type: "string", default: "1", value: "N", help: "Of all chance." },
  repeat: { type: "string", default: "1", value: "N", help: "Runs of each size." },
  timeout: { type: "string", default: "900", value: "S", help: "Longest time of a phase, in seconds." },
  out: { type: "string", value: "FILE", help: "Write results as JSON, and the page beside them." },
  page: { type: "string", value: "FILE", help: "Write the page, in HTML, there." },
} as const satisfies OptionTable;

/** Of `SCENARIO --pods N …`. Throws UsageError. */
export function runSettings(args: readonly string[]): RunSettings {
  const { values, positionals } = readValues(args);
  if (positionals.length !== 1)
    throw new UsageError(
      positionals.length === 0
        ? "name a scenario"
        : `one scenario at a time, not ${positionals.length}: ${positionals.join(" ")}`,
    );
  const scenario = scenarioNamed(positionals[0] ?? "");
  amount(values["max-unavailable"], "max-unavailable");
  const steps = values.steps.split(",");
  for (const step of steps) amount(step, "steps");
  const annotations = Object.fromEntries((values.annotation ?? []).map(pairOf));
  const sharing = scenario.replicated === true ? sharingOf(values) : undefined;
  return {
    scenario,
    ...sizesOf(values, scenario),
    ...managerOf(values, scenario),
    repeat: within(values.repeat, "repeat", 1, 100),
    maxUnavailable: values["max-unavailable"],
    size: within(values.size, "size", 1, most.pods),
    sharing,
    steps,
    inFlight: within(values["in-flight"], "in-flight", 1, 64),
    sidecarSets: within(values["sidecar-sets"], "sidecar-sets", 0, 100),
    namespaces: within(values.namespaces, "namespaces", 1, most.pods),
    limitPatches: within(values.limit, "limit", 0, 100_000),
    minutes: within(values.minutes, "minutes", 1, 1_440),
    behaviour: behaviourOf({ ...values, pullFailures: values["pull-failures"] }),
    annotations,
    label: values.label,
    watchers: within(values.watchers, "watchers", 0, 64),
    cores: values.cores === undefined ? undefined : coresOf(values.cores),
    faults: faultsOf(values),
    seed: within(values.seed, "seed", 0, 2 ** 32 - 1),
    timeoutMs: within(values.timeout, "timeout", 1, 86_400) * 1000,
    allocations: allocationsOf(values, scenario),
    out: resultPath(values.out),
    page: values.page,
    words: { ...wordsOf(values, scenario, sharing), ...annotations },
  };
}

function sharingOf({ replicas: count, shards }: Values): Sharing {
  const replicas = within(count, "replicas", 1, 16);
  const usual = replicas === 1 ? 1 : 2 * replicas;
  return { replicas, shards: shards === undefined ? usual : within(shards, "shards", 1, 64) };
}

function coresOf(text: string): Cores {
  const cores = text.split(",");
  if (cores.length !== 2)
    throw new UsageError(`--cores must be two numbers, such as 0,1, not ${JSON.stringify(text)}`);
  const [manager, others] = cores.map((core) => within(core, "cores", 0, 1023));
  return { manager: String(manager), others: String(others) };
}

function faultsOf({ latency, errors, pid }: Values): Faults | undefined {
  const faults = { latencyMs: within(latency, "latency", 0, 60_000), errors: parseShare(errors, "errors") };
  if (faults.latencyMs === 0 && faults.errors === 0) return undefined;
  if (pid !== undefined)
    throw new UsageError("--latency and --errors are of a manager that the bench starts: leave out --pid");
  return faults;
}

function allocationsOf({ allocations, pid }: Values, scenario: Scenario): string | undefined {
  if (allocations === undefined) return undefined;
  if (pid !== undefined)
    throw new UsageError("--allocations is of a manager that the bench starts: leave out --pid");
  if (scenario.ownManager === true)
    throw new UsageError(
      `${scenario.name} has no single process from beginning to end: leave out --allocations`,
    );
  return allocations;
}

function resultPath(out: string | undefined): string | undefined {
  if (out?.endsWith(".html"))
    throw new UsageError(`--out ${out} would hold JSON; name a .json file there, and the page with --page`);
  return out;
}

function readValues(args: readonly string[]) {
  return readArguments(() =>
    parseArgs({ args: [...args], allowPositionals: true, options: scenarioOptions }),
  );
}

type Values = ReturnType<typeof readValues>["values"];

function sizesOf(values: Values, scenario: Scenario): Pick<RunSettings, "sizes" | "nodes"> {
  const { usualPods = 1_000 } = scenario;
  const sizes = (values.pods ?? String(usualPods))
    .split(",")
    .map((text) => within(text, "pods", 1, most.pods));
  const largest = Math.max(...sizes);
  if (scenario.perNode === true) {
    if (values.nodes !== undefined)
      throw new UsageError(`${scenario.name} has a pod on each node: leave out --nodes`);
    if (largest > most.nodes) throw new UsageError(`${scenario.name} has at most ${most.nodes} pods`);
  }
  const size = within(values.size, "size", 1, most.pods);
  const made = scenario.madePods?.({ size }) ?? largest;
  const usual = Math.max(1, Math.min(most.nodes, Math.ceil(made / 50)));
  const nodes = values.nodes === undefined ? usual : within(values.nodes, "nodes", 1, most.nodes);
  if (made / nodes > most.podsOfNode / 2)
    throw new UsageError(
      `${made} pods need at least ${Math.ceil((made * 2) / most.podsOfNode)} nodes (--nodes)`,
    );
  return { sizes, nodes };
}

function managerOf(
  values: Values,
  scenario: Scenario,
): Pick<RunSettings, "kubeconfig" | "pid" | "metricsUrl" | "controller" | "controllerFlags"> {
  const { kubeconfig, controller, "controller-flag": controllerFlags = [] } = values;
  const url = values["metrics-url"];
  const pid = values.pid === undefined ? undefined : within(values.pid, "pid", 1, 2 ** 31);
  if (pid !== undefined && kubeconfig === undefined)
    throw new UsageError("--pid needs --kubeconfig: a process of yours cannot know the bench's own server");
  if (pid === undefined && url !== undefined)
    throw new UsageError("--metrics-url is for a manager named by --pid");
  if (pid !== undefined && controller !== undefined)
    throw new UsageError("--controller is started by the bench: leave out --pid");
  if (pid !== undefined && controllerFlags.length > 0)
    throw new UsageError("--controller-flag is for the controller that the bench starts: leave out --pid");
  if (pid !== undefined && scenario.ownManager === true)
    throw new UsageError(`${scenario.name} ends and starts the manager: leave out --pid`);
  const metricsUrl = url === undefined ? undefined : urlOf(url);
  return { kubeconfig, pid, metricsUrl, controller, controllerFlags };
}

/** What was asked, for the result. */
function wordsOf(values: Values, { name }: Scenario, sharing: Sharing | undefined): Record<string, string> {
  return {
    "max-unavailable": values["max-unavailable"],
    start: values.start,
    pull: values.pull,
    ready: values.ready,
    crash: values.crash,
    "pull-failures": values["pull-failures"],
    ...(values.watchers === "0" ? {} : { watchers: values.watchers }),
    ...(values.cores === undefined ? {} : { cores: values.cores }),
    ...(values["controller-flag"] === undefined
      ? {}
      : { "controller-flag": values["controller-flag"].join(" ") }),
    ...(values.latency === "0" ? {} : { latency: values.latency }),
    ...(values.errors === "0%" ? {} : { errors: values.errors }),
    ...(name === "many" || name === "replicas" || name === "hold" ? { size: values.size } : {}),
    ...(sharing === undefined ? {} : { replicas: String(sharing.replicas), shards: String(sharing.shards) }),
    ...(name === "resourcedistribution" ? { namespaces: values.namespaces } : {}),
    ...(name === "soak" ? { minutes: values.minutes } : {}),
    ...(name === "partition" ? { steps: values.steps } : {}),
    ...(name === "admission" || name === "webhook" || name === "sidecarset"
      ? { "in-flight": values["in-flight"] }
      : {}),
    ...(name === "webhook" ? { "sidecar-sets": values["sidecar-sets"] } : {}),
  };
}

export function scenarioSettings(settings: RunSettings, pods: number): ScenarioSettings {
  const { maxUnavailable, size, steps, inFlight, sidecarSets, namespaces, limitPatches, minutes } = settings;
  const nodes = nodesFor(settings, pods);
  return {
    pods,
    nodes,
    maxUnavailable,
    size,
    steps,
    inFlight,
    sidecarSets,
    namespaces,
    limitPatches,
    minutes,
  };
}

/** Hollow nodes of a run of this size. */
export function nodesFor({ scenario, nodes }: RunSettings, pods: number): number {
  return scenario.perNode === true ? pods : nodes;
}

/** The parser's refusal as ours. */
export function readArguments<T>(parse: () => T): T {
  try {
    return parse();
  } catch (error) {
    if (!(error instanceof TypeError)) throw error;
    throw new UsageError(error.message.split(". ")[0] ?? error.message);
  }
}

export function within(text: string, flag: string, from: number, to: number): number {
  const value = /^\d{1,10}$/.test(text) ? Number(text) : Number.NaN;
  if (!(value >= from && value <= to))
    throw new UsageError(
      `--${flag} must be a whole number from ${from} to ${to}, not ${JSON.stringify(text)}`,
    );
  return value;
}

function amount(text: string, flag: string): void {
  if (text.endsWith("%")) parseShare(text, flag);
  else within(text, flag, 0, most.pods);
}

function pairOf(text: string): [string, string] {
  const at = text.indexOf("=");
  if (at <= 0) throw new UsageError(`--annotation must be key=value, not ${JSON.stringify(text)}`);
  return [text.slice(0, at), text.slice(at + 1)];
}

function urlOf(text: string): string {
  if (!URL.canParse(text) || !/^https?:$/.test(new URL(text).protocol))
    throw new UsageError(`--metrics-url must be an http or https URL, not ${JSON.stringify(text)}`);
  return text;
}
