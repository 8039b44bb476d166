/** Claims of a StatefulSet's pods: creation, and who owns them. Spec: statefulset 4.10, 4.2 rule 5. */
import {
  apiVersionOf,
  type PersistentVolumeClaim as ClaimTemplate,
  statefulSet,
} from "../../../crds/index.ts";
import type { OwnerReference } from "../../../kube/core/index.ts";
import type { PersistentVolumeClaim } from "../../../kube/index.ts";
import type { Decisions } from "../../rollout/decisions.ts";
import { claimBody } from "../../rollout/pods/pod_manifest.ts";
import { type NewClaim, patchClaim } from "../../rollout/writes/claim_actions.ts";
import type { StatefulSetContext, StatefulSetState } from "./state.ts";
import { claimName, type StatefulSetMember } from "./strategy.ts";

/** When to look again at a claim whose end nobody tells us about. */
const CLAIM_POLL_MS = 1000;

/** The claims that a pod of the ordinal needs and that do not exist, or why they cannot be had now. */
export function missingClaims(
  state: StatefulSetContext,
  ordinal: number,
): { claims: NewClaim[]; blocked: string | undefined } {
  const claims: NewClaim[] = [];
  let blocked: string | undefined;
  for (const template of state.strategy.claimTemplates) {
    const name = claimName(template, state.name, ordinal);
    const present = state.observed.claimNamed(name);
    if (present === undefined) claims.push(newClaim(state, template, name, ordinal));
    else if (present.deletionAt !== undefined) blocked ??= `pvc ${name} is to be deleted`;
  }
  return { claims, blocked };
}

function newClaim(
  state: StatefulSetContext,
  template: ClaimTemplate,
  name: string,
  ordinal: number,
): NewClaim {
  const pod = `${state.name}-${ordinal}`;
  const { matchLabels } = state.observed.set.spec.selector;
  const owner = ownersWanted(state, true).set ? setReference(state) : undefined;
  return {
    name,
    body: claimBody(template, name, state.namespace, matchLabels ?? {}, owner),
    succeeded: {
      reason: "SuccessfulCreate",
      message: `create Claim ${name} Pod ${pod} in StatefulSet ${state.name} success`,
    },
    failed: {
      reason: "FailedCreate",
      message: `create Claim ${name} for Pod ${pod} in StatefulSet ${state.name} failed error`,
    },
  };
}

/**
 * Whether a claim of the ordinal still belongs to a former pod of the same name, with which it will go (rule 38).
 * Its end enqueues nothing, so the pass looks again after a while.
 */
export function waitsForFormerPod(state: StatefulSetState, decisions: Decisions, ordinal: number): boolean {
  if (!state.options.deletesClaims) return false;
  const pod = `${state.name}-${ordinal}`;
  const held = state.strategy.claimTemplates.some((template) => {
    const claim = state.observed.claimNamed(claimName(template, state.name, ordinal));
    return claim?.owners.some((owner) => owner.kind === "Pod" && owner.name === pod) ?? false;
  });
  if (!held) return false;
  decisions.wait({
    reason: "ClaimOfFormerPod",
    message: `pod ${pod} waits: a claim still belongs to its predecessor`,
    until: "the claim is collected",
    pods: [pod],
  });
  decisions.requeueAfter(CLAIM_POLL_MS);
  return true;
}

/** A claim that is being deleted keeps its pod from being created. */
export function tellBlockedClaim(
  state: StatefulSetState,
  decisions: Decisions,
  ordinal: number,
  why: string,
): void {
  const pod = `${state.name}-${ordinal}`;
  const message = `create Pod ${pod} in StatefulSet ${state.name} failed error: ${why}`;
  decisions.take({ type: "event", event: { type: "Warning", reason: "FailedCreate", message } });
  decisions.wait({ reason: "Claim", message, until: "the claim is gone", pods: [pod] });
  decisions.requeueAfter(CLAIM_POLL_MS);
}

/**
 * Corrects the owners of an existing pod's claims (rule 37). False when one is not stored as it should be yet: a
 * condemned pod must not go before its claims are bound to it, or they would stay behind.
 */
export function planClaimOwners(
  state: StatefulSetState,
  decisions: Decisions,
  member: StatefulSetMember,
): boolean {
  const wrong = wrongOwners(state, member);
  for (const { claim, changes } of wrong) {
    const body = {
      metadata: { uid: claim.uid, resourceVersion: claim.resourceVersion, ownerReferences: changes },
    };
    decisions.take(patchClaim(claim, body));
  }
  return wrong.length === 0;
}

/** Whether `planClaimOwners` has something to correct. */
export function hasWrongOwners(view: StatefulSetContext, member: StatefulSetMember): boolean {
  return wrongOwners(view, member).length > 0;
}

/** Whether a write of a claim of this pod is under way, which may have been decided for another scale. */
export function areClaimsWritten(
  { strategy, name, observed }: StatefulSetContext,
  { ordinal }: StatefulSetMember,
) {
  return strategy.claimTemplates.some((template) =>
    observed.isClaimWritten(claimName(template, name, ordinal)),
  );
}

function wrongOwners(
  view: StatefulSetContext,
  member: StatefulSetMember,
): { claim: PersistentVolumeClaim; changes: object[] }[] {
  if (!view.options.deletesClaims) return [];
  return view.strategy.claimTemplates.flatMap((template) => {
    const claim = view.observed.claimNamed(claimName(template, view.name, member.ordinal));
    if (claim === undefined || claim.deletionAt !== undefined) return [];
    const changes = ownerChanges(view, member, claim);
    return changes.length === 0 ? [] : [{ claim, changes }];
  });
}

function ownersWanted(state: StatefulSetContext, inWindow: boolean): { set: boolean; pod: boolean } {
  const { whenScaled, whenDeleted } = state.strategy.deleteClaims;
  return { set: whenDeleted && (inWindow || !whenScaled), pod: whenScaled && !inWindow };
}

function ownerChanges(
  state: StatefulSetContext,
  member: StatefulSetMember,
  claim: PersistentVolumeClaim,
): object[] {
  const wanted = ownersWanted(state, member.inWindow);
  const changes: object[] = [];
  let hasSet = false;
  let hasPod = false;
  for (const owner of claim.owners) {
    if (owner.uid === state.uid) {
      if (wanted.set) hasSet = true;
      else changes.push({ $patch: "delete", uid: owner.uid });
    } else if (owner.kind === "Pod" && owner.name === member.pod.name) {
      if (wanted.pod && owner.uid === member.pod.uid) hasPod = true;
      else changes.push({ $patch: "delete", uid: owner.uid });
    }
  }
  if (wanted.set && !hasSet) changes.push(setReference(state));
  if (wanted.pod && !hasPod)
    changes.push({ apiVersion: "v1", kind: "Pod", name: member.pod.name, uid: member.pod.uid });
  return changes;
}

function setReference(state: StatefulSetContext): OwnerReference {
  return { apiVersion: apiVersionOf(statefulSet), kind: statefulSet.kind, name: state.name, uid: state.uid };
}
