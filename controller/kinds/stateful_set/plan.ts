/**
 * What a StatefulSet needs now, as a pure function of what is seen: no I/O, no clock, no chance of its own.
 * Spec: statefulset 4.2 (membership), 4.3 (the order of a pass), 4.13 (revisions).
 */

import type { StatefulSetStatus } from "../../../crds/index.ts";
import type { Pod } from "../../../kube/index.ts";
import { Decisions } from "../../rollout/decisions.ts";
import { awaitedOfNodes, reportBroken } from "../../rollout/in_place/refresh.ts";
import { heldWaiting, partitionWaiting } from "../../rollout/order/held.ts";
import { requeueForAvailability } from "../../rollout/pods/min_ready.ts";
import { ownerReference } from "../../rollout/pods/pod_manifest.ts";
import { membersOf } from "../../rollout/pods/pod_view.ts";
import { createRevision, maintainRevisions } from "../../rollout/revisions/revision_actions.ts";
import { planHistory } from "../../rollout/revisions/revision_history.ts";
import { HASH_LABEL, shortHash } from "../../rollout/revisions/revisions.ts";
import type { Plan } from "../../rollout/writes/actions.ts";
import { patchPod } from "../../rollout/writes/pod_actions.ts";
import { planPreDownload } from "./pre_download.ts";
import { planRefresh } from "./refresh.ts";
import { planCondemned, planWindow } from "./scale.ts";
import type { Group, SetView } from "./slots.ts";
import type { StatefulSetState } from "./state.ts";
import { statusOf } from "./status.ts";
import { REVISION_LABEL } from "./strategy.ts";
import { isTakenAsUpdated } from "./take_over.ts";
import { planUpdate } from "./update.ts";

export function planStatefulSet(state: StatefulSetState): Plan<StatefulSetStatus> {
  const { set, failures } = state.observed;
  const decisions = new Decisions();
  if (set.metadata.deletionTimestamp === undefined) decide(state, decisions);
  return decisions.plan(statusOf(state, { ...failures, ...decisions.failures }), state);
}

function decide(state: StatefulSetState, decisions: Decisions): void {
  const { strategy, write } = state;
  planMembership(state, decisions);
  reportBroken(state, decisions);
  planRevision(state, decisions);
  // Pods may only carry the name of a revision that exists.
  if (write === "create") return;
  planPreDownload(state, decisions);
  const complete = planWindow(state, decisions);
  const emptied = (!strategy.ordered || complete) && planCondemned(state, decisions);
  planRefresh(state, decisions);
  if (strategy.onDelete || strategy.paused) reportHeld(state, decisions);
  else planUpdate(state, decisions, !strategy.ordered || (complete && emptied));
  reportPartition(state, decisions);
  reportStrangers(state, decisions);
  decisions.wait(() => awaitedOfNodes(state, decisions));
  decisions.last.takeAll(planHistory(state));
  requeueForAvailability(state, decisions);
}

/** Rule 6. Adopts what fits and nobody controls, releases what no longer fits. */
function planMembership(state: StatefulSetState, decisions: Decisions): void {
  const { pods, name, uid, now, update, observed } = state;
  for (const pod of podsOf(pods, "toRelease"))
    decisions.take(patchPod(pod, { releaseOwner: uid }, now, "refresh"));
  const addOwner = ownerReference("StatefulSet", name, uid);
  for (const pod of podsOf(pods, "toAdopt")) {
    const isRelabelled = isTakenAsUpdated(pod, update, observed.revisions);
    const change = { addOwner, ...(isRelabelled ? { labels: { [REVISION_LABEL]: update.name } } : {}) };
    decisions.take(patchPod(pod, change, now, "refresh", { adopts: true }));
  }
}

function podsOf(pods: SetView, group: Group): Pod[] {
  return [...pods.entries(pods.groups[group])].flatMap(({ pod }) => pod ?? []);
}

function planRevision(state: StatefulSetState, decisions: Decisions): void {
  const { update, observed, write } = state;
  const owner = ownerReference("StatefulSet", state.name, state.uid);
  if (write === "create") {
    const { annotations } = observed.set.metadata;
    const created = createRevision(update, {
      namespace: state.namespace,
      labels: { ...observed.set.spec.template.metadata?.labels, [HASH_LABEL]: shortHash(update.name) },
      ...(annotations ? { annotations } : {}),
      ownerReferences: [owner],
    });
    decisions.take(created);
  }
  decisions.takeAll(maintainRevisions(observed.revisions, state, owner));
}

function reportHeld({ pods, strategy }: StatefulSetState, decisions: Decisions): void {
  if (pods.count("behind and staying") === 0) return;
  decisions.wait(() => [heldWaiting(strategy.onDelete ? "OnDelete" : "Paused", oldNames(pods))]);
}

function oldNames(pods: StatefulSetState["pods"]): string[] {
  const old = [...membersOf(pods.every())].filter(({ updated, terminating }) => !updated && !terminating);
  return old.map(({ pod }) => pod.name);
}

function reportPartition({ pods, reach, strategy }: StatefulSetState, decisions: Decisions): void {
  const old = pods.count("behind and staying");
  if (strategy.partition === 0 || old === 0 || reach.outdated.size > 0) return;
  decisions.wait(() => [partitionWaiting(strategy.partition, oldNames(pods))]);
}

/** Pods that somebody made by hand with the set as owner, under a name that no ordinal has. */
function reportStrangers({ pods }: StatefulSetState, decisions: Decisions): void {
  for (const pod of podsOf(pods, "strangers")) {
    decisions.wait({
      reason: "NoOrdinal",
      message: `pod ${pod.name} has the set as its owner, but a name that no ordinal has: it counts in status.replicas and is left alone`,
      until: "it is deleted, or its owner reference is removed",
      pods: [pod.name],
    });
  }
}
