/** Claims of a StatefulSet's pods. */
import { cloneJson } from "../../kube/core/index.ts";
import type { ClaimObject, StatefulSetObject } from "../objects/index.ts";
import type { WorkloadDeps } from "./workload.ts";

const claims = "persistentvolumeclaims";

export function claimName(set: StatefulSetObject, template: ClaimObject, ordinal: number): string {
  return `${template.metadata.name}-${set.metadata.name}-${ordinal}`;
}

/** Creates the claims of one ordinal that are missing; existing ones are used again. */
export function ensureClaims(deps: WorkloadDeps, set: StatefulSetObject, ordinal: number): void {
  const namespace = set.metadata.namespace ?? "";
  const goesWithSet = set.spec.persistentVolumeClaimRetentionPolicy?.whenDeleted === "Delete";
  for (const template of set.spec.volumeClaimTemplates ?? []) {
    const name = claimName(set, template, ordinal);
    if (deps.cluster.get(claims, { namespace, name })) continue;
    const { name: setName = "", uid = "" } = set.metadata;
    deps.cluster.create(claims, {
      apiVersion: "v1",
      kind: "PersistentVolumeClaim",
      metadata: {
        namespace,
        name,
        labels: { ...template.metadata.labels, ...set.spec.selector?.matchLabels },
        ...(template.metadata.annotations ? { annotations: { ...template.metadata.annotations } } : {}),
        ...(goesWithSet
          ? { ownerReferences: [{ apiVersion: "apps/v1", kind: "StatefulSet", name: setName, uid }] }
          : {}),
      },
      spec: cloneJson(template.spec),
      status: { phase: "Pending" },
    });
  }
}

/** Removes claims of ordinals that the set no longer has, when it says so. */
export function removeClaims(deps: WorkloadDeps, set: StatefulSetObject, ordinals: readonly number[]): void {
  if (set.spec.persistentVolumeClaimRetentionPolicy?.whenScaled !== "Delete") return;
  const namespace = set.metadata.namespace ?? "";
  const kept = new Set(ordinals);
  for (const template of set.spec.volumeClaimTemplates ?? []) {
    const prefix = `${template.metadata.name}-${set.metadata.name}-`;
    for (const claim of deps.cluster.list(claims, namespace)) {
      const { name = "" } = claim.metadata;
      const rest = name.startsWith(prefix) ? name.slice(prefix.length) : "";
      if (/^\d+$/.test(rest) && !kept.has(Number(rest))) deps.cluster.remove(claims, { namespace, name });
    }
  }
}
