/** Connects the restart executor with the API server: requests of this node, their pods, events. */
import type { ContainerRecreateRequest } from "../../crds/index.ts";
import {
  Cache,
  isKubeError,
  jsonResource,
  keyOf,
  queueObserver,
  runController,
  startInformer,
  WorkQueue,
} from "../../kube/index.ts";
import type { AgentContext, Feature } from "../context.ts";
import { createRestartExecutor, createStoppedContainers } from "./executor.ts";
import { podNameOf } from "./request.ts";

export const recreateRequests = jsonResource<ContainerRecreateRequest>({
  group: "apps.kruise.io",
  version: "v1beta1",
  plural: "containerrecreaterequests",
  kind: "ContainerRecreateRequest",
  namespaced: true,
});

const component = "kruise-daemon-crr";
const workers = 32;

export async function startRestarts(context: AgentContext): Promise<Feature> {
  const { client, clock, settings, finder, pods, state, metrics } = context;
  const log = context.log.with({ component });
  const podKeyOf = (request: ContainerRecreateRequest): string =>
    keyOf({ namespace: request.metadata.namespace ?? "", name: podNameOf(request) });
  const cache = new Cache<ContainerRecreateRequest>({
    identify: recreateRequests.codec.identify,
    indexes: { pod: (request) => [podKeyOf(request)] },
    tombstones: 1024,
  });
  const queue = new WorkQueue({
    clock,
    baseDelayMs: 500,
    maxDelayMs: 50_000,
    observer: queueObserver(metrics, "crr"),
  });
  const arrivals = new WorkQueue({ clock, baseDelayMs: 500, maxDelayMs: 50_000 });
  cache.subscribe(({ object, type }) => {
    const key = podKeyOf(object);
    queue.add(key);
    if (type === "added" && !object.status?.phase) arrivals.add(key);
  });
  const stopWatching = pods.subscribe(({ object }) => {
    const key = keyOf(object);
    for (const _ of cache.byIndex("pod", key)) {
      queue.add(key);
      break;
    }
  });
  const recorder = context.events.from(component);
  const stopped = createStoppedContainers(await state.read("restarts"), (content) =>
    state.write("restarts", content),
  );
  const executor = createRestartExecutor({
    clock,
    log,
    recreator: context.recreator,
    stopped,
    nodeName: settings.nodeName,
    runtime: () => finder.current,
    runtimeReason: () => finder.reason,
    detecting: () => !finder.searched,
    requests: (key) =>
      [...cache.byIndex("pod", key)].filter((request) => !request.metadata.deletionTimestamp),
    pod: (key, signal) => pods.pod(key, signal),
    podNow: (key, signal) => pods.podNow(key, signal),
    async newest({ metadata: { namespace = "", name = "" } }) {
      try {
        return await client.get(recreateRequests, { namespace, name });
      } catch (error) {
        if (isKubeError(error, "NotFound")) return undefined;
        throw error;
      }
    },
    async writeStatus(request, status) {
      const { namespace = "", name = "", resourceVersion } = request.metadata;
      const body = { metadata: { resourceVersion }, status };
      const written = await client.patch(
        recreateRequests,
        { namespace, name },
        { type: "merge", body },
        {
          subresource: "status",
          priority: "high",
        },
      );
      cache.writeBack(written);
      return written;
    },
    event(pod, container, type, reason, message) {
      const target = { apiVersion: "v1", kind: "Pod", ...pod, fieldPath: `spec.containers{${container}}` };
      recorder.event({ ...target }, type, reason, message);
    },
    killed: (result) => context.agentMetrics.killed("crr", result),
  });
  const stopping = new AbortController();
  const shared = { clock, log, metrics, signal: stopping.signal };
  const running = [
    runController({
      ...shared,
      name: "crr",
      queue,
      workers,
      reconcile: (key, signal) => executor.reconcile(key, signal),
    }),
    runController({
      ...shared,
      name: "crr-arrivals",
      queue: arrivals,
      workers: 1,
      reconcile: async (key) => {
        await executor.acknowledge(key);
        return undefined;
      },
    }),
  ];
  const labelSelector = `crr.apps.kruise.io/node-name=${settings.nodeName},crr.apps.kruise.io/active=true`;
  const informer = startInformer({ ...context, log, resource: recreateRequests, cache, labelSelector });
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
