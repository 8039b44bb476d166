/** Claims that grow with their templates during a rolling update. Spec: statefulset 4.11, 4.6 rule 20. */
import type { PersistentVolumeClaim as ClaimTemplate } from "../../../crds/index.ts";
import { isJsonObject, isQuantity, quantityCompare } from "../../../kube/core/index.ts";
import type { PersistentVolumeClaim } from "../../../kube/index.ts";
import type { Decisions } from "../../rollout/decisions.ts";
import { patchClaim } from "../../rollout/writes/claim_actions.ts";
import type { StatefulSetContext, StatefulSetState } from "./state.ts";
import { claimName, OWNED_BY_ANNOTATION, type StatefulSetMember } from "./strategy.ts";
import type { Unavailable } from "./unavailable.ts";

/** `go on`: the claims are as the pod's update needs them; `wait`: with the next pod; `stop`: with nothing more. */
type Growth = "go on" | "wait" | "stop";

/** Brings the claims of one candidate to the size of their templates, within the budget of the update. */
export function planClaimGrowth(
  state: StatefulSetState,
  decisions: Decisions,
  member: StatefulSetMember,
  unavailable: Unavailable,
): Growth {
  if (!state.strategy.resizesClaims) return "go on";
  const small: { template: ClaimTemplate; claim: PersistentVolumeClaim }[] = [];
  for (const { template, claim } of claimsOf(state, member.ordinal)) {
    if (!hasSameKind(template, claim)) return refuse(decisions, claim);
    if (!isLargeEnough(claim.requests["storage"], template)) small.push({ template, claim });
  }
  if (small.length === 0) {
    return claimsOf(state, member.ordinal).every(({ claim }) => isGrown(claim)) ? "go on" : "wait";
  }
  if (unavailable.size >= state.strategy.maxUnavailable && !unavailable.has(member.pod.name)) return "stop";
  unavailable.add(member.pod.name);
  if (decisions.isFree(member))
    for (const { template, claim } of small) grow(state, decisions, member, template, claim);
  return "wait";
}

/** A pod counts as unavailable while a claim of it is growing or does not fit its template. Rule 20. */
export function isHeldByClaim(state: StatefulSetContext, ordinal: number): boolean {
  if (!state.strategy.resizesClaims) return false;
  return claimsOf(state, ordinal).some(
    ({ template, claim }) => !isGrown(claim) || !hasSameKind(template, claim),
  );
}

function claimsOf(
  state: StatefulSetContext,
  ordinal: number,
): { template: ClaimTemplate; claim: PersistentVolumeClaim }[] {
  return state.strategy.claimTemplates.flatMap((template) => {
    const claim = stayingClaim(state, template, ordinal);
    return claim === undefined ? [] : [{ template, claim }];
  });
}

function stayingClaim(
  { observed, name }: StatefulSetContext,
  template: ClaimTemplate,
  ordinal: number,
): PersistentVolumeClaim | undefined {
  const claim = observed.claimNamed(claimName(template, name, ordinal));
  return claim?.deletionAt === undefined ? claim : undefined;
}

/** Whether the claim of an ordinal is as its template asks, and whether it holds what it asks for; undefined when it is not. */
export function fittingClaim(
  view: StatefulSetContext,
  template: ClaimTemplate,
  ordinal: number,
): { isHeld: boolean } | undefined {
  const claim = stayingClaim(view, template, ordinal);
  if (claim === undefined || !hasSameKind(template, claim)) return undefined;
  const wanted = claim.requests["storage"];
  if (!isLargeEnough(wanted, template)) return undefined;
  const held = claim.capacity["storage"];
  return { isHeld: held !== undefined && (wanted === undefined || quantityCompare(held, wanted) >= 0) };
}

function grow(
  state: StatefulSetState,
  decisions: Decisions,
  member: StatefulSetMember,
  template: ClaimTemplate,
  claim: PersistentVolumeClaim,
): void {
  const words = `Claim ${claim.name} Pod ${member.pod.name} in StatefulSet ${state.name}`;
  const body = {
    metadata: {
      uid: claim.uid,
      resourceVersion: claim.resourceVersion,
      annotations: { [OWNED_BY_ANNOTATION]: state.name },
    },
    spec: { resources: template.spec?.["resources"] ?? {} },
  };
  const action = patchClaim(claim, body, {
    succeeded: { reason: "SuccessfulResize", message: `resize ${words} success` },
    failed: {
      reason: "FailedResize",
      message: `resize Claim ${claim.name} for Pod ${member.pod.name} in StatefulSet ${state.name} failed error`,
    },
  });
  decisions.take(action);
}

function refuse(decisions: Decisions, claim: PersistentVolumeClaim): Growth {
  const message = `failed to update pvc ${claim.name}: contains diff other than spec resource, wait pvc to be deleted`;
  decisions.take({
    type: "event",
    event: { type: "Warning", reason: "FailedUpdatePVC", message },
  });
  decisions.wait({
    reason: "Claim",
    message,
    until: "the claim is deleted, or the template fits it",
  });
  return "stop";
}

/** Storage class and access modes; a template that names no class fits any. */
function hasSameKind(template: ClaimTemplate, claim: PersistentVolumeClaim): boolean {
  const wantedClass = template.spec?.["storageClassName"];
  if (typeof wantedClass === "string" && wantedClass !== (claim.storageClassName ?? "")) return false;
  const modes: unknown = template.spec?.["accessModes"];
  const wanted = Array.isArray(modes) ? modes : [];
  return (
    wanted.length === claim.accessModes.length && wanted.every((mode) => claim.accessModes.includes(mode))
  );
}

/** Whether `amount` reaches what the template asks for. */
function isLargeEnough(amount: string | undefined, template: ClaimTemplate): boolean {
  const resources = template.spec?.["resources"];
  const requests = isJsonObject(resources) ? resources["requests"] : undefined;
  const wanted = isJsonObject(requests) ? requests["storage"] : undefined;
  if (!isQuantity(wanted)) return true;
  return amount !== undefined && quantityCompare(amount, wanted) >= 0;
}

/** The volume has the size that the claim asks for, or needs only a restart of its pod to have it. */
function isGrown(claim: PersistentVolumeClaim): boolean {
  const wanted = claim.requests["storage"];
  const held = claim.capacity["storage"];
  if (wanted === undefined || (held !== undefined && quantityCompare(held, wanted) >= 0)) return true;
  return claim.conditions.some(({ type, status }) => type === "FileSystemResizePending" && status === "True");
}
