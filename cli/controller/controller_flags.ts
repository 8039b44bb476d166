/** The flags of the controller process under the names of the API's reference. Spec: platform 2.1. */
import { controllers, featureGateDefaults } from "../../controller/index.ts";
import type { Flag, FlagTable } from "../arguments.ts";

function text(initial: string, value: string, help: string): Flag {
  return { kind: "text", default: initial, value, help };
}

function toggle(initial: boolean, help: string): Flag {
  return { kind: "switch", default: String(initial), help };
}

const noEffect = (initial: string, value: string, why: string): Flag =>
  text(initial, value, `Without effect: ${why}.`);

const effective: FlagTable = {
  "metrics-addr": text(":8080", "ADDR", "Where /metrics is served, over plain HTTP; 0 turns it off."),
  "workload-metrics": toggle(
    false,
    "/metrics also serves the state of each workload, under the names of kruise-state-metrics: docs/metrics.md.",
  ),
  "stage-metrics": toggle(
    false,
    "/metrics also serves what a write waits for: queue, window, answer, event loop: docs/performance.md.",
  ),
  "health-probe-addr": text(":8000", "ADDR", "Where /readyz and /healthz are served; 0 turns it off."),
  "enable-leader-election": toggle(
    true,
    "Only the holder of the lease reconciles; all replicas answer webhooks.",
  ),
  "leader-election-namespace": text("kruise-system", "NAME", "Namespace of the lease."),
  "leader-election-id": text("kruise-manager", "NAME", "Name of the lease."),
  "leader-election-resource-lock": text("leases", "leases", "Kind of the lock; leases is the only one."),
  "leader-election-lease-duration": text(
    "15s",
    "TIME",
    "How long a lease is respected after its last renewal.",
  ),
  "leader-election-renew-deadline": text(
    "10s",
    "TIME",
    "The leader gives up after failing to renew for this long.",
  ),
  "leader-election-retry-period": text("2s", "TIME", "Pause between attempts to get or renew the lease."),
  shards: text(
    "1",
    "N",
    "Owners are spread over N leases, shared by all replicas: all of them reconcile. The same in each replica.",
  ),
  "webhook-initialize-timeout": text("60s", "TIME", "The process ends when webhooks are not set up by then."),
  "controller-cache-sync-timeout": text(
    "2m",
    "TIME",
    "The process ends when its caches are not filled by then.",
  ),
  "rate-limiter-base-delay": text("5ms", "TIME", "First pause before a failed object is tried again."),
  "rate-limiter-max-delay": text("1000s", "TIME", "Longest such pause."),
  "cloneset-scaling-exclude-preparing-delete": toggle(
    false,
    "For all CloneSets: pods in PreparingDelete do not count as replicas.",
  ),
  "keep-managed-fields": toggle(
    false,
    "Keep metadata.managedFields of the pods of workloads; dropping them halves what a write costs the API server.",
  ),
  "assign-bcj-pods-by-scheduler": toggle(
    true,
    "Pods of BroadcastJobs are pinned to their node by affinity; false: by node name, past the scheduler.",
  ),
  "assign-pods-by-scheduler": toggle(
    true,
    "DaemonSet pods are pinned by affinity and bound by the scheduler; false: created with their node's name.",
  ),
  "nodeimage-creation-delay": text(
    "30s",
    "TIME",
    "How long a node must be Ready before it gets a NodeImage.",
  ),
  "default-ttlseconds-for-always-nodeimage": text(
    "300",
    "N",
    "Seconds that finished tasks of pull jobs stay in NodeImages beyond the job's own times; 0 to 2678400.",
  ),
  "allow-privileged": toggle(true, "Accept pod templates with privileged containers."),
  "protection-log-path": text(
    "/log",
    "DIR",
    "Folder of protection.log, the audit file of refusals; the default is used where it exists.",
  ),
  "enable-pprof": toggle(
    false,
    "Serve profiles (/debug/pprof/profile, /debug/pprof/heap) and the log's verbosity (PUT /debug/flags/v) on loopback.",
  ),
  "pprof-addr": text(
    "127.0.0.1:8090",
    "ADDR",
    "Where they are served; loopback only, also where no host is named.",
  ),
  "feature-gates": text("", "NAME=BOOL,...", "Feature gates; also AllAlpha= and AllBeta=."),
  "logging-format": text("text", "text|json", "Form of the log lines on standard error."),
  v: {
    kind: "text",
    short: "v",
    default: "0",
    value: "N",
    help: "Verbosity; from 5 on details of each pass are logged.",
  },
};

/** Accepted so that deployments need no change; there is nothing here that they could set. */
const withoutEffect: FlagTable = {
  "sync-period": noEffect("0", "TIME", "caches follow the server and are never resynchronized by time"),
  "rest-config-qps": noEffect(
    "30",
    "N",
    "requests go through a window that sizes itself by the server's answers",
  ),
  "rest-config-burst": noEffect("50", "N", "requests go through a window that sizes itself"),
  "rate-limiter-qps": noEffect("10", "N", "retries are limited per object"),
  "rate-limiter-bucket-size": noEffect("100", "N", "retries are limited per object"),
  "expectation-timeout": noEffect(
    "5m",
    "TIME",
    "written objects enter the caches at once, nothing is expected",
  ),
  "disable-no-deepcopy": toggle(false, "Without effect: cached objects are read-only."),
  "ws-enabled-versioned-status": noEffect("deployment,replicaset", "KINDS", "as in the reference"),
  vmodule: noEffect("", "PATTERN=N,...", "there is one verbosity"),
  logtostderr: toggle(true, "Without effect: logs always go to standard error."),
  "log-flush-frequency": noEffect("5s", "TIME", "log lines are not held back"),
  alsologtostderr: toggle(false, "Without effect: logs always go to standard error."),
  stderrthreshold: noEffect("2", "LEVEL", "all lines go to standard error"),
  legacy_stderr_threshold_behavior: toggle(true, "Without effect: all lines go to standard error."),
  log_dir: noEffect("", "DIR", "logs always go to standard error"),
  log_file: noEffect("", "FILE", "logs always go to standard error"),
  log_file_max_size: noEffect("1800", "N", "logs always go to standard error"),
  log_backtrace_at: noEffect("", "FILE:N", "errors are logged with their stack"),
  add_dir_header: toggle(false, "Without effect: --logging-format says how lines begin."),
  skip_headers: toggle(false, "Without effect: --logging-format says how lines begin."),
  skip_log_headers: toggle(false, "Without effect: there are no log files."),
  one_output: toggle(false, "Without effect: each line is written once."),
};

/** Controllers whose number of workers can be set. */
export const adjustable = controllers.flatMap(({ controllerName, workersFlag }) =>
  workersFlag === undefined ? [] : [{ controllerName, workersFlag }],
);

const workerFlags: FlagTable = Object.fromEntries(
  adjustable.map(({ controllerName, workersFlag }) => [
    workersFlag,
    text("3", "N", `Reconciles of ${controllerName} at a time.`),
  ]),
);

export const controllerFlags: FlagTable = {
  ...effective,
  ...workerFlags,
  ...withoutEffect,
};

/** Durations among the flags: a bad one is refused even where it has no effect. */
export const durationsWithoutEffect = ["expectation-timeout", "log-flush-frequency"] as const;
export const countsWithoutEffect = [
  "rest-config-qps",
  "rest-config-burst",
  "rate-limiter-qps",
  "rate-limiter-bucket-size",
] as const;

/** The feature gates for the help: gate, stage and default, a line each. */
export function gatesText(): string {
  const width = Math.max(...featureGateDefaults.map(({ name }) => name.length));
  const lines = featureGateDefaults.map(
    ({ name, stage, enabled }) => `  ${name.padEnd(width)}  ${stage.padEnd(5)}  ${enabled ? "on" : "off"}`,
  );
  return ["Feature gates (--feature-gates), with their stage and default:", ...lines].join("\n");
}
