/** Objects as they change: read once, then watched; a stream that ends is opened again. */
import {
  type Client,
  type Clock,
  ignoreNotFound,
  isKubeError,
  type ListOptions,
  type Resource,
} from "../kube/index.ts";
import type { ClusterAccess } from "./command.ts";
import type { AnyObject } from "./fields.ts";
import { objectResource } from "./resource_types.ts";
import { readTarget, type Target } from "./target.ts";

const pauseBetweenWatchesMs = 500;

/**
 * Yields the object now and after each change, and undefined once it is gone.
 * Ends when the signal aborts. Throws KubeError for what a second try does not mend.
 */
export async function* follow(
  access: ClusterAccess,
  target: Target,
  clock: Clock,
  signal: AbortSignal,
): AsyncGenerator<AnyObject | undefined> {
  let current = await readTarget(access, target);
  yield current;
  while (!signal.aborted) {
    try {
      for await (const object of changes(access, target, current.metadata.resourceVersion ?? "", signal)) {
        if (object === undefined) {
          yield undefined;
          return;
        }
        current = object;
        yield current;
      }
    } catch (error) {
      if (signal.aborted) return;
      if (!isPassing(error)) throw error;
    }
    await clock.sleep(pauseBetweenWatchesMs, signal).catch(() => undefined);
    if (signal.aborted) return;
    const again = await access.client.get(objectResource(target.type), target.ref).catch(ignoreNotFound);
    if (again === undefined) {
      yield undefined;
      return;
    }
    current = again;
    yield current;
  }
}

/**
 * Yields what a list holds, then each change, a deletion as the object was. After a stream has ended everything is yielded
 * again: readers know by UID and version what they have seen. Ends and throws as `follow` does.
 */
export async function* followList<T>(
  client: Client,
  resource: Resource<T>,
  options: ListOptions,
  clock: Clock,
  signal: AbortSignal,
): AsyncGenerator<readonly T[]> {
  while (!signal.aborted) {
    try {
      const { items, resourceVersion } = await client.list(resource, options);
      yield items;
      for await (const batch of await client.watch(resource, { ...options, resourceVersion, signal })) {
        yield batch.flatMap((event) => ("object" in event ? [event.object] : []));
        if (batch.some(({ type }) => type === "ERROR")) break;
      }
    } catch (error) {
      if (!signal.aborted && !isPassing(error)) throw error;
    }
    await clock.sleep(pauseBetweenWatchesMs, signal).catch(() => undefined);
  }
}

/** Whether a second try may mend it. */
export function isPassing(error: unknown): boolean {
  return isKubeError(error, "Gone", "Network", "Timeout", "Unavailable", "ServerError", "TooManyRequests");
}

async function* changes(
  access: ClusterAccess,
  target: Target,
  resourceVersion: string,
  signal: AbortSignal,
): AsyncGenerator<AnyObject | undefined> {
  const { namespace, name } = target.ref;
  const stream = await access.client.watch(objectResource(target.type), {
    ...(namespace === undefined ? {} : { namespace }),
    fieldSelector: `metadata.name=${name}`,
    resourceVersion,
    signal,
  });
  for await (const batch of stream) {
    for (const event of batch) {
      if (event.type === "ERROR") return;
      if (event.type === "DELETED") yield undefined;
      if (event.type === "ADDED" || event.type === "MODIFIED") yield event.object;
    }
  }
}
