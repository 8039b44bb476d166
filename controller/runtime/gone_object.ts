/** What a refused write says of the object that was to be written. */
import { type ObjectKey, refOf } from "../../kube/core/index.ts";
import { type Cache, isKubeError } from "../../kube/index.ts";

/**
 * An object that the server does not find leaves the cache: until a late watch tells of it, each pass would make for it what the
 * garbage collector takes away. A subresource that its definition does not have is answered with 404 as well, about nothing.
 */
export function dropIfGone<T>(
  objects: Pick<Cache<T>, "remove">,
  key: ObjectKey,
  uid: string,
  error: unknown,
): void {
  if (isKubeError(error, "NotFound") && error.about?.name === refOf(key).name) objects.remove(key, uid);
}
