/** Runs of one scenario: each size as often as asked, each against a fresh manager where the bench starts it. */
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Client, Clock, Log, Random } from "../kube/index.ts";
import { seededRandom } from "../kube/index.ts";
import { clean } from "./clean.ts";
import { BenchError, Interrupted } from "./errors.ts";
import { type HollowCluster, startHollowCluster } from "./hollow_cluster.ts";
import { startWatchers, type Watchers } from "./load/watchers.ts";
import type { Manager } from "./manager.ts";
import { measureLimit } from "./measure/limit.ts";
import type { PhaseAllocations } from "./measure/phase.ts";
import { PodBoard } from "./measure/pod_board.ts";
import { isReady } from "./measure/pod_state.ts";
import type { Limit, Run } from "./measure/result.ts";
import type { Progress } from "./progress.ts";
import { amount } from "./report/words.ts";
import { BENCH_LABEL, namespaces } from "./resources.ts";
import type { Stage } from "./scenario.ts";
import { nodesFor, type RunSettings, scenarioSettings } from "./settings.ts";
import { openTarget, type Target } from "./target.ts";
import { Workloads, workloadResources } from "./workloads.ts";

export interface RunDeps {
  clock: Clock;
  log: Log;
  progress: Progress;
  /** Aborted by Ctrl-C. */
  signal: AbortSignal;
  /** Entry of the controller to start. */
  controller: string;
  /** How long writes are awaited that follow the last pod. Default 1,500 ms. */
  settleMs?: number;
  /** Default 100 ms. */
  sampleMs?: number;
}

const cleanTimeoutMs = 300_000;

export async function runAll(settings: RunSettings, deps: RunDeps): Promise<Run[]> {
  const runs: Run[] = [];
  for (const pods of settings.sizes)
    for (let round = 0; round < settings.repeat; round++) runs.push(await runOnce(settings, pods, deps));
  return runs;
}

/** Everything that it makes is gone when it settles, whether it succeeds or not. */
export async function runOnce(settings: RunSettings, pods: number, deps: RunDeps): Promise<Run> {
  const { clock, log, signal } = deps;
  const random = seededRandom(settings.seed);
  if (signal.aborted) throw new Interrupted();
  const target = await openTarget({
    kubeconfig: settings.kubeconfig,
    pid: settings.pid,
    metricsUrl: settings.metricsUrl,
    controller: settings.controller ?? deps.controller,
    kinds: settings.scenario.kinds,
    gates: settings.scenario.gates,
    controllerFlags: settings.controllerFlags,
    elects: settings.scenario.elects,
    sharing: settings.sharing,
    inspected: settings.scenario.inspected === true || settings.allocations !== undefined,
    cores: settings.cores,
    faults: settings.faults,
    seed: settings.seed,
    clock,
    random,
    log,
    signal,
  }).catch(asInterruption(signal));
  try {
    return await runOn(target, settings, pods, deps, random);
  } finally {
    await target.stop();
  }
}

/** On a target that is there already; what the run made is removed from it. */
export async function runOn(
  target: Target,
  settings: RunSettings,
  pods: number,
  deps: RunDeps,
  random: Random,
): Promise<Run> {
  const { clock, signal } = deps;
  const startedAt = new Date(clock.now()).toISOString();
  const run = `run-${Math.floor(clock.now()).toString(36)}`;
  let hollow: HollowCluster | undefined;
  let watchers: Watchers | undefined;
  try {
    hollow = await hollowNodes(target, settings, pods, deps, random, run);
    watchers = await startWatchers(settings.watchers, target.kubeconfig, run);
    const namespace = `bench-${run}`;
    await target.client.create(namespaces, undefined, {
      apiVersion: "v1",
      kind: "Namespace",
      metadata: { name: namespace, labels: { [BENCH_LABEL]: run } },
    });
    const stage = stageOf(target, settings, pods, deps, { random, run, namespace, hollow });
    if (target.manager.own) await warmUp(stage);
    const { phases, limit, soak } = await settings.scenario.run(stage);
    stage.board.stop();
    const { manager, version, sandbox } = target;
    const [{ pid, metricsUrl }] = manager.processes;
    return {
      scenario: settings.scenario.name,
      label: settings.label ?? labelOf(manager, settings),
      startedAt,
      pods,
      nodes: nodesFor(settings, pods),
      seed: settings.seed,
      settings: { ...settings.words },
      server: { version, sandbox },
      manager: { pid, own: manager.own, metrics: metricsUrl !== undefined },
      phases: [...phases],
      ...(limit === undefined ? {} : { limit }),
      ...(soak === undefined ? {} : { soak }),
    };
  } catch (error) {
    return asInterruption(signal)(error);
  } finally {
    await watchers?.stop();
    await leave(target, deps, run);
    await hollow?.stop();
  }
}

function labelOf({ own, processes: [{ pid }] }: Manager, { sharing }: RunSettings): string {
  if (!own) return `pid ${pid}`;
  if (sharing === undefined) return "refit";
  return `refit, ${amount(sharing.replicas, "replicas")} with ${amount(sharing.shards, "shards")}`;
}

const FIRST = "first";

/**
 * A controller that was just installed waits until the server serves its definitions, and one that says that it is ready
 * may still be reading: what is measured begins when it has made a first pod.
 */
async function warmUp({ kinds, workloads, board, clock, signal, timeoutMs }: Stage): Promise<void> {
  if (!kinds.some((kind) => kind in workloadResources)) return;
  const until = clock.monotonic() + timeoutMs;
  const reached = async (isReached: () => boolean): Promise<void> => {
    while (!isReached()) {
      if (clock.monotonic() > until)
        throw new BenchError(`the manager has not served a CloneSet of one pod within ${timeoutMs / 1000} s`);
      await clock.sleep(20, signal);
    }
  };
  // Of an image of its own: what the nodes hold is part of what is measured.
  const image = `registry.example/${FIRST}:1`;
  await workloads.create({ kind: "CloneSet", name: FIRST, replicas: 1, maxUnavailable: 1, image });
  await reached(() => [...board.pods()].some(isReady));
  await workloads.delete("CloneSet", FIRST);
  await reached(() => [...board.pods()].length === 0);
}

/** A failure that Ctrl-C caused is that. */
function asInterruption(signal: AbortSignal): (error: unknown) => never {
  return (error) => {
    throw signal.aborted ? new Interrupted() : error;
  };
}

function hollowNodes(
  target: Target,
  settings: RunSettings,
  pods: number,
  { clock, log, signal, progress }: RunDeps,
  random: Random,
  run: string,
): Promise<HollowCluster> {
  const { behaviour } = settings;
  const nodes = nodesFor(settings, pods);
  progress.begin("hollow nodes", nodes);
  return startHollowCluster({
    client: target.client,
    clock,
    random,
    log,
    nodes,
    podsPerNode: Math.ceil(pods / nodes) * 2 + 20,
    behaviour,
    run,
    heartbeats: !target.sandbox,
    onNode: (done) => progress.update(done),
    signal,
  }).finally(() => progress.end());
}

function stageOf(
  target: Target,
  settings: RunSettings,
  pods: number,
  deps: RunDeps,
  made: { random: Random; run: string; namespace: string; hollow: HollowCluster },
): Stage {
  const { client, own, manager } = target;
  const { clock, progress, signal, settleMs = 1_500, sampleMs = 100 } = deps;
  const { run, namespace, hollow, random } = made;
  const { restart, collectedHeapMb, replicas } = manager;
  return {
    client,
    clock,
    own,
    manager,
    progress,
    signal,
    timeoutMs: settings.timeoutMs,
    settleMs,
    sampleMs,
    kinds: settings.scenario.kinds,
    board: new PodBoard(hollow.pods),
    settings: scenarioSettings(settings, pods),
    namespace,
    run,
    random,
    hollow,
    workloads: new Workloads(client, namespace, run, settings.annotations),
    ...(restart === undefined ? {} : { restartManager: (whileDown) => restart.call(manager, whileDown) }),
    ...(collectedHeapMb === undefined ? {} : { collectedHeapMb: () => collectedHeapMb.call(manager) }),
    ...(settings.allocations === undefined
      ? {}
      : { startAllocations: () => keptAllocations(manager, join(settings.allocations ?? "", String(pods))) }),
    ...(replicas === undefined ? {} : { replicas }),
    ...(target.memory === undefined ? {} : { memory: target.memory }),
    measureLimit: () => limitOf(target, settings, deps, { run, namespace }),
  };
}

/** Each phase's as a file in this folder. */
async function keptAllocations(manager: Manager, folder: string): Promise<PhaseAllocations> {
  const allocations = await manager.startAllocations?.();
  if (allocations === undefined) throw new BenchError("what this manager allocates cannot be sampled");
  return {
    stop: async (phase) => {
      const { bytes, profile } = await allocations.stop();
      mkdirSync(folder, { recursive: true });
      writeFileSync(join(folder, `${phase}.heapprofile`), profile);
      return bytes;
    },
  };
}

async function limitOf(
  { clientOf }: { clientOf(inFlight: number): Client },
  settings: RunSettings,
  { clock, signal, progress }: RunDeps,
  { run, namespace }: { run: string; namespace: string },
): Promise<Limit | undefined> {
  const patches = settings.limitPatches;
  if (patches === 0) return undefined;
  progress.begin("limit", patches * 8);
  const limit = await measureLimit({
    clientOf,
    clock,
    namespace,
    run,
    patches,
    signal,
    progress: (done) => progress.update(done),
  });
  progress.end();
  return limit;
}

/** A server that ends with the bench needs no cleaning. */
async function leave({ sandbox, client }: Target, { clock, progress }: RunDeps, run: string): Promise<void> {
  if (sandbox) return;
  progress.begin("removing", 1);
  await clean({ client, clock, run, timeoutMs: cleanTimeoutMs });
  progress.end();
}
