/** Typed views of the core objects that simulated components read. Absent fields are absent, as in the API's JSON. */
import {
  type Condition,
  isConditionTrue,
  isJsonObject,
  type LabelSelector,
  type NodeAffinity,
  type Taint,
  type Toleration,
} from "../../kube/core/index.ts";
import type { StoredObject } from "../cluster.ts";

export interface ResourceList {
  limits?: Record<string, string>;
  requests?: Record<string, string>;
}

export interface KeyReference {
  name?: string;
  key: string;
  optional?: boolean;
}

export interface EnvVar {
  name: string;
  value?: string;
  valueFrom?: {
    fieldRef?: { fieldPath: string };
    configMapKeyRef?: KeyReference;
    secretKeyRef?: KeyReference;
  };
}

export interface Probe {
  exec?: { command?: string[] };
  httpGet?: object;
  tcpSocket?: object;
  grpc?: object;
  initialDelaySeconds?: number;
  periodSeconds?: number;
}

export interface LifecycleHandler {
  exec?: { command?: string[] };
  sleep?: { seconds: number };
}

export interface Container {
  name: string;
  image?: string;
  imagePullPolicy?: string;
  command?: string[];
  args?: string[];
  env?: EnvVar[];
  envFrom?: {
    configMapRef?: { name?: string; optional?: boolean };
    secretRef?: { name?: string; optional?: boolean };
  }[];
  resources?: ResourceList;
  resizePolicy?: { resourceName: string; restartPolicy: string }[];
  /** Only on init containers: `Always` makes a sidecar of it. */
  restartPolicy?: string;
  readinessProbe?: Probe;
  startupProbe?: Probe;
  terminationMessagePolicy?: string;
  lifecycle?: { postStart?: LifecycleHandler; preStop?: LifecycleHandler };
  ports?: { containerPort: number; hostPort?: number; name?: string; protocol?: string }[];
}

export interface PodAffinityTerm {
  labelSelector?: LabelSelector;
  namespaces?: string[];
  topologyKey: string;
}

export interface Affinity {
  nodeAffinity?: NodeAffinity;
  podAffinity?: { requiredDuringSchedulingIgnoredDuringExecution?: PodAffinityTerm[] };
  podAntiAffinity?: { requiredDuringSchedulingIgnoredDuringExecution?: PodAffinityTerm[] };
}

interface TopologySpreadConstraint {
  maxSkew: number;
  topologyKey: string;
  whenUnsatisfiable: string;
  labelSelector?: LabelSelector;
}

interface Volume {
  name: string;
  persistentVolumeClaim?: { claimName: string };
  configMap?: { name?: string; optional?: boolean };
  secret?: { secretName?: string; optional?: boolean };
  ephemeral?: { volumeClaimTemplate?: { metadata?: object; spec: ClaimSpec } };
}

export interface PodSpec {
  nodeName?: string;
  schedulerName?: string;
  schedulingGates?: { name: string }[];
  nodeSelector?: Record<string, string>;
  affinity?: Affinity;
  tolerations?: Toleration[];
  topologySpreadConstraints?: TopologySpreadConstraint[];
  containers: Container[];
  initContainers?: Container[];
  ephemeralContainers?: Container[];
  readinessGates?: { conditionType: string }[];
  restartPolicy?: string;
  terminationGracePeriodSeconds?: number;
  activeDeadlineSeconds?: number;
  hostNetwork?: boolean;
  hostname?: string;
  subdomain?: string;
  volumes?: Volume[];
  overhead?: Record<string, string>;
}

export interface ContainerTermination {
  exitCode: number;
  reason: string;
  message?: string;
  startedAt: string;
  finishedAt: string;
  containerID: string;
}

export interface ContainerState {
  waiting?: { reason: string; message?: string };
  running?: { startedAt: string };
  terminated?: ContainerTermination;
}

export interface ContainerStatus {
  name: string;
  state: ContainerState;
  lastState: ContainerState;
  ready: boolean;
  restartCount: number;
  image: string;
  imageID: string;
  containerID?: string;
  started?: boolean;
  allocatedResources?: Record<string, string>;
  resources?: ResourceList;
}

export interface PodStatus {
  phase?: string;
  reason?: string;
  message?: string;
  conditions?: Condition[];
  hostIP?: string;
  hostIPs?: { ip: string }[];
  podIP?: string;
  podIPs?: { ip: string }[];
  startTime?: string;
  containerStatuses?: ContainerStatus[];
  initContainerStatuses?: ContainerStatus[];
  ephemeralContainerStatuses?: ContainerStatus[];
  qosClass?: string;
  observedGeneration?: number;
  nominatedNodeName?: string;
}

export type PodObject = StoredObject & { spec: PodSpec; status?: PodStatus };

interface NodeStatus {
  capacity?: Record<string, string>;
  allocatable?: Record<string, string>;
  conditions?: Condition[];
  addresses?: { type: string; address: string }[];
  daemonEndpoints?: { kubeletEndpoint: { Port: number } };
  nodeInfo?: Record<string, string>;
  images?: { names: string[]; sizeBytes: number }[];
}

interface NodeSpec {
  podCIDR?: string;
  podCIDRs?: string[];
  unschedulable?: boolean;
  taints?: Taint[];
  providerID?: string;
}

export type NodeObject = StoredObject & { spec: NodeSpec; status?: NodeStatus };

export interface ClaimSpec {
  accessModes?: string[];
  storageClassName?: string;
  volumeName?: string;
  volumeMode?: string;
  selector?: LabelSelector;
  resources?: ResourceList;
}

export function isPod(object: StoredObject | undefined): object is PodObject {
  const spec = object?.["spec"];
  return typeof spec === "object" && spec !== null && "containers" in spec && Array.isArray(spec.containers);
}

export function isNode(object: StoredObject | undefined): object is NodeObject {
  return object !== undefined && isJsonObject(object["spec"]);
}

/** Succeeded or Failed: such a pod holds no resources and never changes by itself again. */
export function isFinished(pod: PodObject): boolean {
  return pod.status?.phase === "Succeeded" || pod.status?.phase === "Failed";
}

export function isPodReady(pod: PodObject): boolean {
  return isConditionTrue(pod.status?.conditions, "Ready");
}

/** Names of the claims that a pod mounts; generic ephemeral volumes are claims named after pod and volume. */
export function claimNames(pod: PodObject): string[] {
  const names: string[] = [];
  for (const volume of pod.spec.volumes ?? []) {
    if (volume.persistentVolumeClaim) names.push(volume.persistentVolumeClaim.claimName);
    else if (volume.ephemeral) names.push(`${pod.metadata.name}-${volume.name}`);
  }
  return names;
}
