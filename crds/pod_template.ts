/** Pod templates as JSON: the fields that this code names; all others ride along. */
import type { NodeAffinity, ObjectMeta, Toleration } from "../kube/core/index.ts";

export interface EnvVar {
  name: string;
  value?: string;
  valueFrom?: Record<string, unknown>;
}

export interface ContainerPort {
  name?: string;
  containerPort: number;
  hostPort?: number;
  hostIP?: string;
  protocol?: string;
}

export interface Container {
  name: string;
  image?: string;
  imagePullPolicy?: string;
  env?: EnvVar[];
  ports?: ContainerPort[];
  resources?: { limits?: Record<string, string | number>; requests?: Record<string, string | number> };
  restartPolicy?: string;
  [field: string]: unknown;
}

export interface Volume {
  name: string;
  /** What it is made of. */
  [source: string]: unknown;
}

export interface Affinity {
  nodeAffinity?: NodeAffinity;
  [kind: string]: unknown;
}

export interface PodSpec {
  affinity?: Affinity;
  tolerations?: Toleration[];
  hostNetwork?: boolean;
  containers: Container[];
  initContainers?: Container[];
  volumes?: Volume[];
  restartPolicy?: string;
  readinessGates?: { conditionType: string }[];
  nodeName?: string;
  nodeSelector?: Record<string, string>;
  terminationGracePeriodSeconds?: number;
  [field: string]: unknown;
}

export interface PodTemplate {
  metadata?: ObjectMeta;
  spec: PodSpec;
}

export interface PersistentVolumeClaim {
  apiVersion?: string;
  kind?: string;
  metadata?: ObjectMeta;
  spec?: Record<string, unknown>;
  status?: Record<string, unknown>;
}
