/** Counts what is below a namespace or a definition, in pages: only asked when one with the label is deleted. */
import type { KubeObject } from "../../../kube/core/index.ts";
import {
  jsonResource,
  listPages,
  persistentVolumeClaimResource,
  podResource,
  type ReadingClient,
  type Resource,
} from "../../../kube/index.ts";
import type { ProtectedContent } from "./deletion_protection.ts";

export function protectedContent(client: ReadingClient): ProtectedContent {
  return {
    activePods: (namespace) =>
      count(client, podResource, namespace, ({ phase, deletionAt }) => {
        return phase !== "Succeeded" && phase !== "Failed" && deletionAt === undefined;
      }),
    boundClaims: (namespace) =>
      count(client, persistentVolumeClaimResource, namespace, ({ phase, deletionAt }) => {
        return phase === "Bound" && deletionAt === undefined;
      }),
    objects: (kind) =>
      count(client, jsonResource<KubeObject>(kind), undefined, ({ metadata }) => !metadata.deletionTimestamp),
  };
}

async function count<T>(
  client: ReadingClient,
  resource: Resource<T>,
  namespace: string | undefined,
  counts: (object: T) => boolean,
): Promise<number> {
  let found = 0;
  for await (const page of listPages(client, resource, namespace === undefined ? {} : { namespace })) {
    // What cannot be read is there all the same.
    found += page.items.filter(counts).length + page.undecodable.length;
  }
  return found;
}
