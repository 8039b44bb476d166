/**
 * What a DaemonSet needs now, as a pure function of what is seen: no I/O, no clock, no chance of its own.
 * Spec: daemonset 4.2 (membership), 4.3 (the order of a pass), 4.10 (revisions).
 */

import type { DaemonSet, DaemonSetStatus } from "../../../crds/index.ts";
import { counted } from "../../../kube/core/index.ts";
import type { Decisions } from "../../rollout/decisions.ts";
import { ownerReference } from "../../rollout/pods/pod_manifest.ts";
import { readySince } from "../../rollout/pods/pod_state.ts";
import {
  createRevision,
  deleteRevision,
  maintainRevisions,
} from "../../rollout/revisions/revision_actions.ts";
import { countedRevisions } from "../../rollout/revisions/revision_counts.ts";
import { surplusRevisions } from "../../rollout/revisions/revisions.ts";
import { patchPod, writePod } from "../../rollout/writes/pod_actions.ts";
import { podWrite } from "../../rollout/writes/pod_patch.ts";
import { DaemonSetDecisions, type DaemonSetPlan } from "./decisions.ts";
import { planPreDownload } from "./pre_download.ts";
import { awaitedOfNodes, planRefresh } from "./refresh.ts";
import { hashOf } from "./revisions.ts";
import { planReleased, planScale } from "./scale.ts";
import type { DaemonSetState } from "./state.ts";
import { statusOf } from "./status.ts";
import { availableAt, REVISION_LABEL } from "./strategy.ts";
import { planUpdate } from "./update.ts";

export function planDaemonSet(state: DaemonSetState): DaemonSetPlan {
  const { inFlight, strategy } = state;
  const { set } = state.observed;
  const decisions = new DaemonSetDecisions(inFlight, strategy.burst);
  // The set goes with its pods (rule 17).
  if (set.metadata.deletionTimestamp !== undefined) return decisions.plan(storedStatus(set), state);
  if (state.observed.selector.empty) {
    decisions.take(selectingAll);
    return decisions.plan(storedStatus(set), state);
  }
  decide(state, decisions);
  return decisions.plan(statusOf(state), state);
}

function storedStatus(set: DaemonSet): DaemonSetStatus {
  const nothing: DaemonSetStatus = {
    currentNumberScheduled: 0,
    numberMisscheduled: 0,
    desiredNumberScheduled: 0,
    numberReady: 0,
    updatedNumberScheduled: 0,
  };
  return set.status ?? nothing;
}

const selectingAll = {
  type: "event",
  event: {
    type: "Warning",
    reason: "SelectingAll",
    message: "This DaemonSet is selecting all pods. A non-empty selector is required.",
  },
} as const;

function decide(state: DaemonSetState, decisions: DaemonSetDecisions): void {
  const { strategy, write } = state;
  planMembership(state, decisions);
  planRevision(state, decisions);
  // Pods may only carry the hash of a revision that exists.
  if (write === "create") return;
  relabel(state, decisions);
  planPreDownload(state, decisions);
  planScale(state, decisions);
  planReleased(state, decisions);
  if (!strategy.rolling || strategy.paused) reportHeld(state, decisions);
  else planUpdate(state, decisions);
  planRefresh(state, decisions);
  planHistory(state, decisions);
  reportBurst(state, decisions);
  decisions.wait(() => awaitedOfNodes(state, decisions));
  requeueForAvailability(state, decisions);
}

/** Rule 15: pods that are not selected any more go, those that are selected and controlled by nobody come. */
function planMembership({ pods, name, uid, now }: DaemonSetState, decisions: Decisions): void {
  const { groups } = pods;
  const addOwner = ownerReference("DaemonSet", name, uid);
  for (const { toRelease } of pods.entries(groups.toRelease))
    for (const pod of toRelease) decisions.take(patchPod(pod, { releaseOwner: uid }, now, "refresh"));
  for (const { toAdopt } of pods.entries(groups.toAdopt))
    for (const pod of toAdopt) decisions.take(patchPod(pod, { addOwner }, now, "refresh", { adopts: true }));
}

function planRevision(state: DaemonSetState, decisions: Decisions): void {
  const { observed, update, hash, write } = state;
  const owner = ownerReference("DaemonSet", state.name, state.uid);
  if (write === "create") {
    const { metadata, spec } = observed.set;
    const created = createRevision(update, {
      namespace: state.namespace,
      labels: { ...spec.template.metadata?.labels, [REVISION_LABEL]: hash },
      ...(metadata.annotations ? { annotations: metadata.annotations } : {}),
      ownerReferences: [owner],
    });
    decisions.take(created);
    return;
  }
  decisions.takeAll(maintainRevisions(observed.revisions, state, owner));
}

/** Rule 48: pods of a second revision of the same template are up to date once their label says so. */
function relabel({ duplicates, hash, pods, now }: DaemonSetState, decisions: Decisions): void {
  if (duplicates.length === 0) return;
  const hashes = new Set(duplicates.map(hashOf));
  hashes.delete(hash);
  for (const { daemons } of pods.every()) {
    for (const daemon of daemons) {
      const { pod, terminating } = daemon;
      if (terminating || !decisions.isFree(daemon)) continue;
      if (!hashes.has(pod.labels[REVISION_LABEL] ?? "")) continue;
      const change = { labels: { [REVISION_LABEL]: hash } };
      decisions.take(writePod(pod, podWrite(pod, change, now), "refresh"));
    }
  }
}

function planHistory(state: DaemonSetState, decisions: Decisions): void {
  const { observed, hash, pods, duplicates, update } = state;
  const live = new Set([hash, ...countedRevisions(pods.counted)]);
  const idle = duplicates.filter((revision) => !live.has(hashOf(revision)));
  const others = observed.revisions.filter((one) => one !== update.stored && !duplicates.includes(one));
  const surplus = surplusRevisions(others, live, observed.set.spec.revisionHistoryLimit ?? 10, hashOf);
  decisions.takeAll([...idle, ...surplus].map(deleteRevision));
}

function reportHeld({ strategy, open, pods }: DaemonSetState, decisions: Decisions): void {
  const looked = open.filter(({ eligibility, daemons }) => {
    return eligibility === "run" && daemons.some((daemon) => !daemon.updated && !daemon.terminating);
  }).length;
  const old = looked + pods.groups.due.size + pods.count("held");
  if (old === 0) return;
  decisions.wait(
    strategy.rolling
      ? {
          reason: "Paused",
          message: `${counted(old, "node is", "nodes are")} held at an old revision by paused`,
          until: "paused is set to false",
        }
      : {
          reason: "OnDelete",
          message: `${counted(old, "node stays", "nodes stay")} at an old revision`,
          until: "their pods are deleted",
        },
  );
}

function reportBurst({ strategy }: DaemonSetState, decisions: DaemonSetDecisions): void {
  const { room } = decisions;
  if (room.create > 0 && room.delete > 0 && room.update > 0) return;
  decisions.wait({
    reason: "Burst",
    message: `burstReplicas ${strategy.burst} allows no more creations, deletions or updates at once`,
    until: strategy.burst === 0 ? "burstReplicas is raised" : "those under way are done",
  });
}

/** Time alone makes a ready pod available when there is a minReadySeconds (rule 19). */
function requeueForAvailability({ strategy, open, now }: DaemonSetState, decisions: Decisions): void {
  const { minReadySeconds } = strategy;
  if (minReadySeconds === 0) return;
  for (const { daemons } of open) {
    for (const { pod, available } of daemons) {
      const since = available ? undefined : readySince(pod);
      if (since === undefined) continue;
      const left = availableAt(since, minReadySeconds) - now;
      if (left > 0) decisions.requeueAfter(left);
    }
  }
}
