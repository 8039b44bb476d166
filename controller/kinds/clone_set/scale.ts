/** Creating and deleting pods. Spec: cloneset 4.3, 4.5, 4.6, 4.8 rules 50 to 53. */

import type { PodTemplate } from "../../../crds/index.ts";
import { counted } from "../../../kube/core/index.ts";
import type { PersistentVolumeClaim, Pod } from "../../../kube/index.ts";
import type { Decisions } from "../../rollout/decisions.ts";
import { backFromDeletion, preparingDelete } from "../../rollout/lifecycle/hooks.ts";
import { isHooked, STATE_LABEL, STATE_TIME, timestamp } from "../../rollout/lifecycle/lifecycle.ts";
import { waitingForHook } from "../../rollout/lifecycle/waiting.ts";
import {
  claimBody,
  ownerReference,
  randomId,
  withClaimVolumes,
  withGates,
} from "../../rollout/pods/pod_manifest.ts";
import { IN_PLACE_READY, isActive, isAvailable } from "../../rollout/pods/pod_state.ts";
import { membersOf } from "../../rollout/pods/pod_view.ts";
import { type Revision, shortHash, templateOf } from "../../rollout/revisions/revisions.ts";
import type { PodCreation, PodDeletion } from "../../rollout/writes/actions.ts";
import { createClaim, deleteClaim, patchClaim } from "../../rollout/writes/claim_actions.ts";
import { isBeingCreated } from "../../rollout/writes/pending_pods.ts";
import { createPod, deletePod, patchPod, writePod } from "../../rollout/writes/pod_actions.ts";
import { podWrite } from "../../rollout/writes/pod_patch.ts";
import { deletionOrder } from "./order.ts";
import type { CloneSetState } from "./state.ts";
import { type CloneSetMember, INSTANCE_ID, instanceId, REVISION_LABEL, TEMPLATE_HASH } from "./strategy.ts";

/**
 * Creation, or, when nothing is missing, deletion: never both in one pass (rule 30). But where nothing may be created, what its hook
 * has let go still goes: it may be what uses up the limit of creations.
 */
export function planScale(state: CloneSetState, decisions: Decisions): void {
  if (planCancelDeletion(state, decisions)) return;
  const { missing, createLimit } = state.numbers;
  if (missing > 0) planCreation(state, decisions);
  if (missing > 0 && createLimit > 0) return;
  finishDeletions(state, decisions);
  if (missing === 0) planDeletion(state, decisions);
}

function planCreation(state: CloneSetState, decisions: Decisions): void {
  const { numbers, pods } = state;
  if (numbers.createLimit < numbers.missing) {
    const message = `scaleUp is limited because of scaleStrategy.maxUnavailable, limit: ${numbers.createLimit}`;
    decisions.take({ type: "event", event: { type: "Warning", reason: "ScaleUpLimited", message } });
    decisions.wait({
      reason: "ScaleLimit",
      message: `${counted(numbers.missing, "pod is", "pods are")} missing, ${numbers.createLimit} may be created now`,
      until: "more pods are available, or scaleStrategy.maxUnavailable is raised",
    });
  }
  // A successor sent before a deletion is answered may be stored first: more pods than replicas and maxSurge allow.
  const awaited = pods.count("deleting") + awaitedBack(state);
  const wanted = Math.max(0, Math.min(numbers.createLimit, numbers.missing - awaited));
  const count = Math.min(wanted, state.observed.creationRoom);
  if (count < wanted)
    decisions.wait({
      reason: "Burst",
      message: `${counted(wanted, "pod is", "pods are")} missing, ${count} may be created now`,
      until: "those under way are created",
    });
  if (count === 0) return;
  const ids = freeInstanceIds(state);
  const oldOnes = Math.min(numbers.missingOld, count);
  for (let index = 0; index < count; index++) {
    const id = ids.next();
    if (id !== undefined) {
      decisions.take(createCloneSetPod(state, index < oldOnes ? state.current : state.update, id));
      continue;
    }
    decisions.wait({
      reason: "Terminating",
      message: "a pod whose claims and name are used again is still terminating",
      until: "that pod is gone",
    });
  }
}

/** Pods whose way out is not answered yet, and that come back once it is: where they do not count, nothing is made for them. */
function awaitedBack(state: CloneSetState): number {
  if (!state.strategy.excludePreparingDelete) return 0;
  const leaving = revocable(state).filter((member) => member.busy);
  return Math.min(leaving.length, state.numbers.wantedBack);
}

/**
 * Free ids of claims that lost their pod come first, so that the new pod takes over name and claims (rule 19);
 * as long as the old pod is still terminating the next one waits for it. A finished pod keeps its name: it is
 * passed over, since nothing will ever remove it.
 */
function freeInstanceIds(state: CloneSetState): { next(): string | undefined } {
  const inUse = new Set<string>();
  const terminating = new Set<string>();
  for (const pod of state.pods.pods()) {
    inUse.add(idOf(state, pod));
    if (pod.deletionAt !== undefined) terminating.add(idOf(state, pod));
  }
  const reusable = new Set<string>();
  const blocked = new Set<string>();
  for (const claim of state.strategy.reuseClaims ? state.observed.claims : []) {
    const id = instanceId(claim);
    if (id === "" || claim.deletionAt !== undefined || !isOwnClaim(state, claim)) continue;
    if (!inUse.has(id)) {
      // Somebody has taken the pod from the set: its name is in use, and so are its claims.
      if (state.observed.podNamed(`${state.name}-${id}`) === undefined) reusable.add(id);
    } else if (terminating.has(id)) blocked.add(id);
  }
  const reused = reusable.values();
  const waitedFor = blocked.values();
  return {
    next() {
      const id = reused.next().value;
      if (id !== undefined) return id;
      if (waitedFor.next().value !== undefined) return undefined;
      return freshId(inUse, state.random);
    },
  };
}

function freshId(inUse: Set<string>, random: () => number): string {
  for (;;) {
    const id = randomId(random);
    if (inUse.has(id)) continue;
    inUse.add(id);
    return id;
  }
}

/** Its label may be gone, its name stays; one that was adopted may have any name. */
function idOf({ name }: CloneSetState, pod: Pod): string {
  const id = instanceId(pod);
  if (id !== "" || !pod.name.startsWith(`${name}-`)) return id;
  return pod.name.slice(name.length + 1);
}

function claimsOf(state: CloneSetState, pod: Pod): PersistentVolumeClaim[] {
  const id = idOf(state, pod);
  return state.observed.claims.filter(
    (claim) =>
      id !== "" && instanceId(claim) === id && claim.deletionAt === undefined && isOwnClaim(state, claim),
  );
}

function isOwnClaim(state: CloneSetState, claim: PersistentVolumeClaim): boolean {
  return claim.owners.some((owner) => owner.uid === state.uid);
}

/** Claims of an instance, those alone whose names are asked for: rule 17. */
function claimsFor(
  { observed: { set }, name: setName, uid, namespace }: CloneSetState,
  id: string,
  isWanted: (name: string) => boolean = () => true,
) {
  const owner = ownerReference("CloneSet", setName, uid);
  const labels = { ...set.spec.selector.matchLabels, [INSTANCE_ID]: id };
  return (set.spec.volumeClaimTemplates ?? []).flatMap((template) => {
    const volume = template.metadata?.name ?? "";
    const name = `${volume}-${setName}-${id}`;
    return isWanted(name)
      ? [{ volume, name, body: claimBody(template, name, namespace, labels, owner) }]
      : [];
  });
}

function createCloneSetPod(state: CloneSetState, revision: Revision, id: string): PodCreation {
  const template = templateFor(state, revision);
  const claims = claimsFor(state, id);
  const spec = withGates(
    withClaimVolumes(
      template,
      claims.map(({ volume, name }) => ({ volume, claim: name })),
    ),
    [IN_PLACE_READY],
  );
  const name = `${state.name}-${id}`;
  const metadata = {
    name,
    namespace: state.namespace,
    generateName: `${state.name}-`,
    labels: {
      ...template.metadata?.labels,
      ...revisionLabels(state, revision),
      [INSTANCE_ID]: id,
      [STATE_LABEL]: "PreparingNormal",
    },
    annotations: { ...template.metadata?.annotations, [STATE_TIME]: timestamp(state.now) },
    ...(template.metadata?.finalizers ? { finalizers: template.metadata.finalizers } : {}),
    ownerReferences: [ownerReference("CloneSet", state.name, state.uid)],
  };
  const present = new Set(state.observed.claims.map((claim) => claim.name));
  return createPod(metadata, spec, state.now, {
    claims: claims
      .filter((claim) => !present.has(claim.name))
      .map(({ name: claim, body }) => ({ name: claim, body })),
    succeeded: { reason: "SuccessfulCreate", message: `succeed to create pod ${name}` },
  });
}

/** The revision labels of a pod: the full name or, by gate, the bare hash. Rule 15. */
export function revisionLabels(state: CloneSetState, revision: Revision): Record<string, string> {
  const hash = shortHash(revision.name);
  return { [REVISION_LABEL]: state.options.shortHash ? hash : revision.name, [TEMPLATE_HASH]: hash };
}

function templateFor(state: CloneSetState, revision: Revision): PodTemplate {
  if (revision === state.update) return state.observed.set.spec.template;
  const { spec, ...stored } = templateOf(revision.data) ?? {};
  return spec === undefined ? state.observed.set.spec.template : { ...stored, spec };
}

/** Pods that are about to be deleted, and may come back as long as nothing was done to them for it (rule 53). */
function revocable(state: CloneSetState): CloneSetMember[] {
  const lifecycle = state.strategy.lifecycle;
  if (lifecycle?.preDelete?.markPodNotReady || lifecycle?.inPlaceUpdate?.markPodNotReady) return [];
  return membersIn(state, "preparingDelete").filter((member) => !member.specified);
}

/** Pods that were about to be deleted are wanted again (rule 53). True when there are any. */
function planCancelDeletion(state: CloneSetState, decisions: Decisions): boolean {
  const held = revocable(state).filter((member) => !member.busy);
  const kept = Math.min(held.length, state.numbers.wantedBack);
  if (kept === 0) return false;
  const order = deletionOrder(held, state.topology);
  for (const { pod } of order.slice(order.length - kept))
    decisions.take(patchPod(pod, backFromDeletion(pod, state.now), state.now, "scale"));
  return true;
}

/** Pods that are about to be deleted, once their hooks let them go. */
function finishDeletions(state: CloneSetState, decisions: Decisions): void {
  const hook = state.strategy.lifecycle?.preDelete;
  for (const member of membersIn(state, "preparingDelete")) {
    if (member.busy) continue;
    if (!isHooked(member.pod, hook)) decisions.take(deleteMember(state, member));
    else decisions.wait(waitingForHook(member.pod, "preDelete", hook, "off"));
  }
}

function planDeletion(state: CloneSetState, decisions: Decisions): void {
  const { now, pods } = state;
  const hook = state.strategy.lifecycle?.preDelete;
  const specified = membersIn(state, "specified");
  const held: string[] = [];
  // Also ready ones are out of service while a hook or an update in place holds them: nobody waits for their end.
  const isServing = ({ pod }: CloneSetMember): boolean => isAvailable(pod, 0, now);
  // Deletions in flight have spent their part of the limit already: their pods are not among the members. Specified pods out of
  // service have not: rule 23 leaves them out.
  const { deleteReadyLimit } = state.numbers;
  let readyLimit = deleteReadyLimit - specified.filter((member) => !isServing(member)).length;
  let availableLimit = deleteReadyLimit - specified.filter(({ available }) => !available).length;
  const isBusy = pods.groups.preparingDelete.size > 0 || specified.length > 0;
  const chosen = isBusy ? specified : surplusMembers(state);
  for (const member of chosen) {
    const { pod, busy } = member;
    const serves = isServing(member);
    if ((serves && readyLimit <= 0) || (member.available && availableLimit <= 0)) {
      held.push(pod.name);
      continue;
    }
    if (serves) readyLimit--;
    if (member.available) availableLimit--;
    if (busy) continue;
    decisions.take(
      isHooked(pod, hook)
        ? patchPod(pod, preparingDelete(pod, hook, now), now, "scale")
        : deleteMember(state, member),
    );
  }
  if (held.length === 0) return;
  decisions.wait({
    reason: "Budget",
    message: `${counted(held.length, "ready pod waits", "ready pods wait")} to be deleted: maxUnavailable allows no more unavailable pods`,
    until: "other pods become available, or maxUnavailable is raised",
    pods: held.slice(0, 10),
  });
}

/** Scale-in: pods of the old revision first, each class in its own order (rule 27, 37); the classes are those of the numbers. */
function surplusMembers(state: CloneSetState): CloneSetMember[] {
  const { numbers, options } = state;
  if (numbers.surplus <= 0) return [];
  const staying = [...membersOf(state.pods.every())].filter((member) => member.state !== "PreparingDelete");
  const isNew = (member: CloneSetMember): boolean =>
    member.updated || (options.preparingUpdateAsUpdate && member.state === "PreparingUpdate");
  const old = deletionOrder(
    staying.filter((member) => !isNew(member)),
    state.topology,
  ).slice(0, numbers.surplusOld);
  const updated = deletionOrder(staying.filter(isNew), state.topology);
  const chosen = [...old, ...updated.slice(0, numbers.surplus - numbers.surplusOld)];
  // Creations that are not answered may be refused: nothing goes in their place until they are.
  const created = staying.filter(({ pod }) => isBeingCreated(pod)).length;
  if (created === 0) return chosen;
  return chosen.filter(({ pod }) => !isBeingCreated(pod)).slice(0, Math.max(0, numbers.surplus - created));
}

/** By name. */
function membersIn(
  { pods }: CloneSetState,
  group: "preparingDelete" | "specified" | "unavailable",
): CloneSetMember[] {
  return [...membersOf(pods.entries(pods.groups[group]))];
}

function deleteMember(state: CloneSetState, { pod }: CloneSetMember): PodDeletion {
  return deletePod(pod, {
    claims: claimsOf(state, pod),
    succeeded: { reason: "SuccessfulDelete", message: `succeed to delete pod ${pod.name}` },
  });
}

/**
 * Owned pods whose labels no longer match lose the owner and live on (rule 5), with their claims: left to the set, these would be
 * deleted under them, or be used again under a name that is taken.
 */
export function planRelease(state: CloneSetState, decisions: Decisions): void {
  const { pods, uid, now } = state;
  for (const { pod } of pods.entries(pods.groups.toRelease)) {
    const claims = claimsOf(state, pod);
    for (const claim of claims) decisions.take(patchClaim(claim, podOwnedClaim(state, claim, pod)));
    if (claims.length === 0)
      decisions.take(writePod(pod, podWrite(pod, { releaseOwner: uid }, now), "scale"));
  }
}

/** Claims of vanished pods when they are not to be used again (rule 20). */
export function planClaims(state: CloneSetState, decisions: Decisions): void {
  const { claims } = state.observed;
  if (state.strategy.reuseClaims || claims.length === 0) return;
  const { toRelease } = state.pods.groups;
  // Its deletion may be refused: while the server shows it as active, its claims are not left to it.
  const isBeingDeleted = ({ name }: Pod): boolean => state.pods.at(name)?.stored !== undefined;
  const pods = new Map(state.pods.pods().map((pod) => [idOf(state, pod), pod]));
  for (const claim of claims) {
    const id = instanceId(claim);
    if (id === "" || claim.deletionAt !== undefined || !isOwnClaim(state, claim)) continue;
    const pod = pods.get(id);
    if (pod === undefined) {
      if (state.observed.podNamed(`${state.name}-${id}`) === undefined) decisions.take(deleteClaim(claim));
    } else if (!isActive(pod) && !isBeingDeleted(pod) && !toRelease.has(pod.name))
      decisions.take(patchClaim(claim, podOwnedClaim(state, claim, pod)));
  }
}

/** A pod that waits for a claim which somebody has deleted gets it again: nothing else would ever end its wait. */
export function planLostClaims(state: CloneSetState, decisions: Decisions): void {
  const { set, claimNamed } = state.observed;
  if ((set.spec.volumeClaimTemplates ?? []).length === 0) return;
  const isLost = (name: string): boolean => claimNamed(name) === undefined;
  for (const { pod, busy } of membersIn(state, "unavailable")) {
    const id = idOf(state, pod);
    if (busy || pod.nodeName !== "" || id === "") continue;
    for (const claim of claimsFor(state, id, isLost)) decisions.take(createClaim(state.namespace, claim));
  }
}

/** The pod becomes the claim's controller in the place of the set: they go together. */
function podOwnedClaim(
  state: CloneSetState,
  claim: PersistentVolumeClaim,
  pod: { name: string; uid: string },
): object {
  const owner = {
    apiVersion: "v1",
    kind: "Pod",
    name: pod.name,
    uid: pod.uid,
    controller: true,
    blockOwnerDeletion: true,
  };
  return {
    metadata: {
      uid: claim.uid,
      resourceVersion: claim.resourceVersion,
      ownerReferences: [{ $patch: "delete", uid: state.uid }, owner],
    },
  };
}
