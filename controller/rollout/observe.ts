/** What a rollout sees in the caches, as plain data. */
import type { NodeImage } from "../../crds/index.ts";
import { keyOf, type ObjectMeta, objectRef, type Selector } from "../../kube/core/index.ts";
import type { ControllerRevision, Reader } from "../../kube/index.ts";
import { type Dependants, type OwnerKey, ownerKeyOf } from "../plan/owners.ts";
import type { ObservedPullJob } from "./images/image_wait.ts";
import { revisionsOf } from "./revisions/revisions.ts";
import type { ObservedRollout } from "./state.ts";

/** What is asked of the caches that all kinds share. */
interface RolloutCaches {
  readonly owned: { readonly revisions: Dependants<ControllerRevision> };
  readonly revisions: Pick<Reader<ControllerRevision>, "get" | "byIndex">;
  pullJobs(owner: OwnerKey): Iterable<ObservedPullJob>;
  nodeImage(node: string): NodeImage | undefined;
}

interface FailedWrites {
  failures(owner: OwnerKey): ObservedRollout<unknown>["failures"];
}

/** The caches are asked for revisions at once, for what has a name or a node when the plan wants it. */
export function observeRollout<Set extends { readonly metadata: ObjectMeta }>(
  set: Set,
  selector: Selector,
  caches: RolloutCaches,
  performer: FailedWrites,
  { preDownload }: { readonly preDownload: boolean },
): ObservedRollout<Set> {
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
