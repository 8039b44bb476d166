/** In which version the rules of a kind look at an object. */
import type { StoredObject } from "../cluster.ts";
import type { Served } from "../resources/resource.ts";
import { Revision } from "../revision.ts";

/** Custom kinds are validated in the version of the request, built-in ones in the version that is stored. */
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
  const fresh = missing.filter((revision) => !revision.conversions.has(apiVersion));
  if (fresh.length > 0) convertAll(fresh, served, apiVersion);
  for (const revision of missing) await revision.conversions.get(apiVersion);
  return revisions.map((revision) => revision.inVersion(apiVersion));
}

/** Starts one conversion for all of them; whoever else wants the same waits for it. */
function convertAll(revisions: readonly Revision[], served: Served, apiVersion: string): void {
  const objects = revisions.map((revision) => revision.object);
  const run = async (): Promise<void> => {
    try {
      const converted = await served.resource.convert(objects, apiVersion);
      revisions.forEach((revision, at) => {
        const object = converted[at];
        if (object !== undefined) revision.forms.set(apiVersion, new Revision(object, revision.version));
      });
    } finally {
      for (const revision of revisions) revision.conversions.delete(apiVersion);
    }
  };
  const running = run();
  for (const revision of revisions) revision.conversions.set(apiVersion, running);
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
