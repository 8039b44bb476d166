/** What every namespace has: the account `default` and the cluster's certificate authority. */
import type { Cluster, ClusterChange } from "../cluster.ts";

interface NamespaceDefaultsOptions {
  readonly cluster: Cluster;
  /** PEM; kept in `kube-root-ca.crt`. */
  readonly authority: string;
  readonly onError: (error: unknown, key: string) => void;
}

export function startNamespaceDefaults({ cluster, authority, onError }: NamespaceDefaultsOptions): {
  stop(): void;
} {
  const ensure = (resource: string, namespace: string, name: string, rest: object): void => {
    if (cluster.get(resource, { namespace, name })) return;
    try {
      cluster.create(resource, { ...rest, metadata: { namespace, name } });
    } catch (error) {
      onError(error, `${resource} ${namespace}/${name}`);
    }
  };
  const furnish = (namespace: string): void => {
    ensure("serviceaccounts", namespace, "default", { apiVersion: "v1", kind: "ServiceAccount" });
    ensure("configmaps", namespace, "kube-root-ca.crt", {
      apiVersion: "v1",
      kind: "ConfigMap",
      data: { "ca.crt": authority },
    });
  };
  const isLiving = (name: string): boolean => {
    const namespace = cluster.get("namespaces", { name });
    return namespace !== undefined && namespace.metadata.deletionTimestamp === undefined;
  };
  const namespaceChanged = (change: ClusterChange): void => {
    const name = change.object.metadata.name ?? "";
    if (change.type === "ADDED" && isLiving(name)) furnish(name);
  };
  const restore = (change: ClusterChange): void => {
    const { namespace = "", name = "" } = change.object.metadata;
    const isOurs = name === "default" || name === "kube-root-ca.crt";
    if (change.type === "DELETED" && isOurs && isLiving(namespace)) furnish(namespace);
  };
  const unsubscribe = [
    cluster.subscribe("namespaces", namespaceChanged),
    cluster.subscribe("serviceaccounts", restore),
    cluster.subscribe("configmaps", restore),
  ];
  for (const namespace of cluster.list("namespaces")) furnish(namespace.metadata.name ?? "");
  return {
    stop() {
      for (const leave of unsubscribe) leave();
    },
  };
}
