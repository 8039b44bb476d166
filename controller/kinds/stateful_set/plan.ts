/**
 * What a StatefulSet needs now, as a pure function of what is seen: no I/O, no clock, no chance of its own.
 * Spec: statefulset 4.2 (membership), 4.3 (the order of a pass), 4.13 (revisions).
 */

import type { StatefulSetStatus } from "../../../crds/index.ts";
import { compileSelector } from "../../../kube/core/index.ts";
import type { Pod } from "../../../kube/index.ts";
import { heldWaiting } from "../../rollout/order/held.ts";
import { rolloutPass } from "../../rollout/pass.ts";
import { PlanMemory } from "../../rollout/plan_memory.ts";
import { ownerReference } from "../../rollout/pods/pod_manifest.ts";
import { untilAvailable } from "../../rollout/pods/pod_state.ts";
import { createRevision, maintainRevisions } from "../../rollout/revisions/revision_actions.ts";
import { planHistory } from "../../rollout/revisions/revision_history.ts";
import { HASH_LABEL, shortHash } from "../../rollout/revisions/revisions.ts";
import type { Plan } from "../../rollout/writes/actions.ts";
import { patchPod } from "../../rollout/writes/pod_actions.ts";
import { REVISION_LABEL, type StatefulSetOptions, strategyOf } from "./observe.ts";
import { membersOf, reachOf } from "./order.ts";
import { type Pass, type PassContext, type Seen, SetDecided, type ViewedPass } from "./pass.ts";
import { planImages } from "./pre_download.ts";
import { awaitedOfNodes, planRefresh, reportBroken } from "./refresh.ts";
import { planCondemned, planWindow } from "./scale.ts";
import type { Group, SetView } from "./slots.ts";
import { statusOf } from "./status.ts";
import { isTakenAsUpdated } from "./take_over.ts";
import { planUpdate } from "./update.ts";

export interface PassInput {
  seen: Seen;
  options: StatefulSetOptions;
  /** Milliseconds since the epoch. */
  now: number;
  /** Of earlier passes; default: none. */
  memory?: PlanMemory;
}

export function planStatefulSet(viewed: ViewedPass): Plan<StatefulSetStatus> {
  const { seen, now, pods, update, write } = viewed;
  const { set } = seen;
  const decided = new SetDecided();
  const pass = { ...viewed, reach: reachOf(pods, viewed), eligible: new Map(), decided };
  const isDecided = set.metadata.deletionTimestamp === undefined && write !== "create";
  if (set.metadata.deletionTimestamp === undefined) decide(pass);
  const status = statusOf({
    seen,
    pods,
    strategy: pass.strategy,
    updateRevision: update.name,
    currentRevision: pass.current.name,
    collisionCount: pass.collisionCount,
    failures: {
      scale: decided.creationFailure ?? seen.failures.scale,
      update: decided.failure ?? seen.failures.update,
    },
    now,
  });
  return {
    actions: decided.actions,
    status,
    get waiting() {
      return isDecided ? [...decided.waiting, ...awaitedOfNodes(pass)] : [];
    },
    requeueAfterMs: decided.requeueAfterMs,
  };
}

/** Brings the index of pods up to now, for one plan: its view is good until the next event. */
export function statefulSetPass({ seen, options, now, memory = new PlanMemory() }: PassInput): ViewedPass {
  const context: PassContext = {
    ...rolloutPass(seen, memory),
    seen,
    options,
    strategy: strategyOf(seen.set, options),
    now,
    selector: compileSelector(seen.set.spec.selector),
    refreshed: memory.refreshed,
  };
  return { ...context, pods: seen.pods.refresh(context) };
}

function decide(pass: Pass): void {
  const { decided, strategy, write } = pass;
  planMembership(pass);
  reportBroken(pass);
  planRevision(pass);
  // Pods may only carry the name of a revision that exists.
  if (write === "create") return;
  planImages(pass);
  const complete = planWindow(pass);
  const emptied = (!strategy.ordered || complete) && planCondemned(pass);
  planRefresh(pass);
  if (strategy.onDelete || strategy.paused) reportHeld(pass);
  else planUpdate(pass, !strategy.ordered || (complete && emptied));
  for (const action of decided.later) if (!decided.touched.has(action.pod.uid)) decided.take(action);
  reportPartition(pass);
  reportStrangers(pass);
  for (const action of planHistory(pass)) decided.take(action);
  requeueForAvailability(pass);
}

/** Rule 6. Adopts what fits and nobody controls, releases what no longer fits. */
function planMembership({ pods, decided, name, uid, now, update, seen }: Pass): void {
  for (const pod of podsOf(pods, "toRelease"))
    decided.take(patchPod(pod, { releaseOwner: uid }, now, "refresh"));
  const addOwner = ownerReference("StatefulSet", name, uid);
  for (const pod of podsOf(pods, "toAdopt")) {
    const isRelabelled = isTakenAsUpdated(pod, update, seen.revisions);
    const change = { addOwner, ...(isRelabelled ? { labels: { [REVISION_LABEL]: update.name } } : {}) };
    decided.take({ ...patchPod(pod, change, now, "refresh"), adopts: true });
  }
}

function podsOf(pods: SetView, group: Group): Pod[] {
  return [...pods.entries(pods.groups[group])].flatMap(({ pod }) => pod ?? []);
}

function planRevision(pass: Pass): void {
  const { update, seen, decided, write } = pass;
  const owner = ownerReference("StatefulSet", pass.name, pass.uid);
  if (write === "create") {
    const { annotations } = seen.set.metadata;
    const created = createRevision(update, {
      namespace: pass.namespace,
      labels: { ...seen.set.spec.template.metadata?.labels, [HASH_LABEL]: shortHash(update.name) },
      ...(annotations ? { annotations } : {}),
      ownerReferences: [owner],
    });
    decided.take(created);
  }
  for (const action of maintainRevisions(seen.revisions, pass, owner)) decided.take(action);
}

function reportHeld({ decided, pods, strategy }: Pass): void {
  const old = pods.count("behind and staying");
  if (old > 0) decided.waiting.push(heldWaiting(strategy.onDelete ? "OnDelete" : "Paused", old));
}

function reportPartition({ decided, pods, reach, strategy }: Pass): void {
  const old = pods.count("behind and staying");
  if (strategy.partition === 0 || old === 0 || reach.outdated.size > 0) return;
  decided.waiting.push(heldWaiting("Partition", old));
}

/** Pods that somebody made by hand with the set as owner, under a name that no ordinal has. */
function reportStrangers({ pods, decided }: Pass): void {
  for (const pod of podsOf(pods, "strangers")) {
    decided.waiting.push({
      reason: "NoOrdinal",
      message: `pod ${pod.name} has the set as its owner, but a name that no ordinal has: it counts in status.replicas and is left alone`,
      until: "it is deleted, or its owner reference is removed",
      pods: [pod.name],
    });
  }
}

/** Time alone makes a ready pod available when there is a minReadySeconds. */
function requeueForAvailability(pass: Pass): void {
  const { minReadySeconds } = pass.strategy;
  if (minReadySeconds === 0) return;
  for (const member of membersOf(pass.pods.entries(pass.pods.groups.awaitingMinReady))) {
    const left = untilAvailable(member.pod, minReadySeconds, pass.now);
    if (left !== undefined && left > 0) pass.decided.requeueAfter(left);
  }
}
