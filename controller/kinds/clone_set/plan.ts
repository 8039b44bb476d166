/**
 * What a CloneSet needs now, as a pure function of what is seen: no I/O, no clock, no chance of its own.
 * Spec: cloneset 4.1 (the order of a pass), 4.2 (revisions).
 */

import type { CloneSetStatus } from "../../../crds/index.ts";
import { claimTemplatesHash } from "../../../kube/core/index.ts";
import { Decisions } from "../../rollout/decisions.ts";
import { reportBroken } from "../../rollout/in_place/refresh.ts";
import { heldWaiting, partitionWaiting } from "../../rollout/order/held.ts";
import { requeueForAvailability } from "../../rollout/pods/min_ready.ts";
import { ownerReference } from "../../rollout/pods/pod_manifest.ts";
import { membersOf } from "../../rollout/pods/pod_view.ts";
import { createRevision, maintainRevisions } from "../../rollout/revisions/revision_actions.ts";
import { planHistory } from "../../rollout/revisions/revision_history.ts";
import { HASH_LABEL, shortHash } from "../../rollout/revisions/revisions.ts";
import type { Plan } from "../../rollout/writes/actions.ts";
import { patchWorkload } from "../../rollout/writes/workload_actions.ts";
import { storedCounts } from "./classify.ts";
import { planPreDownload } from "./pre_download.ts";
import { planRefresh } from "./refresh.ts";
import { planClaims, planLostClaims, planRelease, planScale } from "./scale.ts";
import type { CloneSetState } from "./state.ts";
import { statusOf, untilDeadline } from "./status.ts";
import { CLAIM_HASH } from "./strategy.ts";
import { planUpdate } from "./update.ts";

export function planCloneSet(state: CloneSetState): Plan<CloneSetStatus> {
  const { observed, now } = state;
  const { set } = observed;
  const isStaying = set.metadata.deletionTimestamp === undefined;
  const decisions = new Decisions();
  if (isStaying) planRelease(state, decisions);
  reportBroken(state, decisions);
  if (isStaying) decide(state, decisions);
  requeueForAvailability(state, decisions);
  const status = statusOf({
    set,
    selector: observed.selector,
    counts: storedCounts(state.pods),
    strategy: state.strategy,
    updateRevision: state.update.name,
    currentRevision: state.current.name,
    collisionCount: state.collisionCount,
    failures: { ...observed.failures, ...decisions.failures },
    now,
  });
  if (isStaying) decisions.requeueAfter(untilDeadline(set, status, now));
  return decisions.plan(status, state);
}

function decide(state: CloneSetState, decisions: Decisions): void {
  const { strategy, write } = state;
  planRevision(state, decisions);
  // Pods may only carry the name of a revision that exists.
  if (write === "create") return;
  // Pods to be deleted are not refreshed, but what brings others back into service goes first.
  const { last } = decisions;
  planScale(state, last);
  const isScaling = last.actions.some(({ type }) => type !== "event");
  planClaims(state, decisions);
  planLostClaims(state, decisions);
  planPreDownload(state, decisions);
  planRefresh(state, decisions);
  planPodsToDelete(state, last);
  last.takeAll(planHistory(state));
  if (strategy.onDelete || strategy.paused) reportHeld(state, last);
  else if (!isScaling) planUpdate(state, last);
  reportPartition(state, last);
}

function planRevision(state: CloneSetState, decisions: Decisions): void {
  const { update, observed, write } = state;
  const claims = observed.set.spec.volumeClaimTemplates ?? [];
  const claimHash = { [CLAIM_HASH]: claims.length > 0 ? String(claimTemplatesHash(claims)) : "" };
  const owner = ownerReference("CloneSet", state.name, state.uid);
  if (write === "create") {
    const created = createRevision(update, {
      namespace: state.namespace,
      labels: { ...observed.set.spec.template.metadata?.labels, [HASH_LABEL]: shortHash(update.name) },
      annotations: { ...observed.set.metadata.annotations, ...claimHash },
      ownerReferences: [owner],
    });
    decisions.take(created);
    return;
  }
  // Of those that a former owner left, the one that has the template becomes ours; no pod does (rule 5).
  const kept = update.stored === undefined ? [] : [update.stored];
  decisions.takeAll(maintainRevisions(kept, state, owner, claimHash));
}

/** Names that are no active pods any more leave `podsToDelete` (rule 36). */
function planPodsToDelete({ observed: { set }, pods, name }: CloneSetState, decisions: Decisions): void {
  const names = set.spec.scaleStrategy?.podsToDelete ?? [];
  // What the server shows decides: a deletion in flight may still fail.
  const rest = names.filter((pod) => pods.at(pod)?.stored !== undefined);
  if (rest.length === names.length) return;
  const body = {
    metadata: { resourceVersion: set.metadata.resourceVersion },
    spec: { scaleStrategy: { podsToDelete: rest.length > 0 ? rest : null } },
  };
  decisions.take(patchWorkload(name, body));
}

function oldOnes({ pods }: CloneSetState): number {
  return pods.count("old active") + pods.count("old preDeleting");
}

function reportHeld(state: CloneSetState, decisions: Decisions): void {
  if (oldOnes(state) > 0)
    decisions.wait(() => [heldWaiting(state.strategy.paused ? "Paused" : "OnDelete", oldNames(state))]);
}

function reportPartition(state: CloneSetState, decisions: Decisions): void {
  const kept = state.strategy.limits.partition;
  const old = kept === 0 ? 0 : oldOnes(state);
  const { rollingUpdate } = state.observed.set.spec.updateStrategy ?? {};
  if (old > 0 && old <= kept)
    decisions.wait(() => [partitionWaiting(rollingUpdate?.partition ?? kept, oldNames(state))]);
}

function oldNames({ pods }: CloneSetState): string[] {
  const old = [...membersOf(pods.every())].filter(
    ({ updated, pod }) => !updated && pod.deletionAt === undefined,
  );
  return old.map(({ pod }) => pod.name);
}
