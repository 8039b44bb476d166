/** What happens to an object between the request and the store. */
import type { StoredObject } from "../cluster.ts";
import type { GroupVersionKind } from "../resources/resource.ts";
import type { WriteRequest } from "../writes/request.ts";

export interface Review {
  readonly operation: "CREATE" | "UPDATE" | "DELETE" | "CONNECT";
  readonly request: WriteRequest;
  /** Undefined for DELETE. */
  readonly object: StoredObject | undefined;
  readonly oldObject: StoredObject | undefined;
  /** Kind of the object where it is not the resource's own: Eviction, Scale, Binding. */
  readonly kind?: GroupVersionKind;
}

export interface Admission {
  /** Gives the object as the mutating webhooks want it; refusals are thrown. */
  mutate(review: Review & { readonly object: StoredObject }): Promise<StoredObject>;
  validate(review: Review): Promise<void>;
}
