/** From flags and environment to the settings of the controller process. Spec: platform 2.1 to 2.4. */
import {
  type ControllerOptions,
  controllerOptions,
  type FeatureGates,
  type WebhookSettings,
  webhookSettings,
} from "../../controller/index.ts";
import { isLoopback, parseAddress } from "../../kube/index.ts";
import type { Flags } from "../arguments.ts";
import { CliError } from "../errors.ts";
import { featureGates } from "../feature_gates.ts";
import type { Io } from "../io.ts";
import { adjustable, countsWithoutEffect, durationsWithoutEffect } from "./controller_flags.ts";
import type { AuditSettings } from "./refusals.ts";
import { mostVerbose } from "./verbosity.ts";

export interface LeaderSettings {
  readonly enabled: boolean;
  readonly namespace: string;
  readonly name: string;
  readonly leaseDurationMs: number;
  readonly renewDeadlineMs: number;
  readonly retryPeriodMs: number;
  /** Over how many leases the owners are spread; 1: one replica has them all. */
  readonly shards: number;
}

export interface ProcessSettings {
  readonly controller: ControllerOptions;
  /** `host:port`; undefined turns the endpoint off. */
  readonly metrics: string | undefined;
  /** Metrics of workloads are served with them. */
  readonly workloadMetrics: boolean;
  /** What writes wait for is measured. */
  readonly stageMetrics: boolean;
  readonly health: string | undefined;
  readonly leader: LeaderSettings;
  readonly webhook: WebhookSettings;
  readonly allowPrivileged: boolean;
  readonly audit: AuditSettings;
  readonly webhookTimeoutMs: number;
  readonly cacheSyncTimeoutMs: number;
  /** Of profiles and of the log's verbosity, on loopback; undefined turns the endpoint off. */
  readonly debug: string | undefined;
  readonly log: { readonly format: "text" | "json"; readonly verbosity: number };
}

/** Throws CliError that names the flag or variable, for values that cannot be meant. */
export function processSettings(flags: Flags, env: Io["env"]): ProcessSettings {
  checkIgnored(flags);
  const gates = gatesOf(flags, env);
  const webhook = webhooksOf(env, gates);
  return {
    controller: controllerOptions({
      gates,
      namespace: flags.text("namespace") ?? "",
      workers: workersOf(flags),
      excludePreparingDelete: flags.on("cloneset-scaling-exclude-preparing-delete"),
      keepManagedFields: flags.on("keep-managed-fields"),
      assignBroadcastJobPodsByScheduler: flags.on("assign-bcj-pods-by-scheduler"),
      assignPodsByScheduler: flags.on("assign-pods-by-scheduler"),
      nodeImageCreationDelayMs: required(flags.milliseconds("nodeimage-creation-delay")),
      pullTaskTtlSeconds: required(flags.integer("default-ttlseconds-for-always-nodeimage", 0, 2_678_400)),
      systemNamespace: webhook.namespace,
      ...configNamespaceOf(env),
      baseDelayMs: required(flags.milliseconds("rate-limiter-base-delay")),
      maxDelayMs: required(flags.milliseconds("rate-limiter-max-delay")),
    }),
    metrics: addressOf(flags, "metrics-addr"),
    workloadMetrics: flags.on("workload-metrics"),
    stageMetrics: flags.on("stage-metrics"),
    health: addressOf(flags, "health-probe-addr"),
    leader: leaderSettings(flags),
    webhook,
    allowPrivileged: flags.on("allow-privileged"),
    audit: { folder: flags.required("protection-log-path"), required: flags.given("protection-log-path") },
    webhookTimeoutMs: required(flags.milliseconds("webhook-initialize-timeout")),
    cacheSyncTimeoutMs: required(flags.milliseconds("controller-cache-sync-timeout")),
    debug: debugAddressOf(flags),
    log: logSettings(flags),
  };
}

/** Flags with a default always have a value. */
function required(value: number | undefined): number {
  if (value === undefined) throw new Error("a flag without default was read as one with");
  return value;
}

function gatesOf(flags: Flags, env: Io["env"]): FeatureGates {
  // A legacy list without SidecarSet turns the pod webhook off unless a gate says otherwise.
  const legacy = env["CUSTOM_RESOURCE_ENABLE"];
  const isPodWebhookOff = legacy !== undefined && legacy !== "" && !legacy.split(",").includes("SidecarSet");
  const given = flags.text("feature-gates") ?? "";
  return featureGates(isPodWebhookOff ? `PodWebhook=false,${given}` : given);
}

/** Where copies of pull secrets go. */
function configNamespaceOf(env: Io["env"]): { daemonConfigNamespace?: string } {
  const given = env["KRUISE_DAEMON_CONFIG_NS"];
  return given === undefined || given === "" ? {} : { daemonConfigNamespace: given };
}

function workersOf(flags: Flags): Record<string, number> {
  return Object.fromEntries(
    adjustable.map(({ controllerName, workersFlag }) => [
      controllerName,
      required(flags.integer(workersFlag, 1, 1000)),
    ]),
  );
}

/** `:8080`, `127.0.0.1:8080`, `[::1]:8080`; `0` turns the endpoint off. */
function addressOf(flags: Flags, name: string): string | undefined {
  const given = flags.text(name) ?? "";
  if (given === "0" || given === "") return undefined;
  try {
    parseAddress(given);
    return given;
  } catch (cause) {
    throw new CliError(`invalid value "${given}" for --${name}: must be HOST:PORT or :PORT, or 0 for none`, {
      cause,
    });
  }
}

/** Loopback where no host is named, and nowhere else: profiles cost time, and whoever connects may take them. */
function debugAddressOf(flags: Flags): string | undefined {
  const given = addressOf(flags, "pprof-addr");
  if (given === undefined || !flags.on("enable-pprof")) return undefined;
  const { host = "127.0.0.1", port } = parseAddress(given);
  if (!isLoopback(host))
    throw new CliError(
      `invalid value "${given}" for --pprof-addr: must be on loopback; "kubectl port-forward" reaches it from outside`,
    );
  return host.includes(":") ? `[${host}]:${port}` : `${host}:${port}`;
}

/** More leases than that cost more to renew than the replicas gain. */
const MOST_SHARDS = 64;

function shardsOf(flags: Flags): number {
  const given = flags.required("shards");
  const shards = /^[0-9]{1,3}$/.test(given) ? Number(given) : 0;
  if (shards < 1 || shards > MOST_SHARDS)
    throw new CliError(`invalid value "${given}" for --shards: a number from 1 to ${MOST_SHARDS}`);
  if (shards > 1 && !flags.on("enable-leader-election"))
    throw new CliError("--shards needs leases: leave --enable-leader-election on");
  return shards;
}

function leaderSettings(flags: Flags): LeaderSettings {
  const lock = flags.text("leader-election-resource-lock");
  if (lock !== "leases") {
    throw new CliError(
      `invalid value "${lock}" for --leader-election-resource-lock: leases is the only lock`,
    );
  }
  const leader: LeaderSettings = {
    enabled: flags.on("enable-leader-election"),
    namespace: flags.required("leader-election-namespace"),
    name: flags.required("leader-election-id"),
    leaseDurationMs: required(flags.milliseconds("leader-election-lease-duration")),
    renewDeadlineMs: required(flags.milliseconds("leader-election-renew-deadline")),
    retryPeriodMs: required(flags.milliseconds("leader-election-retry-period")),
    shards: shardsOf(flags),
  };
  const isOrdered =
    leader.leaseDurationMs > leader.renewDeadlineMs &&
    leader.renewDeadlineMs > leader.retryPeriodMs &&
    leader.retryPeriodMs > 0;
  if (!isOrdered) {
    throw new CliError(
      "leader election needs lease duration > renew deadline > retry period > 0; see the --leader-election-* flags",
    );
  }
  return leader;
}

function logSettings(flags: Flags): ProcessSettings["log"] {
  const format = flags.text("logging-format");
  if (format !== "text" && format !== "json") {
    throw new CliError(`invalid value "${format}" for --logging-format: must be text or json`);
  }
  return { format, verbosity: required(flags.integer("v", 0, mostVerbose)) };
}

function webhooksOf(env: Io["env"], gates: FeatureGates): WebhookSettings {
  try {
    return webhookSettings(env, { externalCerts: gates.EnableExternalCerts });
  } catch (error) {
    throw new CliError(`environment: ${error instanceof Error ? error.message : String(error)}`, {
      cause: error,
    });
  }
}

/** Flags without effect are still checked: a typo must not pass because nobody reads it. */
function checkIgnored(flags: Flags): void {
  for (const name of durationsWithoutEffect) flags.milliseconds(name);
  for (const name of countsWithoutEffect) flags.integer(name, 0);
}
