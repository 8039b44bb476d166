/** What a rollout sees of the cluster, as plain data. */
import { keyOf, type ObjectMeta, objectRef, type Selector } from "../../kube/core/index.ts";
import { ownerKeyOf } from "../plan/owners.ts";
import type { ClusterReader, WritesInFlight } from "./cluster_reader.ts";
import { revisionsOf } from "./revisions/revisions.ts";
import type { ObservedRollout } from "./state.ts";

/** Revisions are read at once, what has a name or a node when the plan asks for it. */
export function observeRollout<Set extends { readonly metadata: ObjectMeta }>(
  set: Set,
  selector: Selector,
  reader: Omit<ClusterReader, "pods" | "claims" | "nodes">,
  writes: Pick<WritesInFlight, "failures">,
  { preDownload }: { readonly preDownload: boolean },
): ObservedRollout<Set> {
  const owner = ownerKeyOf(set.metadata);
  return {
    set,
    selector,
    revisions: revisionsOf(set.metadata, selector, reader),
    revisionData: (name) => reader.revisions.get(keyOf({ ...objectRef(set), name }))?.data,
    failures: writes.failures(owner),
    pullJobs: preDownload ? [...reader.pullJobs(owner)] : undefined,
    nodeImage: (node) => reader.nodeImage(node),
  };
}
