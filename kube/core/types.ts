/**
 * The shapes that every Kubernetes object shares, as the API server sends them in JSON.
 * Kinds of our own live in crds/; core kinds that we cache live beside their projection in kube/.
 */

export type IntOrString = number | string;
export type Labels = Readonly<Record<string, string>>;

export interface OwnerReference {
  apiVersion: string;
  kind: string;
  name: string;
  uid: string;
  controller?: boolean;
  blockOwnerDeletion?: boolean;
}

export interface ObjectMeta {
  name?: string;
  generateName?: string;
  namespace?: string;
  uid?: string;
  resourceVersion?: string;
  generation?: number;
  /** RFC 3339, second precision. */
  creationTimestamp?: string | null;
  deletionTimestamp?: string;
  deletionGracePeriodSeconds?: number;
  labels?: Record<string, string>;
  annotations?: Record<string, string>;
  ownerReferences?: OwnerReference[];
  finalizers?: string[];
  managedFields?: unknown[];
}

export interface KubeObject {
  apiVersion?: string;
  kind?: string;
  metadata: ObjectMeta;
}

export interface LabelSelectorRequirement {
  key: string;
  operator: "In" | "NotIn" | "Exists" | "DoesNotExist";
  values?: string[];
}

export interface LabelSelector {
  matchLabels?: Record<string, string>;
  matchExpressions?: LabelSelectorRequirement[];
}

/** metav1-like condition; `lastUpdateTime` is used by workload kinds. Times are RFC 3339. */
export interface Condition {
  type: string;
  status: "True" | "False" | "Unknown" | "";
  reason?: string;
  message?: string;
  lastTransitionTime?: string | null;
  lastUpdateTime?: string | null;
  lastProbeTime?: string | null;
  observedGeneration?: number;
}

/** The name of one object. `namespace` is absent for cluster-scoped kinds. */
export interface ObjectRef {
  readonly namespace?: string;
  readonly name: string;
}

/** `namespace/name`, or `name` for cluster-scoped objects: the key of caches and queues. */
export type ObjectKey = string;

export function keyOf(ref: ObjectRef): ObjectKey {
  return ref.namespace ? `${ref.namespace}/${ref.name}` : ref.name;
}

export function refOf(key: ObjectKey): ObjectRef {
  const slash = key.indexOf("/");
  return slash < 0 ? { name: key } : { namespace: key.slice(0, slash), name: key.slice(slash + 1) };
}

/** What an object is called, from its metadata. */
export function objectRef({ metadata }: { readonly metadata: ObjectMeta }): {
  namespace: string;
  name: string;
} {
  return { namespace: metadata.namespace ?? "", name: metadata.name ?? "" };
}

/** One error of one field, as the API server words it: `path: Type: "value": detail`. */
export interface FieldError {
  readonly path: string;
  readonly type:
    | "Required"
    | "Invalid"
    | "Forbidden"
    | "NotSupported"
    | "Duplicate"
    | "NotFound"
    | "TooLong"
    | "TooMany"
    | "TypeInvalid"
    | "InternalError";
  /** The refused value; printed as JSON where the API server prints it. */
  readonly value?: unknown;
  readonly detail: string;
}
