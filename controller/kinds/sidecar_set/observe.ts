/** What a plan of a SidecarSet sees of the cluster. */
import type { SidecarSet } from "../../../crds/index.ts";
import type { Namespace, Pod, Reader } from "../../../kube/index.ts";
import { type OwnerKey, ownerKey } from "../../plan/owners.ts";
import { type ClusterReader, justStarted, type WritesInFlight } from "../../rollout/cluster_reader.ts";
import { byNumber } from "../../rollout/revisions/revisions.ts";
import { matchedNamespaces, SidecarIndex } from "./classify.ts";
import type { SidecarSetObserved } from "./state.ts";

export interface SidecarSetReader extends Pick<ClusterReader, "revisions" | "owned"> {
  readonly namespaces: Pick<Reader<Namespace>, "get">;
}

interface SidecarSetKnown {
  /** Of the pods that the set selects. */
  readonly index: SidecarIndex;
  /** Of this program. */
  readonly systemNamespace: string;
  /** Changes with the labels of any namespace. Default: they do not change while the index is used. */
  readonly namespacesVersion?: number | undefined;
}

/** A set has no namespace: its history is in that of the system. */
export function ownerOf(uid: string | undefined, systemNamespace: string): OwnerKey {
  return ownerKey(systemNamespace, uid ?? "");
}

export function observeSidecarSet(
  set: SidecarSet,
  { revisions, owned, namespaces }: SidecarSetReader,
  { index, systemNamespace, namespacesVersion = 0 }: SidecarSetKnown,
): SidecarSetObserved {
  const { namespaceSelector } = set.spec;
  const owner = ownerOf(set.metadata.uid, systemNamespace);
  return {
    set,
    pods: index,
    namespaces: matchedNamespaces(
      namespaceSelector,
      (name) => namespaces.get(name)?.labels,
      namespacesVersion,
    ),
    revisions: [...owned.revisions.of(owner)].sort(byNumber),
    revisionData: (name) => revisions.get(`${systemNamespace}/${name}`)?.data,
  };
}

/** Of the pods that a set selects, by `namespace/name`, wherever they are held. */
export function selectedIndex(
  held: readonly Pick<Reader<Pod>, "get" | "values">[],
  inFlight: () => ReturnType<WritesInFlight["pending"]> = justStarted.writes.pending,
): SidecarIndex {
  return new SidecarIndex({
    *pods() {
      for (const pods of held) yield* pods.values();
    },
    pod: (slot) => {
      for (const pods of held) {
        const pod = pods.get(slot);
        if (pod !== undefined) return pod;
      }
      return undefined;
    },
    inFlight,
  });
}
