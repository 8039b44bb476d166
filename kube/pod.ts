/**
 * What the controller keeps of a pod: a flat projection with interned parts, never sent back to the server.
 * Writes to pods are patches. Times are milliseconds since the Unix epoch.
 */
import type { Labels } from "./core/types.ts";

export interface ControllerOf {
  /** API group without version, `apps.kruise.io`; the version part of an owner reference is never compared. */
  readonly group: string;
  readonly kind: string;
  readonly name: string;
  readonly uid: string;
}

export interface PodCondition {
  readonly type: string;
  readonly status: string;
  readonly reason: string;
  readonly message: string;
  readonly lastTransitionAt: number;
}

export interface ResourceAmounts {
  readonly limits?: Readonly<Record<string, string>>;
  readonly requests?: Readonly<Record<string, string>>;
}

export interface PodEnv {
  readonly name: string;
  readonly value?: string;
  /** `valueFrom.fieldRef.fieldPath`. */
  readonly fieldPath?: string;
  /** `valueFrom.configMapKeyRef`. */
  readonly configMapKey?: { readonly name: string; readonly key: string };
}

export interface PodContainer {
  readonly name: string;
  readonly image: string;
  readonly resources: ResourceAmounts;
  /** Only entries that a plan can need: `KRUISE_*` variables and those with a fieldRef. */
  readonly env: readonly PodEnv[];
  /** Resource name -> `NotRequired` | `RestartContainer`. */
  readonly resizePolicy: Readonly<Record<string, string>>;
}

export interface ContainerStatus {
  readonly name: string;
  readonly image: string;
  readonly imageID: string;
  readonly containerID: string;
  readonly ready: boolean;
  readonly restartCount: number;
  readonly resources?: ResourceAmounts;
}

export interface Pod {
  readonly namespace: string;
  readonly name: string;
  readonly uid: string;
  readonly resourceVersion: string;
  readonly createdAt: number;
  /** `metadata.deletionTimestamp`; undefined while the pod is not being deleted. */
  readonly deletionAt: number | undefined;
  readonly labels: Labels;
  readonly annotations: Labels;
  readonly finalizers: readonly string[];
  /**
   * `metadata.managedFields`: `none` when the server does not track who wrote what, `applies` when somebody used
   * server-side apply, else `updates`.
   */
  readonly fieldManagers: "none" | "updates" | "applies";
  readonly controller: ControllerOf | undefined;
  readonly nodeName: string;
  /** The node that required affinity names (`metadata.name In [node]`); known only while the pod is not scheduled. */
  readonly pinnedTo?: string | undefined;
  readonly readinessGates: readonly string[];
  readonly containers: readonly PodContainer[];
  /** `Pending` | `Running` | `Succeeded` | `Failed` | `Unknown`; empty before the server set it. */
  readonly phase: string;
  readonly conditions: readonly PodCondition[];
  readonly containerStatuses: readonly ContainerStatus[];
  /** Restarts of all init containers together; absent counts as 0. */
  readonly initRestarts?: number;
  readonly podIP: string;
  /**
   * The node tells which spec it saw last (`status.observedGeneration`), and that is an older one than the pod's. Absent
   * also where it does not tell: kubelets before 1.33.
   */
  readonly behind?: true;
}
