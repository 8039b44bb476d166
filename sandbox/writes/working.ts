/** In which version the rules of a kind look at an object. */
import type { StoredObject } from "../cluster.ts";
import type { Served } from "../resources/resource.ts";
import type { Revision } from "../revision.ts";

/** Custom kinds are judged in the version of the request, built-in ones in the version that is stored. */
export function workingVersion(served: Served): string {
  return served.resource.custom ? served.apiVersion : served.resource.storedApiVersion;
}

/** A stored revision in another version of its group; itself when it has that version already. */
export async function inVersion(
  revisions: readonly Revision[],
  served: Served,
  apiVersion: string,
): Promise<readonly Revision[]> {
  const missing = revisions.filter(
    (revision) => revision.object.apiVersion !== apiVersion && !revision.forms.has(apiVersion),
  );
  if (missing.length > 0) {
    const converted = await served.resource.convert(
      missing.map((revision) => revision.object),
      apiVersion,
    );
    missing.forEach((revision, at) => {
      const object = converted[at];
      if (object !== undefined) revision.forms.set(apiVersion, revision.withObject(object));
    });
  }
  return revisions.map((revision) => revision.inVersion(apiVersion));
}

export async function convertObject(
  object: StoredObject,
  served: Served,
  apiVersion: string,
): Promise<StoredObject> {
  if (object.apiVersion === apiVersion) return object;
  const [converted] = await served.resource.convert([object], apiVersion);
  return converted ?? object;
}
