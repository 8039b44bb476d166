/** Flags and environment of the agent. Spec: agent 2, platform 2.2. */
import type { LogLevel } from "../kube/index.ts";
import { AgentError } from "./errors.ts";

export interface AgentSettings {
  readonly nodeName: string;
  /** Listener of health checks and metrics, `host:port`. */
  readonly address: string;
  readonly socketFile: string;
  /** Where the host's run directories are seen. */
  readonly socketRoots: readonly string[];
  /** 0 or less: no limit. */
  readonly maxPulls: number;
  readonly pluginConfigFile: string;
  readonly pluginBinaryFolder: string;
  readonly kubeconfig: string;
  readonly stateFolder: string;
  readonly startedBy: "agent" | "kubelet";
  /** Swap images of pods that ask for it. */
  readonly directSwap: boolean;
  readonly gates: AgentGates;
  readonly logLevel: LogLevel;
  /** Flags that were given and change nothing here; one line each in the log. */
  readonly withoutEffect: readonly string[];
}

export interface AgentGates {
  readonly DaemonWatchingPod: boolean;
  readonly InPlaceUpdateEnvFromMetadata: boolean;
  readonly PodProbeMarkerGate: boolean;
  readonly EnhancedLivenessProbe: boolean;
}

interface AgentFlag {
  readonly initial: string;
  /** How the help calls the value; empty for a flag that may stand without one. */
  readonly value: string;
  readonly help: string;
}

export const agentFlags: Readonly<Record<string, AgentFlag>> = {
  addr: { initial: ":10221", value: "ADDR", help: "Where health checks and metrics are served." },
  "socket-file": {
    initial: "",
    value: "FILE",
    help: "Socket of the container runtime; else the kubelet's is looked for.",
  },
  "max-workers-for-pull-image": {
    initial: "-1",
    value: "N",
    help: "Most pulls at a time; 0 or less means no limit.",
  },
  "plugin-config-file": {
    initial: "/kruise/CredentialProviderPlugin.yaml",
    value: "FILE",
    help: "Configuration of credential provider plugins.",
  },
  "plugin-bin-dir": { initial: "/kruise/plugins", value: "DIR", help: "Folder of those plugins." },
  "feature-gates": {
    initial: "",
    value: "NAME=BOOL,...",
    help: "Feature gates; also AllAlpha= and AllBeta=.",
  },
  kubeconfig: { initial: "", value: "FILE", help: "Path of the kubeconfig; else in-cluster." },
  "state-dir": {
    initial: "/var/lib/refit-agent",
    value: "DIR",
    help: "What the agent must not forget over a restart.",
  },
  "restart-containers-by": {
    initial: "agent",
    value: "agent|kubelet",
    help: "Who starts the containers of a recreate request again.",
  },
  "direct-swap": {
    initial: "false",
    value: "",
    help: "Swap images of pods that ask for it, without the kubelet.",
  },
  v: { initial: "4", value: "N", help: "Verbosity; from 5 on details are logged." },
};

/** Of the reference's log: those that may stand without a value, and those that need one. */
const logSwitches = [
  "logtostderr",
  "alsologtostderr",
  "legacy_stderr_threshold_behavior",
  "add_dir_header",
  "skip_headers",
  "skip_log_headers",
  "one_output",
] as const;
const logTexts = [
  "stderrthreshold",
  "log_dir",
  "log_file",
  "log_file_max_size",
  "log_backtrace_at",
  "log-flush-frequency",
  "logging-format",
] as const;

/** Flags of the reference whose work is done otherwise: accepted, so that its manifests start this agent, and named in the log. */
export const flagsWithoutEffect: Readonly<Record<string, string>> = {
  "enable-pprof": "profiling is the runtime's: node --cpu-prof, deno --cpu-prof",
  "pprof-addr": "profiling is the runtime's: node --cpu-prof, deno --cpu-prof",
  "rest-config-qps": "the request window sizes itself",
  "rest-config-burst": "the request window sizes itself",
  ...Object.fromEntries(
    [...logSwitches, ...logTexts].map((name) => [name, "the log goes to standard error as JSON lines"]),
  ),
  vmodule: "--v sets the level of all parts",
};
const flagsWithoutValue = new Set<string>(["direct-swap", "enable-pprof", ...logSwitches]);

/** Throws AgentError `Config`. `exists` says whether a path is there. */
export function agentSettings(
  argv: readonly string[],
  env: Readonly<Record<string, string | undefined>>,
  exists: (path: string) => boolean,
): AgentSettings {
  const { values, noted } = readFlags(argv);
  const value = (name: string): string => values.get(name) ?? agentFlags[name]?.initial ?? "";
  const nodeName = env["NODE_NAME"] ?? "";
  if (nodeName === "") throw new AgentError("Config", "not found NODE_NAME in environments");
  const startedBy = value("restart-containers-by");
  if (startedBy !== "agent" && startedBy !== "kubelet") {
    throw new AgentError("Config", `--restart-containers-by=${startedBy}: must be agent or kubelet`);
  }
  return {
    nodeName,
    address: value("addr"),
    socketFile: value("socket-file"),
    socketRoots: exists("/hostvarrun") ? ["/hostvarrun"] : ["/run", "/var/snap/microk8s/common/run"],
    maxPulls: integer("max-workers-for-pull-image", value("max-workers-for-pull-image")),
    pluginConfigFile: value("plugin-config-file"),
    pluginBinaryFolder: value("plugin-bin-dir"),
    kubeconfig: value("kubeconfig"),
    stateFolder: value("state-dir"),
    startedBy,
    directSwap: flag("direct-swap", value("direct-swap")),
    gates: agentGates(value("feature-gates")),
    logLevel: integer("v", value("v")) >= 5 ? "debug" : "info",
    withoutEffect: noted,
  };
}

function flag(name: string, text: string): boolean {
  if (text !== "true" && text !== "false")
    throw new AgentError("Config", `--${name}=${text}: must be true or false`);
  return text === "true";
}

function integer(name: string, text: string): number {
  if (!/^-?\d{1,9}$/.test(text)) throw new AgentError("Config", `--${name}=${text}: must be a whole number`);
  return Number(text);
}

function readFlags(argv: readonly string[]): {
  values: ReadonlyMap<string, string>;
  noted: readonly string[];
} {
  const values = new Map<string, string>();
  const noted: string[] = [];
  for (let at = 0; at < argv.length; at++) {
    const match = /^--?([a-z][\w-]*)(?:=(.*))?$/s.exec(argv[at] ?? "");
    const name = match?.[1];
    if (name === undefined)
      throw new AgentError("Config", `argument ${JSON.stringify(argv[at])} is not a flag`);
    const ignored = Object.hasOwn(flagsWithoutEffect, name) ? flagsWithoutEffect[name] : undefined;
    if (ignored === undefined && !Object.hasOwn(agentFlags, name)) {
      const known = Object.keys(agentFlags).map((flag) => `--${flag}`);
      throw new AgentError("Config", `unknown flag --${name}; there are ${known.join(", ")}`);
    }
    const given = match?.[2] ?? (flagsWithoutValue.has(name) ? "true" : argv[++at]);
    if (given === undefined) throw new AgentError("Config", `--${name} needs a value`);
    if (ignored === undefined) values.set(name, given);
    else noted.push(`--${name} has no effect: ${ignored}`);
  }
  return { values, noted };
}

const alphaGates: readonly string[] = ["EnhancedLivenessProbe"];
const betaGates = ["KruiseDaemon", "DaemonWatchingPod", "InPlaceUpdateEnvFromMetadata", "PodProbeMarkerGate"];

/** The manager's gate string; gates that are not the agent's are the manager's business. Off follows from off (spec agent 11). */
export function agentGates(text: string): AgentGates {
  // What the controller's gate has moved to the agent runs there unless it is switched off.
  const gates = new Map([...betaGates, ...alphaGates].map((name) => [name, true]));
  for (const part of text.split(",").filter((one) => one.trim() !== "")) {
    const match = /^\s*(\w+)\s*=\s*(true|false|1|0|t|f|T|F|TRUE|FALSE|True|False)\s*$/.exec(part);
    if (!match)
      throw new AgentError(
        "Config",
        `--feature-gates: ${JSON.stringify(part)} is not Name=true or Name=false`,
      );
    const on = /^(1|t)/i.test(match[2] ?? "");
    const names =
      match[1] === "AllBeta" ? betaGates : match[1] === "AllAlpha" ? alphaGates : [match[1] ?? ""];
    for (const name of names) gates.set(name, on);
  }
  const on = (name: string): boolean => gates.get("KruiseDaemon") === true && gates.get(name) === true;
  return {
    DaemonWatchingPod: on("DaemonWatchingPod"),
    InPlaceUpdateEnvFromMetadata: on("InPlaceUpdateEnvFromMetadata") && on("DaemonWatchingPod"),
    PodProbeMarkerGate: on("PodProbeMarkerGate"),
    EnhancedLivenessProbe: on("EnhancedLivenessProbe") && on("DaemonWatchingPod"),
  };
}
