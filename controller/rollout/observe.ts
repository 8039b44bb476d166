/** What a rollout sees in the caches, as plain data. */
import type { ObjectMeta, Selector } from "../../kube/core/index.ts";
import type { Caches } from "../kind.ts";
import type { SeenRollout } from "./pass.ts";
import { revisionsOf } from "./revisions/revisions.ts";
import type { Performer } from "./writes/perform.ts";

/** The caches are asked for revisions at once, for what has a name or a node when the plan wants it. */
export function observeRollout<Set extends { readonly metadata: ObjectMeta }>(
  set: Set,
  selector: Selector,
  caches: Pick<Caches, "revisions" | "pullJobs" | "nodeImage">,
  performer: Pick<Performer, "failures">,
  { preDownload }: { readonly preDownload: boolean },
): SeenRollout<Set> {
  const { uid = "", namespace = "" } = set.metadata;
  return {
    set,
    revisions: revisionsOf(set.metadata, selector, caches.revisions),
    revisionData: (name) => caches.revisions.get(`${namespace}/${name}`)?.data,
    failures: performer.failures(uid),
    pullJobs: preDownload ? [...caches.pullJobs(uid)] : undefined,
    nodeImage: (node) => caches.nodeImage(node),
  };
}
