/** A node's sign of life: its Lease in `kube-node-lease`. */
import type { Cluster } from "../cluster.ts";

const namespace = "kube-node-lease";

/** Creates or renews; the renewal interval is a quarter of the Lease's duration, as kubelets have it. */
export function renewLease(cluster: Cluster, node: string, intervalMs: number, now: number): void {
  const renewTime = `${new Date(now).toISOString().slice(0, -1)}000Z`;
  const renewed = cluster.update("leases.coordination.k8s.io", { namespace, name: node }, (draft) => {
    const spec = draft["spec"];
    draft["spec"] = { ...(typeof spec === "object" ? spec : {}), renewTime };
  });
  if (renewed || !cluster.get("namespaces", { name: namespace })) return;
  const owner = cluster.get("nodes", { name: node })?.metadata.uid;
  cluster.create("leases.coordination.k8s.io", {
    apiVersion: "coordination.k8s.io/v1",
    kind: "Lease",
    metadata: {
      namespace,
      name: node,
      ...(owner ? { ownerReferences: [{ apiVersion: "v1", kind: "Node", name: node, uid: owner }] } : {}),
    },
    spec: {
      holderIdentity: node,
      leaseDurationSeconds: Math.max(1, Math.ceil((intervalMs * 4) / 1_000)),
      renewTime,
    },
  });
}
