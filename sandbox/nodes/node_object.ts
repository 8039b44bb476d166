/** Node objects of simulated nodes. */
import { formatTime, type Taint } from "../../kube/core/index.ts";
import type { StoredObject } from "../cluster.ts";
import { versionText } from "../kubernetes_version.ts";
import type { NodeObject } from "../objects/index.ts";
import type { Timing } from "../stages/profile.ts";

/** What distinguishes a simulated node. Everything has a default. */
export interface NodeProfile {
  /** Default `node<n>`. */
  readonly name?: string;
  readonly labels?: Readonly<Record<string, string>>;
  readonly annotations?: Readonly<Record<string, string>>;
  readonly taints?: readonly Taint[];
  readonly unschedulable?: boolean;
  /** Quantities by resource name; default 16 cpu, 64Gi memory, 110 pods, 100Gi ephemeral-storage. */
  readonly capacity?: Readonly<Record<string, string>>;
  /** Default: the capacity. */
  readonly allocatable?: Readonly<Record<string, string>>;
  readonly zone?: string;
  readonly region?: string;
  /** Default `linux`. */
  readonly os?: string;
  /** Default `amd64`. */
  readonly architecture?: string;
  /** Default `v1.34.4`. */
  readonly kubeletVersion?: string;
  /** Images that are on the node from the start. */
  readonly images?: readonly string[];
  /** Departs from the sandbox's profile. */
  readonly timing?: Partial<Timing>;
}

/** Of a node whose profile says nothing else. */
export const usualPodCapacity = 110;
const usualCapacity = {
  cpu: "16",
  memory: "64Gi",
  pods: String(usualPodCapacity),
  "ephemeral-storage": "100Gi",
};

/** A tainted node as control planes have it. */
export function controlPlaneProfile(name = "master1"): NodeProfile {
  return {
    name,
    labels: { "node-role.kubernetes.io/control-plane": "" },
    taints: [{ key: "node-role.kubernetes.io/control-plane", effect: "NoSchedule" }],
  };
}

export function nodeObject(
  profile: NodeProfile,
  name: string,
  addresses: { hostIp: string; cidr: string },
  now: number,
): NodeObject {
  const os = profile.os ?? "linux";
  const architecture = profile.architecture ?? "amd64";
  const labels: Record<string, string> = {
    "beta.kubernetes.io/arch": architecture,
    "beta.kubernetes.io/os": os,
    "kubernetes.io/arch": architecture,
    "kubernetes.io/hostname": name,
    "kubernetes.io/os": os,
  };
  if (profile.zone) labels["topology.kubernetes.io/zone"] = profile.zone;
  if (profile.region) labels["topology.kubernetes.io/region"] = profile.region;
  const spec: NodeObject["spec"] = { podCIDR: addresses.cidr, podCIDRs: [addresses.cidr] };
  if (profile.taints) spec.taints = profile.taints.map((taint) => ({ ...taint }));
  if (profile.unschedulable) spec.unschedulable = true;
  const object: NodeObject = {
    apiVersion: "v1",
    kind: "Node",
    metadata: {
      name,
      labels: { ...labels, ...profile.labels },
      annotations: { "node.alpha.kubernetes.io/ttl": "0", ...profile.annotations },
    },
    spec,
  };
  object.status = nodeStatus(object, profile, addresses.hostIp, now);
  return object;
}

/** The status of a Ready node; capacity that the object already names is kept. */
export function nodeStatus(
  node: StoredObject & { status?: NodeObject["status"] },
  profile: NodeProfile,
  hostIp: string,
  now: number,
): NonNullable<NodeObject["status"]> {
  const name = node.metadata.name ?? "";
  const capacity = { ...usualCapacity, ...profile.capacity, ...node.status?.capacity };
  return {
    capacity,
    allocatable: { ...capacity, ...profile.allocatable, ...node.status?.allocatable },
    conditions: readyConditions(now),
    addresses: [
      { type: "InternalIP", address: hostIp },
      { type: "Hostname", address: name },
    ],
    daemonEndpoints: { kubeletEndpoint: { Port: 10250 } },
    nodeInfo: {
      architecture: profile.architecture ?? "amd64",
      bootID: "",
      containerRuntimeVersion: "sandbox://1.0",
      kernelVersion: "6.1.0-sandbox",
      kubeProxyVersion: "",
      kubeletVersion: profile.kubeletVersion ?? versionText(),
      machineID: name,
      operatingSystem: profile.os ?? "linux",
      osImage: "Refit sandbox",
      systemUUID: name,
    },
  };
}

function readyConditions(now: number): NonNullable<NonNullable<NodeObject["status"]>["conditions"]> {
  const time = formatTime(now);
  const fine = (type: string, reason: string, message: string) => ({
    type,
    status: "False" as const,
    lastHeartbeatTime: time,
    lastTransitionTime: time,
    reason,
    message,
  });
  return [
    fine("MemoryPressure", "KubeletHasSufficientMemory", "kubelet has sufficient memory available"),
    fine("DiskPressure", "KubeletHasNoDiskPressure", "kubelet has no disk pressure"),
    fine("PIDPressure", "KubeletHasSufficientPID", "kubelet has sufficient PID available"),
    {
      ...fine("Ready", "KubeletReady", "kubelet is posting ready status"),
      status: "True",
    },
  ];
}
