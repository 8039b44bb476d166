/** The pods of the own node, watched once for all features. */
import {
  Cache,
  type Change,
  type Client,
  type Clock,
  type Informer,
  isKubeError,
  keyOf,
  type Log,
  type Metrics,
  projectedJsonCodec,
  type Random,
  type Resource,
  refOf,
  startInformer,
} from "../kube/index.ts";
import { type AgentPod, agentPod } from "../node/index.ts";

export const agentPods: Resource<AgentPod> = {
  group: "",
  version: "v1",
  plural: "pods",
  kind: "Pod",
  namespaced: true,
  codec: projectedJsonCodec<AgentPod>({
    fromJson: agentPod,
    identify: (pod) => ({ key: keyOf(pod), uid: pod.uid, version: pod.resourceVersion }),
  }),
};

export interface PodWatch {
  readonly synced: Promise<void>;
  /** The pod as the watch shows it; asked of the server when the watch does not run or has not delivered yet. */
  pod(key: string, signal: AbortSignal): Promise<AgentPod | undefined>;
  /** The pod as the server has it now. */
  podNow(key: string, signal: AbortSignal): Promise<AgentPod | undefined>;
  byUid(uid: string): AgentPod | undefined;
  values(): Iterable<AgentPod>;
  subscribe(listener: (change: Change<AgentPod>) => void): () => void;
  /** What a write returned. */
  writeBack(pod: AgentPod): void;
  stop(): Promise<void>;
}

export interface PodWatchOptions {
  readonly client: Client;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  readonly metrics: Metrics;
  readonly nodeName: string;
  /** False: no watch, each pod is read when it is needed (gate DaemonWatchingPod). */
  readonly enabled: boolean;
}

export function startPodWatch(options: PodWatchOptions): PodWatch {
  const { client, enabled } = options;
  const cache = new Cache<AgentPod>({
    identify: agentPods.codec.identify,
    indexes: { uid: (pod) => [pod.uid] },
    tombstones: 1024,
  });
  let synced = false;
  let informer: Informer | undefined;
  if (enabled) {
    const fieldSelector = `spec.nodeName=${options.nodeName}`;
    informer = startInformer({ ...options, resource: agentPods, cache, fieldSelector });
    informer.synced.then(
      () => {
        synced = true;
      },
      () => undefined,
    );
  }
  async function read(key: string, signal: AbortSignal): Promise<AgentPod | undefined> {
    try {
      return await client.get(agentPods, refOf(key), { signal });
    } catch (error) {
      if (isKubeError(error, "NotFound")) return undefined;
      throw error;
    }
  }
  return {
    synced: informer?.synced ?? Promise.resolve(),
    async pod(key, signal) {
      const held = cache.get(key);
      return held || synced ? held : read(key, signal);
    },
    podNow: read,
    byUid: (uid) => [...cache.byIndex("uid", uid)][0],
    values: () => cache.values(),
    subscribe: (listener) => cache.subscribe(listener),
    writeBack: (pod) => {
      if (enabled) cache.writeBack(pod);
    },
    stop: async () => informer?.stop(),
  };
}
