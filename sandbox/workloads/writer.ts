/** How built-in workloads write pods: as a user's request would, through admission, where the sandbox offers that. */
import type { ObjectRef } from "../../kube/core/index.ts";
import type { Cluster, RemoveOptions, StoredObject } from "../cluster.ts";

export interface RequestWriter {
  /** Rejects when admission or validation refuses. */
  create(resource: string, object: StoredObject): Promise<StoredObject>;
  remove(resource: string, ref: ObjectRef, options?: RemoveOptions): Promise<void>;
}

/** Straight into the store, for sandboxes without webhooks. */
export function storeWriter(cluster: Cluster): RequestWriter {
  return {
    create: async (resource, object) => cluster.create(resource, object),
    remove: async (resource, ref, options) => cluster.remove(resource, ref, options),
  };
}
