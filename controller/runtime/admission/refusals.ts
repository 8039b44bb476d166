/** Refusals that are counted and audited. Spec: protection A5, B5; platform 3. */
import type { AdmissionRequest } from "./request.ts";

export interface Refusal {
  readonly event: "DeletionProtection" | "PodUnavailableBudget";
  readonly kind: string;
  /** Empty for cluster-scoped objects. */
  readonly namespace: string;
  readonly name: string;
  readonly userName: string;
  /** What the counter names instead of the object: the workload of a pod. */
  readonly counted?: { readonly kind: string; readonly name: string };
}

export function deletionRefusal(kind: string, { namespace, name, userName }: AdmissionRequest): Refusal {
  // The API server names a namespace as the namespace of itself.
  const within = kind === "Namespace" || kind === "CustomResourceDefinition" ? "" : namespace;
  return { event: "DeletionProtection", kind, namespace: within, name, userName };
}
