/** Connects the restart executor with the API server: requests of this node, their pods, events. */
import type { ContainerRecreateRequest, ContainerRecreateRequestStatus } from "../../crds/index.ts";
import {
  Cache,
  type Client,
  isKubeError,
  jsonResource,
  keyOf,
  type Log,
  queueObserver,
  runController,
  startInformer,
  WorkQueue,
} from "../../kube/index.ts";
import { podNameOf, requestLabels } from "../../node/index.ts";
import type { AgentContext, Feature } from "../context.ts";
import {
  createRestartExecutor,
  createStoppedContainers,
  type RestartDependencies,
  type RestartExecutor,
  type StoppedContainers,
} from "./executor.ts";

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
  const { clock, metrics, pods, settings, state } = context;
  const log = context.log.with({ component });
  const cache = new Cache<ContainerRecreateRequest>({
    identify: recreateRequests.codec.identify,
    indexes: { pod: (request) => [podKeyOf(request)] },
    tombstones: 1024,
  });
  const delays = { baseDelayMs: 500, maxDelayMs: 50_000 };
  const queue = new WorkQueue({ clock, ...delays, observer: queueObserver(metrics, "crr") });
  const arrivals = new WorkQueue({ clock, ...delays });
  const stopped = createStoppedContainers(await state.read("restarts"), (content) =>
    state.write("restarts", content),
  );
  cache.subscribe(({ object, type }) => {
    const key = podKeyOf(object);
    // Ended or deleted by somebody else: nothing is stopped for it any more.
    if (type === "removed") stopped.forget(object.metadata.uid ?? "");
    queue.add(key);
    if (type === "added" && !object.status?.phase) arrivals.add(key);
  });
  const stopWatching = pods.subscribe(({ object }) => {
    const key = keyOf(object);
    if (requestsOf(cache, key).length > 0) queue.add(key);
  });
  const executor = createRestartExecutor(executorDependencies(context, log, cache, stopped));
  const stopping = new AbortController();
  const running = runRounds(context, log, executor, { queue, arrivals, signal: stopping.signal });
  const labelSelector = `${requestLabels.node}=${settings.nodeName},${requestLabels.active}=true`;
  const informer = startInformer({ ...context, log, resource: recreateRequests, cache, labelSelector });
  const listed = (): void => stopped.keepOnly(uidsOf(cache));
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

/** Two controllers: one works on the pods' requests, one tells those that came meanwhile that they wait. */
function runRounds(
  { clock, metrics }: AgentContext,
  log: Log,
  executor: RestartExecutor,
  { queue, arrivals, signal }: { queue: WorkQueue; arrivals: WorkQueue; signal: AbortSignal },
): Promise<void>[] {
  const shared = { clock, log, metrics, signal };
  return [
    runController({
      ...shared,
      name: "crr",
      queue,
      workers,
      reconcile: (key, cut) => executor.reconcile(key, cut),
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
}

function executorDependencies(
  context: AgentContext,
  log: Log,
  cache: Cache<ContainerRecreateRequest>,
  stopped: StoppedContainers,
): RestartDependencies {
  const { client, clock, finder, pods, recreator, settings } = context;
  const recorder = context.events.from(component);
  return {
    clock,
    log,
    recreator,
    stopped,
    nodeName: settings.nodeName,
    runtime: () => finder.current,
    runtimeReason: () => finder.reason,
    detecting: () => !finder.searched,
    requests: (key) => requestsOf(cache, key).filter((request) => !request.metadata.deletionTimestamp),
    pod: (key, signal) => pods.pod(key, signal),
    podNow: (key, signal) => pods.podNow(key, signal),
    newest: (request) => newest(client, request),
    async writeStatus(request, status) {
      const written = await writeStatus(client, request, status);
      cache.writeBack(written);
      return written;
    },
    event(pod, container, type, reason, message) {
      const target = { apiVersion: "v1", kind: "Pod", ...pod, fieldPath: `spec.containers{${container}}` };
      recorder.event(target, type, reason, message);
    },
    killed: (result) => context.agentMetrics.killed("crr", result),
  };
}

function podKeyOf(request: ContainerRecreateRequest): string {
  return keyOf({ namespace: request.metadata.namespace ?? "", name: podNameOf(request) });
}

function requestsOf(cache: Cache<ContainerRecreateRequest>, podKey: string): ContainerRecreateRequest[] {
  return [...cache.byIndex("pod", podKey)];
}

function uidsOf(cache: Cache<ContainerRecreateRequest>): ReadonlySet<string> {
  return new Set(Array.from(cache.values(), ({ metadata }) => metadata.uid ?? ""));
}

async function newest(
  client: Client,
  { metadata: { namespace = "", name = "" } }: ContainerRecreateRequest,
): Promise<ContainerRecreateRequest | undefined> {
  try {
    return await client.get(recreateRequests, { namespace, name });
  } catch (error) {
    if (isKubeError(error, "NotFound")) return undefined;
    throw error;
  }
}

/** On top of exactly the version that was planned with. */
function writeStatus(
  client: Client,
  { metadata: { namespace = "", name = "", resourceVersion } }: ContainerRecreateRequest,
  status: Partial<ContainerRecreateRequestStatus>,
): Promise<ContainerRecreateRequest> {
  const body = { metadata: { resourceVersion }, status };
  const options = { subresource: "status", priority: "high" } as const;
  return client.patch(recreateRequests, { namespace, name }, { type: "merge", body }, options);
}
