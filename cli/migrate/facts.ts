/** What a cluster of another manager of this API holds, as far as taking over depends on it. */
import type { Touch } from "./touch.ts";

export interface Workload {
  readonly kind: "Deployment" | "DaemonSet";
  readonly name: string;
  /** Pods that are wanted. */
  readonly replicas: number;
  readonly images: readonly string[];
  readonly flags: readonly string[];
  /** Runs this program, not another manager or agent. */
  readonly ours: boolean;
}

export interface Definition {
  /** `clonesets.apps.kruise.io`. */
  readonly name: string;
  readonly served: readonly string[];
  readonly stored: readonly string[];
}

export interface Webhooks {
  /** `kruise-mutating-webhook-configuration`. */
  readonly name: string;
  /** `namespace/service` or `https://host:port`, each once. */
  readonly backends: readonly string[];
}

/** What the next plan does to the pods of one object. */
export interface Planned {
  /** `CloneSet default/web`. */
  readonly object: string;
  /** Where its rollout stands, in words. */
  readonly summary: string;
  readonly touches: readonly Touch[];
  /** Name of a revision that would be made although the stored status has seen this generation. */
  readonly newRevision?: string;
  /** What is to be known of it, in a sentence. */
  readonly notice?: string;
}

export interface Unplanned {
  readonly object: string;
  readonly error: string;
}

export interface MigrationFacts {
  readonly namespace: string;
  readonly namespaceExists: boolean;
  /** Objects of each kind of the API that has any. */
  readonly objects: Readonly<Record<string, number>>;
  readonly workloads: readonly Workload[];
  /** Gates of the manager's flags as they are written; undefined without a manager. */
  readonly gates?: string;
  /** Why the gates cannot be read here. */
  readonly gatesError?: string;
  readonly definitions: readonly Definition[];
  readonly webhooks: readonly Webhooks[];
  readonly planned: readonly Planned[];
  readonly unplanned: readonly Unplanned[];
  /** What behaves otherwise here, in sentences. */
  readonly differences: readonly string[];
  /** Lists that could not be read, with the reasons. */
  readonly unread: readonly string[];
}
