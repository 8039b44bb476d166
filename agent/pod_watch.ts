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

/** Watches from its construction on. */
export class PodWatch {
  readonly synced: Promise<void>;
  readonly #client: Client;
  readonly #cache = new Cache<AgentPod>({
    identify: agentPods.codec.identify,
    indexes: { uid: (pod) => [pod.uid] },
    tombstones: 1024,
  });
  readonly #informer: Informer | undefined;
  #isSynced = false;

  constructor(options: PodWatchOptions) {
    this.#client = options.client;
    const fieldSelector = `spec.nodeName=${options.nodeName}`;
    if (options.enabled)
      this.#informer = startInformer({ ...options, resource: agentPods, cache: this.#cache, fieldSelector });
    this.synced = this.#informer?.synced ?? Promise.resolve();
    this.#informer?.synced.then(
      () => {
        this.#isSynced = true;
      },
      () => undefined,
    );
  }

  /** The pod as the watch shows it; asked of the server when the watch does not run or has not delivered yet. */
  async pod(key: string, signal: AbortSignal): Promise<AgentPod | undefined> {
    const held = this.#cache.get(key);
    return held || this.#isSynced ? held : this.podNow(key, signal);
  }

  /** The pod as the server has it now. Throws KubeError. */
  async podNow(key: string, signal: AbortSignal): Promise<AgentPod | undefined> {
    try {
      return await this.#client.get(agentPods, refOf(key), { signal });
    } catch (error) {
      if (isKubeError(error, "NotFound")) return undefined;
      throw error;
    }
  }

  byUid(uid: string): AgentPod | undefined {
    return [...this.#cache.byIndex("uid", uid)][0];
  }

  values(): Iterable<AgentPod> {
    return this.#cache.values();
  }

  subscribe(listener: (change: Change<AgentPod>) => void): () => void {
    return this.#cache.subscribe(listener);
  }

  /** What a write returned. */
  writeBack(pod: AgentPod): void {
    if (this.#informer) this.#cache.writeBack(pod);
  }

  async stop(): Promise<void> {
    await this.#informer?.stop();
  }
}
