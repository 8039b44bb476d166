import type { ObjectMeta } from "../kube/core/index.ts";
import type { Cache } from "../kube/index.ts";

/**
 * Whether the cache still has this very object. To be asked after every wait of a reconcile: an object that went
 * meanwhile was forgotten already, and what is remembered or watched for it from then on nobody would take away again.
 */
export function isStillThere<T extends { metadata: ObjectMeta }>(
  objects: Pick<Cache<T>, "get">,
  key: string,
  uid: string | undefined,
): boolean {
  return objects.get(key)?.metadata.uid === uid;
}
