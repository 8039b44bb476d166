/**
 * What a StatefulSet needs now, as a pure function of what is seen: no I/O, no clock, no chance of its own.
 * Spec: statefulset 4.2 (membership), 4.3 (the order of a pass), 4.13 (revisions).
 */
import type { StatefulSetStatus } from "../../crds/index.ts";
import { compileSelector } from "../../kube/core/index.ts";
import type { Pod } from "../../kube/index.ts";
import type { Plan } from "../rollout/actions.ts";
import { ownerReference } from "../rollout/pod_manifest.ts";
import { afterChange, type PodChange, podPatch } from "../rollout/pod_patch.ts";
import { untilAvailable } from "../rollout/pod_state.ts";
import {
  findRevision,
  HASH_LABEL,
  type Revision,
  type RevisionSearch,
  shortHash,
  surplusRevisions,
} from "../rollout/revisions.ts";
import {
  membersOf,
  ordinalOf,
  REVISION_LABEL,
  type Seen,
  type StatefulSetOptions,
  strategyOf,
} from "./observe.ts";
import { updateOrder } from "./order.ts";
import { Decided, type Pass } from "./pass.ts";
import { planImages } from "./pre_download.ts";
import { planRefresh } from "./refresh.ts";
import { planCondemned, planWindow } from "./scale.ts";
import { statusOf } from "./status.ts";
import { isTakenAsUpdated } from "./take_over.ts";
import { planUpdate } from "./update.ts";

export interface PlanInput {
  seen: Seen;
  options: StatefulSetOptions;
  /** Milliseconds since the epoch. */
  now: number;
  settled?: WeakMap<Pod, boolean>;
}

export function planStatefulSet(input: PlanInput): Plan<StatefulSetStatus> {
  const { seen, now } = input;
  const { set } = seen;
  const search = findRevision(
    set.metadata.name ?? "",
    set.spec.template,
    seen.revisions,
    set.status?.collisionCount ?? 0,
    seen.revisionData,
  );
  const pass = passOf(input, search);
  if (set.metadata.deletionTimestamp === undefined) decide(pass, search.write);
  const { decided } = pass;
  const status = statusOf({
    seen,
    strategy: pass.strategy,
    updateRevision: search.update.name,
    currentRevision: pass.current.name,
    collisionCount: search.collisionCount,
    failures: {
      scale: decided.creationFailure ?? seen.failures.scale,
      update: decided.failure ?? seen.failures.update,
    },
    now,
  });
  return {
    actions: decided.actions,
    status,
    waiting: decided.waiting,
    wakeAfterMs: decided.wakeAfterMs,
  };
}

function passOf({ seen, options, now, settled }: PlanInput, search: RevisionSearch): Pass {
  const { set } = seen;
  const { update } = search;
  const strategy = strategyOf(set, options);
  const decided = new Decided();
  const name = set.metadata.name ?? "";
  const uid = set.metadata.uid ?? "";
  const living = set.metadata.deletionTimestamp === undefined;
  const adopted = living ? planMembership(seen, search, decided, now) : [];
  const owned = seen.pods.filter((pod) => !decided.touched.has(pod.uid));
  const members = membersOf({ ...seen, pods: owned }, adopted, strategy, update.name, now);
  const order = strategy.onDelete ? [] : updateOrder(members, strategy, options);
  return {
    seen,
    options,
    strategy,
    namespace: set.metadata.namespace ?? "",
    name,
    uid,
    now,
    update,
    current: currentRevision(seen, update),
    members,
    byOrdinal: new Map(members.map((member) => [member.ordinal, member])),
    order,
    outdated: new Set(order.filter((member) => !member.updated && !member.terminating)),
    eligible: new Map(),
    settled: settled ?? new WeakMap(),
    decided,
  };
}

function decide(pass: Pass, write: RevisionSearch["write"]): void {
  const { decided, strategy } = pass;
  planRevision(pass, write);
  // Pods may only carry the name of a revision that exists.
  if (write === "create") return;
  planImages(pass);
  const complete = planWindow(pass);
  const emptied = (!strategy.ordered || complete) && planCondemned(pass);
  planRefresh(pass);
  if (strategy.onDelete || strategy.paused) tellHeld(pass);
  else planUpdate(pass, !strategy.ordered || (complete && emptied));
  for (const action of decided.later) if (!decided.touched.has(action.pod.uid)) decided.take(action);
  tellPartition(pass);
  tellStrangers(pass);
  planHistory(pass);
  wakeForAvailability(pass);
}

/** Rule 6. Adopts what fits and nobody controls, releases what no longer fits. Returns the pods to adopt. */
function planMembership(
  seen: Seen,
  { update, write }: RevisionSearch,
  decided: Decided,
  now: number,
): readonly Pod[] {
  const { set } = seen;
  const name = set.metadata.name ?? "";
  const uid = set.metadata.uid ?? "";
  const selector = compileSelector(set.spec.selector);
  const change = (pod: Pod, what: PodChange, adopts: boolean): void => {
    const step = podPatch(pod, what, now, { resourceVersion: pod.resourceVersion });
    const write = { steps: [step], after: afterChange(pod, what, now) };
    decided.take({ type: "patch pod", pod, write, concern: "refresh", ...(adopts ? { adopts } : {}) });
  };
  for (const pod of seen.pods) {
    if (seen.busy.has(pod.uid) || pod.deletionAt !== undefined) continue;
    if (!selector.matches(pod.labels)) change(pod, { releaseOwner: uid }, false);
  }
  const fitting = seen.orphans.filter(
    (pod) =>
      pod.deletionAt === undefined && ordinalOf(name, pod.name) !== undefined && selector.matches(pod.labels),
  );
  // Pods may only carry the name of a revision that exists: until then those that will carry it wait.
  const relabelled = new Set(fitting.filter((pod) => isTakenAsUpdated(pod, update, seen.revisions)));
  const adopted = write === "create" ? fitting.filter((pod) => !relabelled.has(pod)) : fitting;
  const addOwner = ownerReference("StatefulSet", name, uid);
  for (const pod of adopted) {
    if (seen.busy.has(pod.uid)) continue;
    const labels = relabelled.has(pod) ? { labels: { [REVISION_LABEL]: update.name } } : {};
    change(pod, { addOwner, ...labels }, true);
  }
  return adopted;
}

function currentRevision(seen: Seen, update: Revision): Revision {
  const name = seen.set.status?.currentRevision;
  if (name === undefined || name === "" || name === update.name) return update;
  const stored = seen.revisions.find((revision) => revision.name === name);
  return stored === undefined ? update : { name, number: stored.revision, data: stored.data, stored };
}

function planRevision(pass: Pass, write: RevisionSearch["write"]): void {
  const { update, seen, decided } = pass;
  const owner = ownerReference("StatefulSet", pass.name, pass.uid);
  if (write === "create") {
    const metadata = {
      name: update.name,
      namespace: pass.namespace,
      labels: { ...seen.set.spec.template.metadata?.labels, [HASH_LABEL]: shortHash(update.name) },
      ...(seen.set.metadata.annotations ? { annotations: seen.set.metadata.annotations } : {}),
      ownerReferences: [owner],
    };
    const body = { apiVersion: "apps/v1", kind: "ControllerRevision", metadata, revision: update.number };
    decided.take({ type: "create revision", name: update.name, body, data: update.data });
  }
  for (const revision of seen.revisions) {
    const renumber = write === "renumber" && revision === update.stored;
    // A revision left by an owner that is gone becomes ours, so that it is collected with us.
    const orphaned = !revision.owners.some((one) => one.controller);
    if (!renumber && !orphaned) continue;
    const metadata = {
      uid: revision.uid,
      resourceVersion: revision.resourceVersion,
      ...(orphaned ? { ownerReferences: [...revision.owners, owner] } : {}),
    };
    const body = renumber ? { metadata, revision: update.number } : { metadata };
    decided.take({ type: "patch revision", revision, body });
  }
}

function planHistory(pass: Pass): void {
  const live = new Set([shortHash(pass.update.name), shortHash(pass.current.name)]);
  for (const { pod } of pass.members) live.add(shortHash(pod.labels[REVISION_LABEL] ?? ""));
  const limit = pass.seen.set.spec.revisionHistoryLimit ?? 10;
  for (const revision of surplusRevisions(pass.seen.revisions, live, limit)) {
    pass.decided.take({ type: "delete revision", revision });
  }
}

function countOutdated(pass: Pass): number {
  return pass.members.filter((member) => member.inWindow && !member.updated && !member.terminating).length;
}

function tellHeld(pass: Pass): void {
  const old = countOutdated(pass);
  if (old === 0) return;
  pass.decided.waiting.push(
    pass.strategy.onDelete
      ? { reason: "OnDelete", message: `${old} pods stay at an old revision`, until: "they are deleted" }
      : {
          reason: "Paused",
          message: `${old} pods are held at an old revision by paused`,
          until: "paused is set to false",
        },
  );
}

function tellPartition(pass: Pass): void {
  const old = countOutdated(pass);
  const kept = pass.strategy.partition;
  if (kept === 0 || old === 0 || pass.outdated.size > 0) return;
  const message = `${old} pods stay at an old revision by partition`;
  pass.decided.waiting.push({ reason: "Partition", message, until: "partition is lowered" });
}

/** Pods that somebody made by hand with the set as owner, under a name that no ordinal has. */
function tellStrangers({ seen, name, decided }: Pass): void {
  for (const pod of seen.pods) {
    if (ordinalOf(name, pod.name) !== undefined || pod.deletionAt !== undefined) continue;
    if (decided.touched.has(pod.uid)) continue;
    decided.waiting.push({
      reason: "NoOrdinal",
      message: `pod ${pod.name} has the set as its owner, but a name that no ordinal has: it counts in status.replicas and is left alone`,
      until: "it is deleted, or its owner reference is removed",
      pods: [pod.name],
    });
  }
}

/** Time alone makes a ready pod available when there is a minReadySeconds. */
function wakeForAvailability(pass: Pass): void {
  const { minReadySeconds } = pass.strategy;
  if (minReadySeconds === 0) return;
  for (const member of pass.members) {
    if (member.available) continue;
    const left = untilAvailable(member.pod, minReadySeconds, pass.now);
    if (left !== undefined && left > 0) pass.decided.wake(left);
  }
}
