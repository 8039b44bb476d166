/** What a pod needs besides images before its containers can be made: ConfigMaps, Secrets, claims. */
import { isJsonObject } from "../../kube/core/index.ts";
import type { StoredObject } from "../cluster.ts";
import { type Container, claimNames, type PodObject } from "../objects/index.ts";

export interface NodeSources {
  /** ConfigMaps, Secrets and claims by `Cluster` resource name. */
  get(resource: string, namespace: string, name: string): StoredObject | undefined;
}

/** The kubelet's words for the first variable that has no source yet; undefined when all are there. */
export function missingConfig(
  sources: NodeSources,
  pod: PodObject,
  container: Container,
): string | undefined {
  for (const { valueFrom } of container.env ?? []) {
    const missing =
      missingKey(sources, pod, "configmaps", valueFrom?.configMapKeyRef) ??
      missingKey(sources, pod, "secrets", valueFrom?.secretKeyRef);
    if (missing) return missing;
  }
  for (const { configMapRef, secretRef } of container.envFrom ?? []) {
    const missing =
      missingObject(sources, pod, "configmaps", configMapRef) ??
      missingObject(sources, pod, "secrets", secretRef);
    if (missing) return missing;
  }
  return undefined;
}

type InputKind = "configmaps" | "secrets";

function missingKey(
  sources: NodeSources,
  pod: PodObject,
  kind: InputKind,
  reference: { name?: string; key: string; optional?: boolean } | undefined,
): string | undefined {
  if (!reference || reference.optional) return undefined;
  const missing = missingObject(sources, pod, kind, reference);
  if (missing) return missing;
  const namespace = pod.metadata.namespace ?? "";
  const source = sources.get(kind, namespace, reference.name ?? "");
  for (const member of ["data", "binaryData"]) {
    const values = source?.[member];
    if (isJsonObject(values) && Object.hasOwn(values, reference.key)) return undefined;
  }
  const title = kind === "configmaps" ? "ConfigMap" : "Secret";
  return `couldn't find key ${reference.key} in ${title} ${namespace}/${reference.name}`;
}

function missingObject(
  sources: NodeSources,
  pod: PodObject,
  kind: InputKind,
  reference: { name?: string; optional?: boolean } | undefined,
): string | undefined {
  if (!reference || reference.optional) return undefined;
  if (sources.get(kind, pod.metadata.namespace ?? "", reference.name ?? "")) return undefined;
  return `${kind === "configmaps" ? "configmap" : "secret"} "${reference.name}" not found`;
}

/** The kubelet's words for the first volume that cannot be mounted; one that no container mounts is not looked at. */
export function missingVolume(sources: NodeSources, pod: PodObject): string | undefined {
  if (!pod.spec.volumes) return undefined;
  const namespace = pod.metadata.namespace ?? "";
  const mounted = mountedVolumes(pod);
  for (const volume of pod.spec.volumes.filter(({ name }) => mounted.has(name))) {
    const missing =
      missingObject(sources, pod, "configmaps", volume.configMap) ??
      missingObject(
        sources,
        pod,
        "secrets",
        volume.secret && { ...volume.secret, name: volume.secret.secretName ?? "" },
      );
    if (missing) return `MountVolume.SetUp failed for volume "${volume.name}" : ${missing}`;
  }
  for (const name of claimNames(pod)) {
    const status = sources.get("persistentvolumeclaims", namespace, name)?.["status"];
    if (!isJsonObject(status) || status["phase"] !== "Bound") return `claim "${name}" is not bound`;
  }
  return undefined;
}

function mountedVolumes({ spec }: PodObject): ReadonlySet<string> {
  const containers = [...(spec.initContainers ?? []), ...spec.containers];
  return new Set(containers.flatMap(({ volumeMounts = [] }) => volumeMounts.map(({ name }) => name)));
}

/** Whether a pod's start may depend on this object. */
export function refersTo(pod: PodObject, resource: string, name: string): boolean {
  if (resource === "persistentvolumeclaims") return claimNames(pod).includes(name);
  const isConfigMap = resource === "configmaps";
  const inVolumes = (pod.spec.volumes ?? []).some(
    (volume) => (isConfigMap ? volume.configMap?.name : volume.secret?.secretName) === name,
  );
  if (inVolumes) return true;
  return [...(pod.spec.initContainers ?? []), ...pod.spec.containers].some(
    (container) =>
      (container.env ?? []).some(
        ({ valueFrom }) =>
          (isConfigMap ? valueFrom?.configMapKeyRef : valueFrom?.secretKeyRef)?.name === name,
      ) ||
      (container.envFrom ?? []).some(
        (from) => (isConfigMap ? from.configMapRef : from.secretRef)?.name === name,
      ),
  );
}
