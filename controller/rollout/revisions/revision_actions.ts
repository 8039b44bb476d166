/** Actions on ControllerRevisions. Pure. */
import type { ObjectMeta, OwnerReference } from "../../../kube/core/index.ts";
import type { ControllerRevision } from "../../../kube/index.ts";
import { otherAction, targetOf } from "../writes/action_parts.ts";
import type { OtherAction } from "../writes/actions.ts";
import type { Revision, RevisionSearch } from "./revisions.ts";

/** The data is no part of the body, because it goes out byte for byte. */
export function createRevision(
  { name, number, data }: Pick<Revision, "name" | "number" | "data">,
  metadata: Pick<ObjectMeta, "labels" | "annotations" | "ownerReferences"> & { readonly namespace: string },
): OtherAction {
  const body = {
    apiVersion: "apps/v1",
    kind: "ControllerRevision",
    metadata: { name, ...metadata },
    revision: number,
  };
  const target = targetOf("revisions", { namespace: metadata.namespace, name });
  const creation = { ...target, type: "create", body, texts: { data }, existing: "any" } as const;
  const action = otherAction("create revision", creation, { blocks: true });
  return { ...action, effects: [{ type: "confirm object", priority: "high" }, ...action.effects] };
}

/** By a merge patch. */
export function patchRevision(revision: ControllerRevision, body: object): OtherAction {
  const patch = { type: "merge", body } as const;
  const write = { ...targetOf("revisions", revision), type: "patch", patch } as const;
  return otherAction("patch revision", write, { blocks: true });
}

export function deleteRevision(revision: ControllerRevision): OtherAction {
  const { uid, resourceVersion } = revision;
  const target = targetOf("revisions", revision);
  const deletion = { ...target, type: "delete", uid, resourceVersion } as const;
  return otherAction("delete revision", deletion, { blocks: true });
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
): OtherAction[] {
  return revisions.flatMap((revision): OtherAction[] => {
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
    return [patchRevision(revision, body)];
  });
}
