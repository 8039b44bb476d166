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
import { REVISION_LABEL, type Seen, type StatefulSetOptions, strategyOf } from "./observe.ts";
import { reachOf } from "./order.ts";
import { Decided, type Pass, type View } from "./pass.ts";
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
  const { set, roster } = seen;
  const { update } = search;
  const strategy = strategyOf(set, options);
  const view: View = {
    seen,
    options,
    strategy,
    namespace: set.metadata.namespace ?? "",
    name: set.metadata.name ?? "",
    uid: set.metadata.uid ?? "",
    now,
    update,
    current: currentRevision(seen, update),
    settled: settled ?? new WeakMap(),
  };
  const decided = new Decided();
  roster.survey(view);
  if (set.metadata.deletionTimestamp === undefined)
    roster.adopt(view, planMembership(seen, search, decided, now));
  const reach = reachOf(roster, view);
  return { ...view, roster, reach, eligible: new Map(), decided };
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
  const change = (pod: Pod, what: PodChange, adopts: boolean): void => {
    const step = podPatch(pod, what, now, { resourceVersion: pod.resourceVersion });
    const write = { steps: [step], after: afterChange(pod, what, now) };
    decided.take({ type: "patch pod", pod, write, concern: "refresh", ...(adopts ? { adopts } : {}) });
  };
  for (const pod of byName(seen.roster.apart("loose"))) change(pod, { releaseOwner: uid }, false);
  const orphans = byName(seen.roster.apart("orphan"));
  if (orphans.length === 0) return [];
  const selector = compileSelector(set.spec.selector);
  const fitting = orphans.filter((pod) => pod.deletionAt === undefined && selector.matches(pod.labels));
  // Pods may only carry the name of a revision that exists: until then those that will carry it wait.
  const relabelled = new Set(fitting.filter((pod) => isTakenAsUpdated(pod, update, seen.revisions)));
  const adopted = write === "create" ? fitting.filter((pod) => !relabelled.has(pod)) : fitting;
  const addOwner = ownerReference("StatefulSet", name, uid);
  for (const pod of adopted) {
    if (seen.roster.isBusy(pod)) continue;
    const labels = relabelled.has(pod) ? { labels: { [REVISION_LABEL]: update.name } } : {};
    change(pod, { addOwner, ...labels }, true);
  }
  return adopted;
}

function byName(pods: Iterable<Pod>): Pod[] {
  return [...pods].sort((a, b) => (a.name < b.name ? -1 : 1));
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
  for (const revision of pass.roster.revisions()) live.add(shortHash(revision));
  const limit = pass.seen.set.spec.revisionHistoryLimit ?? 10;
  for (const revision of surplusRevisions(pass.seen.revisions, live, limit)) {
    pass.decided.take({ type: "delete revision", revision });
  }
}

function tellHeld(pass: Pass): void {
  const old = pass.roster.count("behind and staying");
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
  const old = pass.roster.count("behind and staying");
  const kept = pass.strategy.partition;
  if (kept === 0 || old === 0 || pass.reach.outdated.size > 0) return;
  const message = `${old} pods stay at an old revision by partition`;
  pass.decided.waiting.push({ reason: "Partition", message, until: "partition is lowered" });
}

/** Pods that somebody made by hand with the set as owner, under a name that no ordinal has. */
function tellStrangers({ roster, decided }: Pass): void {
  for (const pod of byName(roster.apart("stranger"))) {
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
  for (const member of pass.roster.ripening()) {
    const left = untilAvailable(member.pod, minReadySeconds, pass.now);
    if (left !== undefined && left > 0) pass.decided.wake(left);
  }
}
