/** Objects as caches hold them, plain but for what is asked for. For tests and benches. */
import type { ControllerRevision, Metadata, Node, PersistentVolumeClaim } from "../../kube/index.ts";

function metadataOf(namespace: string, name: string): Metadata {
  return {
    namespace,
    name,
    uid: `uid-${name}`,
    resourceVersion: "1",
    generation: 1,
    labels: {},
    annotations: {},
    owners: [],
    finalizers: [],
    createdAt: 0,
    deletionAt: undefined,
  };
}

/** Nothing is known of what it has room for. */
export function plainNode(name: string, change: Partial<Node> = {}): Node {
  return {
    ...metadataOf("", name),
    labels: { "kubernetes.io/hostname": name },
    taints: [],
    unschedulable: false,
    conditions: [],
    allocatable: {},
    ...change,
  };
}

/** Bound, without a size. */
export function plainClaim(
  namespace: string,
  name: string,
  change: Partial<PersistentVolumeClaim> = {},
): PersistentVolumeClaim {
  return {
    ...metadataOf(namespace, name),
    phase: "Bound",
    storageClassName: undefined,
    volumeName: "",
    accessModes: [],
    capacity: {},
    requests: {},
    conditions: [],
    ...change,
  };
}

export function plainRevision(
  namespace: string,
  name: string,
  change: Partial<ControllerRevision> = {},
): ControllerRevision {
  return { ...metadataOf(namespace, name), revision: 1, data: "{}", ...change };
}
