/** Actions on claims, and what other actions do with them. Pure. */
import type { PersistentVolumeClaim } from "../../../kube/index.ts";
import type { ObjectBody } from "../../plan/effects.ts";
import { failureOf, otherAction, type Reports, successOf, targetOf } from "./action_parts.ts";
import type { OtherAction, Refusal } from "./actions.ts";

export interface NewClaim extends Reports {
  readonly name: string;
  readonly body: ObjectBody;
}

export function createClaim(namespace: string, claim: NewClaim): OtherAction {
  return otherAction("create claim", claimCreation(namespace, claim), { flow: "creations" });
}

export function patchClaim(claim: PersistentVolumeClaim, body: object, reports: Reports = {}): OtherAction {
  const message = `failed to update PVC ${claim.name}: {error}`;
  return otherAction("patch claim", {
    ...targetOf("claims", claim),
    type: "patch",
    patch: { type: "strategic", body },
    succeeded: successOf(reports),
    failed: failureOf(reports, { reason: "FailedUpdate", message }),
  });
}

export function deleteClaim(claim: PersistentVolumeClaim): OtherAction {
  const message = `failed to clean up PVC ${claim.name}: {error}`;
  const failed = failureOf({}, { reason: "FailedDelete", message });
  return otherAction("delete claim", claimDeletion(claim, { failed }));
}

/** A claim that is there already is skipped. */
export function claimCreation(namespace: string, claim: NewClaim) {
  const { name, body } = claim;
  const message = `failed to create pvc: {error}, pvc: ${JSON.stringify({ namespace, name })}`;
  return {
    ...targetOf("claims", { namespace, name }),
    type: "create",
    body,
    existing: "unread",
    whenRaced: "report",
    succeeded: successOf(claim),
    failed: failureOf(claim, { reason: "FailedCreate", message }),
    condition: { part: "scale", message },
  } as const;
}

/** Of a pod that was deleted before it. */
export function claimDeletionWithPod(claim: PersistentVolumeClaim) {
  const message = `failed to delete pvc ${claim.name}: {error}`;
  const failed = failureOf({}, { reason: "FailedDelete", message });
  return claimDeletion(claim, { failed, condition: { part: "scale", message } });
}

function claimDeletion(claim: PersistentVolumeClaim, refusal: Refusal) {
  return { ...targetOf("claims", claim), type: "delete", uid: claim.uid, ...refusal } as const;
}
