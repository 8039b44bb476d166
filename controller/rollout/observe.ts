/** What a rollout sees in the caches, as plain data. */
import { keyOf, type ObjectMeta, objectRef, type Selector } from "../../kube/core/index.ts";
import { ownerKeyOf } from "../plan/owners.ts";
import type { Performer } from "../runtime/executor/perform.ts";
import type { Caches } from "../runtime/kind.ts";
import type { SeenRollout } from "./pass.ts";
import { revisionsOf } from "./revisions/revisions.ts";

/** The caches are asked for revisions at once, for what has a name or a node when the plan wants it. */
export function observeRollout<Set extends { readonly metadata: ObjectMeta }>(
  set: Set,
  selector: Selector,
  caches: Pick<Caches, "owned" | "revisions" | "pullJobs" | "nodeImage">,
  performer: Pick<Performer, "failures">,
  { preDownload }: { readonly preDownload: boolean },
): SeenRollout<Set> {
  const owner = ownerKeyOf(set.metadata);
  return {
    set,
    revisions: revisionsOf(set.metadata, selector, caches),
    revisionData: (name) => caches.revisions.get(keyOf({ ...objectRef(set), name }))?.data,
    failures: performer.failures(owner),
    pullJobs: preDownload ? [...caches.pullJobs(owner)] : undefined,
    nodeImage: (node) => caches.nodeImage(node),
  };
}
