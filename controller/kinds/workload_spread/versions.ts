/** Which version of its workload a pod is of: each has a ledger of its own. Spec: workloadspread 3. */
import type { Labels } from "../../../kube/core/index.ts";

/** Of workloads whose pods are counted together, whatever their template was. */
export const versionIgnored = "versionIgnored";

const versioned: ReadonlySet<string> = new Set(["ReplicaSet", "Deployment"]);

/** `ownerKind`: of the pod's controller owner. */
export function versionOf(ownerKind: string, labels: Labels): string {
  if (!versioned.has(ownerKind)) return versionIgnored;
  const revision = labels["controller-revision-hash"] ?? "";
  return labels["pod-template-hash"] || revision.slice(revision.lastIndexOf("-") + 1) || versionIgnored;
}
