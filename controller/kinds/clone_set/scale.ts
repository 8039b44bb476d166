/** Creating and deleting pods. Spec: cloneset 4.3, 4.5, 4.6, 4.8 rules 50 to 53. */

import type { PodTemplate } from "../../../crds/index.ts";
import { counted } from "../../../kube/core/index.ts";
import type { PersistentVolumeClaim } from "../../../kube/index.ts";
import { preparingDelete } from "../../rollout/lifecycle/hooks.ts";
import {
  isHooked,
  STATE_LABEL,
  STATE_TIME,
  stateMetadata,
  timestamp,
} from "../../rollout/lifecycle/lifecycle.ts";
import {
  acceptedPod,
  claimBody,
  ownerReference,
  randomId,
  withClaimVolumes,
  withGates,
} from "../../rollout/pods/pod_manifest.ts";
import { IN_PLACE_READY, isActive } from "../../rollout/pods/pod_state.ts";
import { type Revision, shortHash, templateOf } from "../../rollout/revisions/revisions.ts";
import type { Action, Waiting } from "../../rollout/writes/actions.ts";
import { patchPod, waitingForHook } from "../../rollout/writes/pod_actions.ts";
import { INSTANCE_ID, instanceId, type Member, REVISION_LABEL, TEMPLATE_HASH } from "./observe.ts";
import { deletionOrder, membersOf } from "./order.ts";
import type { Pass } from "./pass.ts";

/** Creation, or, when nothing is missing, deletion: never both in one pass (rule 30). */
export function planScale(pass: Pass): { actions: Action[]; waiting: Waiting[] } {
  const cancelDeletion = planCancelDeletion(pass);
  if (cancelDeletion.length > 0) return { actions: cancelDeletion, waiting: [] };
  return pass.numbers.missing > 0 ? planCreation(pass) : planDeletion(pass);
}

function planCreation(pass: Pass): { actions: Action[]; waiting: Waiting[] } {
  const { numbers, pods } = pass;
  const actions: Action[] = [];
  const waiting: Waiting[] = [];
  if (numbers.createLimit < numbers.missing) {
    const message = `scaleUp is limited because of scaleStrategy.maxUnavailable, limit: ${numbers.createLimit}`;
    actions.push({ type: "event", event: { type: "Warning", reason: "ScaleUpLimited", message } });
    waiting.push({
      reason: "ScaleLimit",
      message: `${counted(numbers.missing, "pod is", "pods are")} missing, ${numbers.createLimit} may be created now`,
      until: "more pods are available, or scaleStrategy.maxUnavailable is raised",
    });
  }
  // A successor sent before a deletion is answered may be stored first: more pods than replicas and maxSurge allow.
  const awaited = pods.count("deleting") + awaitedBack(pass);
  const count = Math.max(0, Math.min(numbers.createLimit, numbers.missing - awaited));
  if (count === 0) return { actions, waiting };
  const ids = freeInstanceIds(pass);
  const oldOnes = Math.min(numbers.missingOld, count);
  for (let index = 0; index < count; index++) {
    const id = ids.next();
    if (id === undefined) {
      waiting.push({
        reason: "Terminating",
        message: "a pod whose claims and name are used again is still terminating",
        until: "that pod is gone",
      });
      continue;
    }
    actions.push(createPod(pass, index < oldOnes ? pass.current : pass.update, id));
  }
  return { actions, waiting };
}

/** Pods whose way out is not answered yet, and that come back once it is: where they do not count, nothing is made for them. */
function awaitedBack(pass: Pass): number {
  if (!pass.strategy.excludePreparingDelete) return 0;
  const leaving = revocable(pass).filter((member) => member.busy);
  return Math.min(leaving.length, pass.numbers.wantedBack);
}

/**
 * Free ids of claims that lost their pod come first, so that the new pod takes over name and claims (rule 19);
 * as long as the old pod is still terminating the next one waits for it. A finished pod keeps its name: it is
 * passed over, since nothing will ever remove it.
 */
function freeInstanceIds(pass: Pass): { next(): string | undefined } {
  const inUse = new Set<string>();
  const terminating = new Set<string>();
  for (const pod of pass.pods.pods()) {
    inUse.add(instanceId(pod));
    if (pod.deletionAt !== undefined) terminating.add(instanceId(pod));
  }
  const reusable = new Set<string>();
  const blocked = new Set<string>();
  for (const claim of pass.strategy.reuseClaims ? pass.seen.claims : []) {
    const id = instanceId(claim);
    if (id === "" || claim.deletionAt !== undefined || !isOwnClaim(pass, claim)) continue;
    if (!inUse.has(id)) reusable.add(id);
    else if (terminating.has(id)) blocked.add(id);
  }
  const reused = reusable.values();
  const waitedFor = blocked.values();
  return {
    next() {
      const id = reused.next().value;
      if (id !== undefined) return id;
      if (waitedFor.next().value !== undefined) return undefined;
      return freshId(inUse, pass.random);
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

function isOwnClaim(pass: Pass, claim: PersistentVolumeClaim): boolean {
  return claim.owners.some((owner) => owner.uid === pass.uid);
}

function createPod(pass: Pass, revision: Revision, id: string): Action {
  const { set } = pass.seen;
  const template = templateFor(pass, revision);
  const owner = ownerReference("CloneSet", pass.name, pass.uid);
  const claims = (set.spec.volumeClaimTemplates ?? []).map((claim) => {
    const volume = claim.metadata.name ?? "";
    const name = `${volume}-${pass.name}-${id}`;
    const labels = { ...set.spec.selector.matchLabels, [INSTANCE_ID]: id };
    return { volume, name, body: claimBody(claim, name, pass.namespace, labels, owner) };
  });
  const spec = withGates(
    withClaimVolumes(
      template,
      claims.map(({ volume, name }) => ({ volume, claim: name })),
    ),
    [IN_PLACE_READY],
  );
  const name = `${pass.name}-${id}`;
  const metadata = {
    name,
    namespace: pass.namespace,
    generateName: `${pass.name}-`,
    labels: {
      ...template.metadata?.labels,
      ...revisionLabels(pass, revision),
      [INSTANCE_ID]: id,
      [STATE_LABEL]: "PreparingNormal",
    },
    annotations: { ...template.metadata?.annotations, [STATE_TIME]: timestamp(pass.now) },
    ...(template.metadata?.finalizers ? { finalizers: template.metadata.finalizers } : {}),
    ownerReferences: [owner],
  };
  const present = new Set(pass.seen.claims.map((claim) => claim.name));
  return {
    type: "create pod",
    name,
    body: { apiVersion: "v1", kind: "Pod", metadata, spec },
    after: acceptedPod(metadata, spec, pass.now),
    claims: claims
      .filter((claim) => !present.has(claim.name))
      .map(({ name: claim, body }) => ({ name: claim, body })),
    succeeded: { type: "Normal", reason: "SuccessfulCreate", message: `succeed to create pod ${name}` },
  };
}

/** The revision labels of a pod: the full name or, by gate, the bare hash. Rule 15. */
export function revisionLabels(pass: Pass, revision: Revision): Record<string, string> {
  const hash = shortHash(revision.name);
  return { [REVISION_LABEL]: pass.options.shortHash ? hash : revision.name, [TEMPLATE_HASH]: hash };
}

function templateFor(pass: Pass, revision: Revision): PodTemplate {
  if (revision === pass.update) return pass.seen.set.spec.template;
  const { spec, ...stored } = templateOf(revision.data) ?? {};
  return spec === undefined ? pass.seen.set.spec.template : { ...stored, spec };
}

/** Pods that are about to be deleted, and may come back as long as nothing was done to them for it (rule 53). */
function revocable(pass: Pass): Member[] {
  const lifecycle = pass.strategy.lifecycle;
  if (lifecycle?.preDelete?.markPodNotReady || lifecycle?.inPlaceUpdate?.markPodNotReady) return [];
  return membersIn(pass, "preparingDelete").filter((member) => !member.specified);
}

/** Pods that were about to be deleted are wanted again (rule 53). */
function planCancelDeletion(pass: Pass): Action[] {
  const held = revocable(pass).filter((member) => !member.busy);
  const kept = Math.min(held.length, pass.numbers.wantedBack);
  if (kept === 0) return [];
  const order = deletionOrder(held, pass.topology);
  return order.slice(order.length - kept).map((member) => {
    const change = stateMetadata("PreparingNormal", pass.now);
    return patchPod(member.pod, change, pass.now, "scale");
  });
}

function planDeletion(pass: Pass): { actions: Action[]; waiting: Waiting[] } {
  const actions: Action[] = [];
  const waiting: Waiting[] = [];
  const hook = pass.strategy.lifecycle?.preDelete;
  const prepared = membersIn(pass, "preparingDelete");
  for (const member of prepared) {
    if (member.busy) continue;
    if (!isHooked(member.pod, hook)) actions.push(deletePod(pass, member));
    else waiting.push(waitingForHook(member.pod, "preDelete"));
  }
  let readyLimit = pass.numbers.deleteReadyLimit;
  const specified = membersIn(pass, "specified");
  // Deletions in flight have spent their part of the limit already: their pods are not among the members.
  const held: string[] = [];
  const chosen = prepared.length > 0 || specified.length > 0 ? specified : surplusMembers(pass);
  for (const member of chosen) {
    if (member.ready && readyLimit <= 0) {
      held.push(member.pod.name);
      continue;
    }
    if (member.ready) readyLimit--;
    if (member.busy) continue;
    actions.push(
      isHooked(member.pod, hook)
        ? patchPod(member.pod, preparingDelete(member.pod, hook, pass.now), pass.now, "scale")
        : deletePod(pass, member),
    );
  }
  if (held.length > 0) {
    waiting.push({
      reason: "Budget",
      message: `${held.length} ready pods wait to be deleted: maxUnavailable allows no more unavailable pods`,
      until: "other pods become available",
      pods: held.slice(0, 10),
    });
  }
  return { actions, waiting };
}

/** Scale-in: pods of the old revision first, each class in its own order (rule 27, 37). */
function surplusMembers(pass: Pass): Member[] {
  const { numbers } = pass;
  if (numbers.surplus <= 0) return [];
  const staying = [...membersOf(pass.pods.every())].filter((member) => member.state !== "PreparingDelete");
  const old = deletionOrder(
    staying.filter((member) => !member.updated),
    pass.topology,
  ).slice(0, numbers.surplusOld);
  const updated = deletionOrder(
    staying.filter((member) => member.updated),
    pass.topology,
  );
  return [...old, ...updated.slice(0, numbers.surplus - numbers.surplusOld)];
}

/** By name. */
function membersIn({ pods }: Pass, group: "preparingDelete" | "specified"): Member[] {
  return [...membersOf(pods.entries(pods.groups[group]))];
}

function deletePod(pass: Pass, member: Member): Action {
  const id = instanceId(member.pod);
  const claims = pass.seen.claims.filter(
    (claim) =>
      id !== "" && instanceId(claim) === id && claim.deletionAt === undefined && isOwnClaim(pass, claim),
  );
  return {
    type: "delete pod",
    pod: member.pod,
    claims,
    succeeded: {
      type: "Normal",
      reason: "SuccessfulDelete",
      message: `succeed to delete pod ${member.pod.name}`,
    },
  };
}

/** Claims of vanished pods when they are not to be used again (rule 20). */
export function planClaims(pass: Pass): Action[] {
  if (pass.strategy.reuseClaims || pass.seen.claims.length === 0) return [];
  const pods = new Map(pass.pods.pods().map((pod) => [instanceId(pod), pod]));
  const actions: Action[] = [];
  for (const claim of pass.seen.claims) {
    const id = instanceId(claim);
    if (id === "" || claim.deletionAt !== undefined || !isOwnClaim(pass, claim)) continue;
    const pod = pods.get(id);
    if (pod === undefined) actions.push({ type: "delete claim", claim });
    else if (!isActive(pod))
      actions.push({ type: "patch claim", claim, body: podOwnedClaim(pass, claim, pod) });
  }
  return actions;
}

/** The inactive pod becomes the claim's controller in the place of the set: they go together. */
function podOwnedClaim(pass: Pass, claim: PersistentVolumeClaim, pod: { name: string; uid: string }): object {
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
      ownerReferences: [{ $patch: "delete", uid: pass.uid }, owner],
    },
  };
}
