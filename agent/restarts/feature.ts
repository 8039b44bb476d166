/** Watches the recreate requests of this node and their pods, and runs the reconciler. */
import { keyOf, queueObserver, runController, startInformer, WorkQueue } from "../../kube/index.ts";
import { requestLabels } from "../../node/index.ts";
import type { AgentContext, Feature } from "../context.ts";
import { component, RestartReconciler } from "./reconciler.ts";
import { podKeyOf, RecreateRequests, recreateRequests } from "./requests.ts";
import { StoppedContainers } from "./stopped_containers.ts";

const workers = 32;

export async function startRestarts(context: Omit<AgentContext, "probes">): Promise<Feature> {
  const { client, clock, metrics, pods, settings, state } = context;
  const log = context.log.with({ component });
  const requests = new RecreateRequests(client);
  const { cache } = requests;
  const stopped = new StoppedContainers(await state.read("restarts"), (content) => {
    state.write("restarts", content);
    return state.flush();
  });
  const reconciler = new RestartReconciler({ ...context, log, requests, stopped });
  const delays = { baseDelayMs: 500, maxDelayMs: 50_000 };
  const queue = new WorkQueue({ clock, ...delays, observer: queueObserver(metrics, "crr") });
  /** Pods for which a request came, perhaps while another one is carried out. */
  const arrivals = new WorkQueue({ clock, ...delays });
  cache.subscribe(({ object, type }) => {
    const key = podKeyOf(object);
    // Ended or deleted by somebody else: nothing is stopped for it any more.
    if (type === "removed") stopped.forget(object.metadata.uid ?? "");
    queue.add(key);
    if (type === "added" && !object.status?.phase) arrivals.add(key);
  });
  const stopWatching = pods.subscribe(({ object }) => {
    const key = keyOf(object);
    if (requests.ofPod(key).length > 0) queue.add(key);
  });
  const stopping = new AbortController();
  const shared = { clock, log, metrics, signal: stopping.signal };
  const running = [
    runController({
      ...shared,
      name: "crr",
      queue,
      workers,
      reconcile: (key, signal) => reconciler.reconcile(key, signal),
    }),
    runController({
      ...shared,
      name: "crr-arrivals",
      queue: arrivals,
      workers: 1,
      reconcile: (key) => reconciler.acknowledge(key),
    }),
  ];
  const labelSelector = `${requestLabels.node}=${settings.nodeName},${requestLabels.active}=true`;
  const informer = startInformer({ ...context, log, resource: recreateRequests, cache, labelSelector });
  const listed = (): void => stopped.keepOnly(requests.uids());
  informer.synced.then(listed, () => undefined);
  return {
    name: "crrInformerSynced",
    synced: informer.synced,
    async stop() {
      stopping.abort();
      stopWatching();
      await Promise.all([informer.stop(), ...running]);
    },
  };
}
