/**
 * The state of the sandbox's API server as its simulated components (scheduler, hollow nodes, garbage
 * collector, volume binder) see it: in process, without HTTP, complete JSON objects.
 * Every change goes through the same storage as requests do: it gets a resourceVersion and reaches watches.
 */
import type { KubeObject, ObjectRef } from "../kube/core/index.ts";

export type StoredObject = KubeObject & Record<string, unknown>;

export type ClusterChange =
  | { readonly type: "ADDED"; readonly object: StoredObject }
  | { readonly type: "MODIFIED"; readonly object: StoredObject; readonly before: StoredObject }
  | { readonly type: "DELETED"; readonly object: StoredObject };

export interface RemoveOptions {
  gracePeriodSeconds?: number;
  uid?: string;
  propagationPolicy?: string;
}

export interface Cluster {
  /** `resource` is `<plural>` for the core group, else `<plural>.<group>`: `pods`, `leases.coordination.k8s.io`. */
  get(resource: string, ref: ObjectRef): StoredObject | undefined;
  list(resource: string, namespace?: string): Iterable<StoredObject>;
  create(resource: string, object: StoredObject): StoredObject;
  /** Changes a deep copy and stores it when it differs; undefined when the object is gone. */
  update(resource: string, ref: ObjectRef, change: (draft: StoredObject) => void): StoredObject | undefined;
  /** Deletes with the semantics of the API (finalizers, propagation); `grace` 0 removes a pod at once. */
  remove(resource: string, ref: ObjectRef, options?: RemoveOptions): void;
  /** Called after each change, in order of resourceVersion; returns the unsubscriber. */
  subscribe(resource: string, listener: (change: ClusterChange) => void): () => void;
}
