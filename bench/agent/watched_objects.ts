/** Objects of one namespace as a watch shows them, and the moment at which something came true. */
import {
  Cache,
  type Client,
  type Identity,
  jsonResource,
  type KubeObject,
  nullLog,
  type Resource,
  seededRandom,
  startInformer,
} from "../../kube/index.ts";
import { BenchError } from "../errors.ts";
import type { BenchIo } from "../io.ts";

export interface ContainerStatus {
  readonly name: string;
  readonly image: string;
  readonly containerID?: string;
  readonly ready: boolean;
  readonly restartCount: number;
  readonly state?: { readonly waiting?: { readonly reason?: string }; readonly running?: object };
}

export interface Pod extends KubeObject {
  readonly spec?: { readonly containers: readonly { readonly name: string; readonly image: string }[] };
  readonly status?: {
    readonly observedGeneration?: number;
    readonly containerStatuses?: readonly ContainerStatus[];
  };
}

const core = { group: "", version: "v1" } as const;
export const pods = jsonResource<Pod>({ ...core, plural: "pods", kind: "Pod", namespaced: true });

export interface WatchedObjects<T> {
  /** Resolves with the object and the monotonic time at which the watch showed it so. Throws BenchError. */
  until(name: string, what: string, holds: (object: T) => boolean): Promise<{ object: T; at: number }>;
  stop(): Promise<void>;
}

const longestMs = 180_000;

export async function watchObjects<T extends { metadata: { name?: string } }>(
  client: Client,
  resource: Resource<T>,
  namespace: string,
  io: BenchIo,
): Promise<WatchedObjects<T>> {
  const { clock } = io;
  const cache = new Cache<T>({ identify: (object): Identity => resource.codec.identify(object) });
  const random = seededRandom(1);
  const informer = startInformer({ client, resource, cache, namespace, clock, random, log: nullLog });
  await informer.synced;
  return {
    until: (name, what, holds) => {
      const found = Promise.withResolvers<{ object: T; at: number }>();
      const look = (object: T | undefined): void => {
        if (object?.metadata.name === name && holds(object)) found.resolve({ object, at: clock.monotonic() });
      };
      const unsubscribe = cache.subscribe(({ type, object }) =>
        look(type === "removed" ? undefined : object),
      );
      const timer = clock.after(longestMs, () =>
        found.reject(new BenchError(`${what}: not within ${longestMs / 1000} s (${resource.kind} ${name})`)),
      );
      const interrupted = (): void => found.reject(io.signal.reason);
      io.signal.addEventListener("abort", interrupted, { once: true });
      look(cache.get(`${namespace}/${name}`));
      return found.promise.finally(() => {
        unsubscribe();
        timer.cancel();
        io.signal.removeEventListener("abort", interrupted);
      });
    },
    stop: () => informer.stop(),
  };
}

/** Container name -> id, of a pod whose containers are all ready; undefined otherwise. */
export function readyContainers(pod: Pod): Map<string, string> | undefined {
  const statuses = pod.status?.containerStatuses ?? [];
  if (statuses.length === 0 || statuses.length !== pod.spec?.containers.length) return undefined;
  if (!statuses.every((one) => one.ready && one.containerID)) return undefined;
  return new Map(statuses.map((one) => [one.name, one.containerID ?? ""]));
}
