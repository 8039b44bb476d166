/** Statuses that admission writes, too: many times a second while many pods come or go at once. */
import { createMergePatch, type ObjectMeta } from "../../kube/core/index.ts";
import type { Reader } from "../../kube/index.ts";
import type { StatusPatch } from "./reconciler.ts";

/**
 * Writes `status` on the version that it was worked out of. The object may be another one by the time that the write has a place:
 * then what `statusOf` works out of the newest that is known, unless the spec has changed, which needs another pass.
 */
export function exactStatus<
  T extends { readonly metadata: ObjectMeta; readonly status?: object | undefined },
>(
  objects: Pick<Reader<T>, "get">,
  key: string,
  object: T,
  status: object,
  statusOf: (newest: T) => object,
): StatusPatch {
  const patchOf = (seen: T, planned: object): object => createMergePatch(seen.status ?? {}, planned);
  const { uid, generation } = object.metadata;
  const renewed = () => {
    const newest = objects.get(key);
    if (newest === undefined || newest === object) return undefined;
    const { resourceVersion = "", ...metadata } = newest.metadata;
    if (metadata.uid !== uid || metadata.generation !== generation) return undefined;
    return { resourceVersion, status: patchOf(newest, statusOf(newest)) };
  };
  return { type: "patch status", status: patchOf(object, status), exact: true, renewed };
}
