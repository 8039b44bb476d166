/** Settings of the controller process, resolved once from flags. Spec: platform 2.1, 2.3. */
import { type FeatureGates, parseFeatureGates } from "./feature_gates.ts";

export interface ControllerOptions {
  gates: FeatureGates;
  /** Restricts everything namespaced to one namespace; empty for all. */
  namespace: string;
  /** Reconciles of one controller at a time, by its name; default 3. */
  workers: Readonly<Record<string, number>>;
  /** Global form of `scaleStrategy.excludePreparingDelete`. */
  excludePreparingDelete: boolean;
  /** Leaves `metadata.managedFields` of workloads' pods alone; else it ends at their creation, or with the first update. */
  keepManagedFields: boolean;
  /** Pods of BroadcastJobs are pinned to their node by affinity and left to the scheduler; false: by node name. */
  assignBroadcastJobPodsByScheduler: boolean;
  /** DaemonSet pods are bound by the scheduler; false: they are created with their node's name. */
  assignPodsByScheduler: boolean;
  /** How long a node must be Ready before it gets its NodeImage, milliseconds. */
  nodeImageCreationDelayMs: number;
  /** Seconds that the finished task of a pull job with policy Always stays in a NodeImage beyond the job's own times. */
  pullTaskTtlSeconds: number;
  /** Where this program is: of its configuration, and of revisions of objects without a namespace. */
  systemNamespace: string;
  /** The only namespace in which node agents may read secrets. */
  daemonConfigNamespace: string;
  /** Backoff of failing keys, milliseconds. */
  baseDelayMs: number;
  maxDelayMs: number;
}

export function controllerOptions(overrides: Partial<ControllerOptions> = {}): ControllerOptions {
  return {
    gates: parseFeatureGates(),
    namespace: "",
    workers: {},
    excludePreparingDelete: false,
    keepManagedFields: false,
    assignBroadcastJobPodsByScheduler: true,
    assignPodsByScheduler: true,
    nodeImageCreationDelayMs: 30_000,
    pullTaskTtlSeconds: 300,
    systemNamespace: "kruise-system",
    daemonConfigNamespace: "kruise-daemon-config",
    baseDelayMs: 5,
    maxDelayMs: 1_000_000,
    ...overrides,
  };
}
