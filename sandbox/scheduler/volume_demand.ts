/** What a pod's claims mean for where it may run. */
import type { NodeSelectorTerm } from "../../kube/core/index.ts";
import type { Cluster } from "../cluster.ts";
import {
  claimNames,
  isClaim,
  isStorageClass,
  isVolume,
  type PodObject,
  selectedNodeAnnotation,
} from "../objects/index.ts";

interface ClaimsDemand {
  /** Why the pod cannot be placed at all yet. */
  readonly refusal: string | undefined;
  /** Node affinity of bound volumes. */
  readonly nodeTerms: readonly (readonly NodeSelectorTerm[])[];
  /** Claims that are bound only once a node is chosen. */
  readonly waitForNode: readonly string[];
}

export function claimsDemand(cluster: Cluster, pod: PodObject): ClaimsDemand {
  const namespace = pod.metadata.namespace ?? "";
  const nodeTerms: (readonly NodeSelectorTerm[])[] = [];
  const waitForNode: string[] = [];
  const refuse = (refusal: string): ClaimsDemand => ({ refusal, nodeTerms, waitForNode });
  for (const name of claimNames(pod)) {
    const claim = cluster.get("persistentvolumeclaims", { namespace, name });
    if (!isClaim(claim)) return refuse(`persistentvolumeclaim "${name}" not found`);
    if (claim.metadata.deletionTimestamp) return refuse(`persistentvolumeclaim "${name}" is being deleted`);
    if (claim.status?.phase === "Bound" && claim.spec.volumeName) {
      const volume = cluster.get("persistentvolumes", { name: claim.spec.volumeName });
      const terms = isVolume(volume) ? volume.spec.nodeAffinity?.required?.nodeSelectorTerms : undefined;
      if (terms) nodeTerms.push(terms);
    } else if (waitsForConsumer(cluster, claim.spec.storageClassName)) {
      waitForNode.push(name);
    } else {
      return refuse("pod has unbound immediate PersistentVolumeClaims");
    }
  }
  return { refusal: undefined, nodeTerms, waitForNode };
}

function waitsForConsumer(cluster: Cluster, className: string | undefined): boolean {
  if (!className) return false;
  const storageClass = cluster.get("storageclasses.storage.k8s.io", { name: className });
  return isStorageClass(storageClass) && storageClass.volumeBindingMode === "WaitForFirstConsumer";
}

/** Tells the volume binder where the first consumer will run. */
export function selectNode(cluster: Cluster, pod: PodObject, claims: readonly string[], node: string): void {
  for (const name of claims) {
    cluster.update("persistentvolumeclaims", { namespace: pod.metadata.namespace ?? "", name }, (draft) => {
      draft.metadata.annotations = { ...draft.metadata.annotations, [selectedNodeAnnotation]: node };
    });
  }
}
