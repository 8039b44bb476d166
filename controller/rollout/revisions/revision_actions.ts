/** Writes of ControllerRevisions, as actions. Pure. */
import type { ObjectMeta, OwnerReference } from "../../../kube/core/index.ts";
import type { ControllerRevision } from "../../../kube/index.ts";
import type { RevisionAction } from "../writes/actions.ts";
import type { Revision, RevisionSearch } from "./revisions.ts";

/** The data is no part of the body, because it goes out byte for byte. */
export function createRevision(
  { name, number, data }: Pick<Revision, "name" | "number" | "data">,
  metadata: Pick<ObjectMeta, "namespace" | "labels" | "annotations" | "ownerReferences">,
): RevisionAction {
  const body = {
    apiVersion: "apps/v1",
    kind: "ControllerRevision",
    metadata: { name, ...metadata },
    revision: number,
  };
  return { type: "create revision", name, body, data };
}

/**
 * Renumbers the update revision, and adopts those of `revisions` that have no controller, so that they are collected with
 * `owner`. `annotations`: what a renumbered revision gets besides.
 */
export function maintainRevisions(
  revisions: readonly ControllerRevision[],
  { update, write }: Pick<RevisionSearch, "update" | "write">,
  owner: OwnerReference,
  annotations?: ObjectMeta["annotations"],
): RevisionAction[] {
  return revisions.flatMap((revision): RevisionAction[] => {
    const renumber = write === "renumber" && revision === update.stored;
    const orphaned = !revision.owners.some(({ controller }) => controller);
    if (!renumber && !orphaned) return [];
    const { uid, resourceVersion, owners } = revision;
    const metadata = {
      uid,
      resourceVersion,
      ...(renumber && annotations !== undefined ? { annotations } : {}),
      ...(orphaned ? { ownerReferences: [...owners, owner] } : {}),
    };
    const body = renumber ? { metadata, revision: update.number } : { metadata };
    return [{ type: "patch revision", revision, body }];
  });
}
