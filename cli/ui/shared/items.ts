/** What the server tells the page. Both sides share this file. */
import type { DetailItem } from "./detail_items.ts";
import type { Need } from "./needs.ts";
import type { NodeItem } from "./node_items.ts";

export { type Need, needs } from "./needs.ts";

export interface WorkloadItem {
  readonly is: "workload";
  readonly kind: string;
  readonly group: string;
  /** Empty for objects of the whole cluster. */
  readonly namespace: string;
  readonly name: string;
  /** As commands name it: `clone/web -n shop`. */
  readonly word: string;
  /** Its own, at most 64 of them; not those of its pods. */
  readonly labels: Readonly<Record<string, string>>;
  readonly desired: number;
  /** Its pods end by themselves: it has no revisions, and none of its pods is out of service. */
  readonly isJob: boolean;
  /** Pods at the newest revision; of a job, pods that succeeded. */
  readonly updated: number;
  readonly available: number;
  /** Pods that stay at the old revision; 0 where the kind has no partition. */
  readonly partition: number;
  /** Pods that may be unavailable; absent where the spec does not say. */
  readonly allowed?: number;
  readonly isPaused: boolean;
  /** End of the newest revision's name. */
  readonly revision: string;
  /** Of a SidecarSet: what pods that have this revision are marked with. */
  readonly hash?: string;
  readonly state: Need;
  readonly message: string;
  /** Code of what holds it back first; empty when nothing does. */
  readonly reason: string;
  readonly reasonText: string;
  readonly since?: number;
}

export type PodState =
  | "ready"
  | "starting"
  | "updating"
  | "pending"
  | "failing"
  | "terminating"
  | "completed";

export interface PodItem {
  readonly is: "pod";
  readonly namespace: string;
  readonly name: string;
  readonly node: string;
  /** Of its node; empty where that has none, or is not known. */
  readonly zone: string;
  /** Of the UnitedDeployment or WorkloadSpread that made it or placed it; empty without one. */
  readonly subset: string;
  readonly revision: string;
  readonly state: PodState;
  /** Why a container waits or how it ended; empty when all is well. */
  readonly reason: string;
  /** As `lifecycle.apps.kruise.io/state` says it, `PreparingDelete`; empty without one. */
  readonly lifecycle: string;
  readonly restarts: number;
  readonly image: string;
}

export interface ReasonItem {
  readonly code: string;
  readonly outlook: "stuck" | "moving" | "held";
  readonly text: string;
  readonly end: string;
  readonly pods: readonly string[];
  readonly command: string;
}

/** What `refit why` says of one workload. */
export interface AnswerItem {
  readonly is: "answer";
  readonly command: string;
  readonly state: Need;
  readonly message: string;
  readonly reasons: readonly ReasonItem[];
  /** What the controller does next. */
  readonly next: readonly string[];
  readonly notices: readonly string[];
  /** What could not be read; empty when all was. */
  readonly unread: string;
}

export interface ClusterItem {
  readonly is: "cluster";
  /** Every list was read once. */
  readonly isComplete: boolean;
  readonly problems: readonly string[];
}

export type Item = WorkloadItem | PodItem | AnswerItem | ClusterItem | DetailItem | NodeItem;

/** Of the item about the cluster, and of the answer about one workload. Other keys begin with the kind of item. */
export const clusterKey = "cluster";
export const answerKey = "answer";
