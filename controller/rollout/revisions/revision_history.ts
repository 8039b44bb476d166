/** Which former revisions of a workload go. Spec: inplace-update rule 13. */
import type { ControllerRevision } from "../../../kube/index.ts";
import type { OtherAction } from "../writes/actions.ts";
import { deleteRevision } from "./revision_actions.ts";
import { countedRevisions } from "./revision_counts.ts";
import { type Revision, shortHash, surplusRevisions } from "./revisions.ts";

interface History {
  readonly observed: {
    readonly set: { readonly spec: { readonly revisionHistoryLimit?: number } };
    /** Sorted by number. */
    readonly revisions: readonly ControllerRevision[];
  };
  readonly update: Revision;
  readonly current: Revision;
  readonly pods: { readonly counted: Iterable<string> };
}

/** Those that neither the status nor a pod names, beyond the limit of the workload. */
export function planHistory({ observed, update, current, pods }: History): OtherAction[] {
  const limit = observed.set.spec.revisionHistoryLimit ?? 10;
  if (observed.revisions.length <= limit) return [];
  const live = new Set([shortHash(update.name), shortHash(current.name)]);
  for (const label of countedRevisions(pods.counted)) live.add(shortHash(label));
  const surplus = surplusRevisions(observed.revisions, live, limit);
  return surplus.map(deleteRevision);
}
