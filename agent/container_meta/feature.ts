/** Watches the pods of this node, and runs the reconciler of their reports and of the restarts that follow from these. */
import { keyOf, queueObserver, runController, WorkQueue } from "../../kube/index.ts";
import { type AgentPod, needsReport } from "../../node/index.ts";
import type { AgentContext, Feature } from "../context.ts";
import { ContainerMetaReconciler, component, longestRestartMs, shortestRestartMs } from "./reconciler.ts";

const reporter = "runtime_container_meta";
const restarter = "runtime_container_meta_restarter";

export function startContainerMeta(context: AgentContext): Feature {
  const { clock, finder, metrics, pods, settings } = context;
  const log = context.log.with({ component });
  /** Pods to report on, by `namespace/name`. */
  const reports = new WorkQueue({
    clock,
    baseDelayMs: 500,
    maxDelayMs: 50_000,
    observer: queueObserver(metrics, reporter),
  });
  /** Containers to restart, by id. */
  const restarts = new WorkQueue({
    clock,
    baseDelayMs: shortestRestartMs,
    maxDelayMs: longestRestartMs,
    observer: queueObserver(metrics, restarter),
  });
  const withEnv = settings.gates.InPlaceUpdateEnvFromMetadata;
  const reconciler = new ContainerMetaReconciler({ ...context, withEnv, restarts });
  const enqueue = (pod: AgentPod): void => {
    if (needsReport(pod, withEnv)) reports.add(keyOf(pod));
  };
  const enqueueAll = (): void => {
    for (const pod of pods.values()) enqueue(pod);
  };
  const unsubscribe = [
    pods.subscribe(({ type, object }) => {
      if (type !== "removed") enqueue(object);
    }),
    finder.subscribe((runtime) => {
      if (runtime) enqueueAll();
    }),
  ];
  // What came while other features started is not announced again.
  enqueueAll();
  const stopping = new AbortController();
  const shared = { clock, log, metrics, signal: stopping.signal };
  const running = [
    runController({
      ...shared,
      name: reporter,
      queue: reports,
      workers: 5,
      reconcile: (key) => reconciler.report(key, stopping.signal),
    }),
    runController({
      ...shared,
      name: restarter,
      queue: restarts,
      workers: 10,
      reconcile: (id) => reconciler.restart(id, stopping.signal),
    }),
  ];
  return {
    name: "podInformerSynced",
    synced: pods.synced,
    async stop() {
      for (const end of unsubscribe) end();
      stopping.abort();
      await Promise.all(running);
    },
  };
}
