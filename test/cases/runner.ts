/** Runs suites: side by side in namespaces of their own, those that need the controller for themselves alone. */
import { randomBytes } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import type { AgentProcess } from "../cluster/agents.ts";
import { type Api, ApiError, type Item } from "../cluster/api.ts";
import type { ClusterFaults } from "../cluster/cluster.ts";
import { Patience } from "../cluster/patience.ts";
import { type ControllerProcess, type ControllerSettings, startControllerProcess } from "./controllers.ts";
import { sceneOf } from "./scene.ts";
import type { ApiVersion, StepResult } from "./step_result.ts";
import type { Need, Suite } from "./suite.ts";
import { StepFailed, World } from "./world.ts";

export interface Target {
  readonly api: Api;
  readonly kubeconfig: string;
  readonly simulated: boolean;
  readonly agents: boolean;
  /** The agents that the harness itself started on real nodes; absent elsewhere. */
  readonly nodeAgents?: readonly AgentProcess[];
  /** Absent where the cluster is not the harness's own. */
  readonly faults?: ClusterFaults;
  /** When false, a controller that is not ours runs there; suites that need their own are skipped. */
  readonly startsControllers: boolean;
  /** Of each controller that is started there. */
  readonly controllerFlags?: readonly string[];
  /** How many suites may run at the same time. */
  readonly parallel: number;
}

export interface RunOptions {
  readonly report: (result: StepResult) => void;
  readonly signal?: AbortSignal;
  /** How long a suite may take at most; default 15 minutes. The longest takes five on a busy machine. */
  readonly limitMs?: number;
}

interface Job {
  readonly suite: Suite;
  readonly version: ApiVersion;
}

/**
 * Runs every suite in each of its versions; resolves when all are over and what they made is gone. Each target takes the
 * next work as soon as it has none: suites that share a controller together, those with controllers of their own alone.
 */
export async function runSuites(
  targets: readonly Target[],
  suites: readonly Suite[],
  options: RunOptions,
): Promise<void> {
  const shared = suites.filter((suite) => !suite.needs.includes("own-controller"));
  const alone = suites.filter((suite) => suite.needs.includes("own-controller"));
  const work = [
    ...[...byGates(shared)].map(
      ([gates, members]) =>
        (target: Target) =>
          runShared(target, gates, members, options),
    ),
    ...jobsOf(alone).map((job) => async (target: Target) => {
      if (!missingNeed(target, job, options)) await runJob(target, job, options);
    }),
  ];
  const takeWork = async (target: Target) => {
    for (let next = work.shift(); next !== undefined; next = work.shift()) await next(target);
  };
  await Promise.all(targets.map(takeWork));
}

/**
 * Suites by the gates of their controller: those that only switch gates on share one with all of these on, so that the
 * controller is not started again for each; a suite that switches one off has a controller of its own.
 */
export function byGates(suites: readonly Suite[]): Map<string, Suite[]> {
  const additions = suites.filter(({ gates }) => gates !== undefined && !gates.includes("=false"));
  const union = [...new Set(additions.flatMap(({ gates = "" }) => gates.split(",")))].sort().join(",");
  return Map.groupBy(suites, (suite) => (additions.includes(suite) ? union : (suite.gates ?? "")));
}

function jobsOf(suites: readonly Suite[]): Job[] {
  const versions: readonly ApiVersion[] = ["v1alpha1", "v1beta1"];
  return suites.flatMap((suite) => (suite.versions ?? versions).map((version) => ({ suite, version })));
}

async function runShared(
  target: Target,
  gates: string,
  suites: readonly Suite[],
  options: RunOptions,
): Promise<void> {
  const jobs = jobsOf(suites).filter((job) => !missingNeed(target, job, options));
  if (jobs.length === 0) return;
  if (gates !== "" && !target.startsControllers) {
    for (const job of jobs) skipJob(job, `needs a controller with ${gates}`, options);
    return;
  }
  const controller = target.startsControllers
    ? await startControllerOn(target, gates === "" ? {} : { gates })
    : undefined;
  try {
    const waiting = [...jobs];
    const lane = async () => {
      for (let job = waiting.shift(); job !== undefined; job = waiting.shift()) {
        if (options.signal?.aborted) return;
        await runJob(target, job, options, controller);
      }
    };
    await Promise.all(Array.from({ length: Math.min(target.parallel, jobs.length) }, lane));
    if (controller?.exitCode() !== undefined) {
      const step = `controller of the suites${gates === "" ? "" : ` with ${gates}`}`;
      options.report({ outcome: "failed", suite: "all", step, error: `it ended: ${controller.exitCode()}` });
    }
  } finally {
    await controller?.stop();
  }
}

function startControllerOn(
  { kubeconfig, controllerFlags = [] }: Target,
  settings: ControllerSettings,
): Promise<ControllerProcess> {
  return startControllerProcess(kubeconfig, { ...settings, flags: controllerFlags });
}

function missingNeed(target: Target, job: Job, options: RunOptions): boolean {
  const has: Record<Need, boolean> = {
    "own-controller": target.startsControllers,
    "real-node": !target.simulated,
    agent: target.agents,
    "own-agents": (target.nodeAgents?.length ?? 0) > 0 && target.faults !== undefined,
  };
  const missing = job.suite.needs.find((need) => !has[need]);
  if (missing !== undefined) skipJob(job, `needs ${missing}`, options);
  return missing !== undefined;
}

function skipJob(job: Job, reason: string, options: RunOptions): void {
  options.report({ outcome: "skipped", suite: nameOf(job), step: "all", reason });
}

function nameOf({ suite, version }: Job): string {
  return `${suite.number} ${suite.title} (${version})`;
}

async function runJob(
  target: Target,
  job: Job,
  options: RunOptions,
  shared?: ControllerProcess,
): Promise<void> {
  const namespace = `case-${job.suite.number}-${randomBytes(3).toString("hex")}`;
  const controllers: ControllerProcess[] = [];
  const logFiles = [...(target.nodeAgents ?? []), ...(shared ? [shared] : [])].map(({ logFile }) => logFile);
  const startController = async (settings: ControllerSettings) => {
    const controller = await startControllerOn(target, settings);
    controllers.push(controller);
    return controller;
  };
  const world = new World({
    api: target.api,
    kubeconfig: target.kubeconfig,
    namespace,
    version: job.version,
    suite: nameOf(job),
    simulated: target.simulated,
    agents: target.agents,
    nodeAgents: target.nodeAgents ?? [],
    report: options.report,
    scene: () => sceneOf(target.api, namespace, [...logFiles, ...controllers.map(({ logFile }) => logFile)]),
    ...(job.suite.needs.includes("own-controller") ? { startController } : {}),
    ...(job.suite.needs.includes("own-agents") && target.faults ? { faults: target.faults } : {}),
  });
  try {
    await target.api.create({ apiVersion: "v1", kind: "Namespace", metadata: { name: namespace } });
    await inTime(job.suite.run(world), options.limitMs ?? 15 * 60_000);
  } catch (error) {
    if (!(error instanceof StepFailed)) {
      const text = error instanceof Error ? (error.stack ?? error.message) : String(error);
      options.report({ outcome: "failed", suite: nameOf(job), step: "setting up", error: text });
    }
  } finally {
    await world.close();
    await removeNamespace(target, namespace);
    for (const controller of controllers) await controller.stop();
  }
}

/** No suite holds up the others for ever. */
async function inTime(running: Promise<void>, limitMs: number): Promise<void> {
  const over = new AbortController();
  const overdue = sleep(limitMs, undefined, { signal: over.signal }).then(() => {
    throw new Error(`the suite was not over within ${limitMs / 60_000} minutes`);
  });
  try {
    await Promise.race([running, overdue]);
  } finally {
    over.abort();
    overdue.catch(() => undefined);
  }
}

/** What makes pods, owners before what they own. */
const workloads = [
  "uniteddeployments",
  "advancedcronjobs",
  "clonesets",
  "statefulsets",
  "daemonsets",
  "broadcastjobs",
  "deployments",
];

/**
 * Workloads go first, so that no pod is recreated; waits, since deletions pass a webhook of the controller. What a suite
 * left protected stays: the cluster goes with it. A sandbox goes anyway: there only what would go on working is removed.
 */
async function removeNamespace({ api, simulated }: Target, namespace: string): Promise<void> {
  const removeAll = async (resource: string, options?: object) => {
    for (const { metadata } of await api.list(resource, namespace).catch(notServed)) {
      if (metadata.finalizers !== undefined && resource === "pods") {
        const body = { metadata: { finalizers: null } };
        await api.patch("pods", metadata.name, namespace, "merge", body).catch(refusedOrGone);
      }
      await api.remove(resource, metadata.name, namespace, options).catch(refusedOrGone);
    }
  };
  for (const resource of workloads) await removeAll(resource);
  if (simulated) return;
  await removeAll("pods", { gracePeriodSeconds: 1 });
  await api.remove("namespaces", namespace).catch(refusedOrGone);
  const patience = new Patience(10_000);
  while (!patience.isOver && (await api.list("pods", namespace)).length > 0) await sleep(200);
}

function refusedOrGone(error: unknown): void {
  if (!(error instanceof ApiError)) throw error;
}

/** A suite may have uninstalled the kind. */
function notServed(error: unknown): Item[] {
  if (error instanceof ApiError && error.status === 404) return [];
  throw error;
}
