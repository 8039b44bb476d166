/**
 * What a DaemonSet needs now, as a pure function of what is seen: no I/O, no clock, no chance of its own.
 * Spec: daemonset 4.2 (membership), 4.3 (the order of a pass), 4.10 (revisions).
 */

import type { DaemonSet, DaemonSetStatus } from "../../../crds/index.ts";
import { compileSelector, counted } from "../../../kube/core/index.ts";
import { PlanMemory } from "../../rollout/plan_memory.ts";
import { ownerReference } from "../../rollout/pods/pod_manifest.ts";
import { readySince } from "../../rollout/pods/pod_state.ts";
import { createRevision, maintainRevisions } from "../../rollout/revisions/revision_actions.ts";
import { countedRevisions } from "../../rollout/revisions/revision_counts.ts";
import { surplusRevisions } from "../../rollout/revisions/revisions.ts";
import type { Plan } from "../../rollout/writes/actions.ts";
import { patchPod } from "../../rollout/writes/pod_actions.ts";
import { afterChange, podPatch } from "../../rollout/writes/pod_patch.ts";
import {
  availabilityOf,
  availableAt,
  type DaemonSetOptions,
  REVISION_LABEL,
  strategyOf,
  templateGeneration,
} from "./observe.ts";
import { DaemonDecided, type Pass, roomOf, type Seen, type ViewedPass } from "./pass.ts";
import { planImages } from "./pre_download.ts";
import { planRefresh, waitingForNodes } from "./refresh.ts";
import { findRevision, hashOf } from "./revisions.ts";
import { planReleased, planScale } from "./scale.ts";
import { statusOf } from "./status.ts";
import { planUpdate } from "./update.ts";

export interface PassInput {
  seen: Seen;
  options: DaemonSetOptions;
  /** Milliseconds since the epoch. */
  now: number;
  random: () => number;
  /** Of earlier passes; default: none. */
  memory?: PlanMemory;
}

export interface DaemonSetPlan extends Plan<DaemonSetStatus> {
  /** Nodes whose failed pod this plan deletes: the next failure there waits longer. */
  failedOn: readonly string[];
}

export function planDaemonSet(viewed: ViewedPass): DaemonSetPlan {
  const { seen, search, inFlight, strategy } = viewed;
  const { set } = seen;
  if (set.metadata.deletionTimestamp !== undefined) return untouched(set);
  if (selectsAll(set)) return { ...untouched(set), actions: [selectingAll] };
  const pass = { ...viewed, decided: new DaemonDecided(roomOf(inFlight, strategy.burst)) };
  decide(pass);
  return {
    actions: pass.decided.actions,
    status: statusFor(pass),
    get waiting() {
      // Before its revision exists nothing is decided about pods.
      return search.write === "create" ? [] : [...pass.decided.waiting, ...waitingForNodes(pass)];
    },
    requeueAfterMs: pass.decided.requeueAfterMs,
    failedOn: pass.decided.failedOn,
  };
}

/** The set goes with its pods (rule 17), or must not be acted on. */
function untouched(set: DaemonSet): DaemonSetPlan {
  const nothing: DaemonSetStatus = {
    currentNumberScheduled: 0,
    numberMisscheduled: 0,
    desiredNumberScheduled: 0,
    numberReady: 0,
    updatedNumberScheduled: 0,
  };
  return { actions: [], status: set.status ?? nothing, waiting: [], requeueAfterMs: undefined, failedOn: [] };
}

const selectingAll = {
  type: "event",
  event: {
    type: "Warning",
    reason: "SelectingAll",
    message: "This DaemonSet is selecting all pods. A non-empty selector is required.",
  },
} as const;

function selectsAll(set: DaemonSet): boolean {
  return compileSelector(set.spec.selector).empty;
}

/** Brings the index of nodes up to now, for one plan: its view is good until the next event. */
export function daemonSetPass({
  seen,
  options,
  now,
  random,
  memory = new PlanMemory(),
}: PassInput): ViewedPass {
  const { set } = seen;
  const search = findRevision(set, seen.revisions, seen.revisionData, memory);
  const mark = { hash: search.hash, generation: templateGeneration(set) };
  const { minReadySeconds } = availabilityOf(set);
  const pods = seen.pods.refresh({ mark, minReadySeconds, options, refreshed: memory.refreshed, now });
  const strategy = strategyOf(set, pods.count("desired"));
  return {
    seen,
    options,
    strategy,
    namespace: set.metadata.namespace ?? "",
    name: set.metadata.name ?? "",
    uid: set.metadata.uid ?? "",
    now,
    random,
    update: search.update,
    search,
    mark,
    pods,
    open: [...pods.entries(pods.groups.open)],
    eligible: new Map(),
    inFlight: seen.pods.source.inFlight(),
  };
}

/** Rule 15: pods that are not selected any more go, those that are selected and controlled by nobody come. */
function planMembership({ pods, decided, name, uid, now }: Pass): void {
  const { groups } = pods;
  const addOwner = ownerReference("DaemonSet", name, uid);
  for (const { toRelease } of pods.entries(groups.toRelease))
    for (const pod of toRelease) decided.take(patchPod(pod, { releaseOwner: uid }, now, "refresh"));
  for (const { toAdopt } of pods.entries(groups.toAdopt))
    for (const pod of toAdopt) decided.take({ ...patchPod(pod, { addOwner }, now, "refresh"), adopts: true });
}

function decide(pass: Pass): void {
  const { strategy, search } = pass;
  planMembership(pass);
  planRevision(pass);
  // Pods may only carry the hash of a revision that exists.
  if (search.write === "create") return;
  relabel(pass);
  planImages(pass);
  planScale(pass);
  planReleased(pass);
  if (!strategy.rolling || strategy.paused) reportHeld(pass);
  else planUpdate(pass);
  planRefresh(pass);
  planHistory(pass);
  reportBurst(pass);
  requeueForAvailability(pass);
}

function planRevision({ seen, decided, search, namespace, name, uid }: Pass): void {
  const owner = ownerReference("DaemonSet", name, uid);
  if (search.write === "create") {
    const { metadata, spec } = seen.set;
    const created = createRevision(search.update, {
      namespace,
      labels: { ...spec.template.metadata?.labels, [REVISION_LABEL]: search.hash },
      ...(metadata.annotations ? { annotations: metadata.annotations } : {}),
      ownerReferences: [owner],
    });
    decided.take(created);
    return;
  }
  for (const action of maintainRevisions(seen.revisions, search, owner)) decided.take(action);
}

/** Rule 48: pods of a second revision of the same template are up to date once their label says so. */
function relabel(pass: Pass): void {
  const { duplicates, hash } = pass.search;
  if (duplicates.length === 0) return;
  const hashes = new Set(duplicates.map(hashOf));
  hashes.delete(hash);
  for (const { daemons } of pass.pods.every()) {
    for (const { pod, busy, terminating } of daemons) {
      if (busy || terminating || pass.decided.touched.has(pod.uid)) continue;
      if (!hashes.has(pod.labels[REVISION_LABEL] ?? "")) continue;
      const change = { labels: { [REVISION_LABEL]: hash } };
      const step = podPatch(pod, change, pass.now);
      const write = { steps: [step], after: afterChange(pod, change, pass.now) };
      pass.decided.take({ type: "patch pod", pod, write, concern: "refresh" });
    }
  }
}

function planHistory({ seen, decided, mark, pods, search, update }: Pass): void {
  const { duplicates } = search;
  const live = new Set([mark.hash, ...countedRevisions(pods.counted)]);
  const idle = duplicates.filter((revision) => !live.has(hashOf(revision)));
  const others = seen.revisions.filter((one) => one !== update.stored && !duplicates.includes(one));
  const surplus = surplusRevisions(others, live, seen.set.spec.revisionHistoryLimit ?? 10, hashOf);
  for (const revision of [...idle, ...surplus]) decided.take({ type: "delete revision", revision });
}

function reportHeld({ strategy, open, pods, decided }: Pass): void {
  const looked = open.filter(({ eligibility, daemons }) => {
    return eligibility === "run" && daemons.some((daemon) => !daemon.updated && !daemon.terminating);
  }).length;
  const old = looked + pods.groups.due.size + pods.count("held");
  if (old === 0) return;
  decided.waiting.push(
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

function reportBurst({ strategy, decided }: Pass): void {
  const { room } = decided;
  if (room.create > 0 && room.delete > 0 && room.update > 0) return;
  decided.waiting.push({
    reason: "Burst",
    message: `burstReplicas ${strategy.burst} allows no more creations, deletions or updates at once`,
    until: strategy.burst === 0 ? "burstReplicas is raised" : "those under way are done",
  });
}

/** Time alone makes a ready pod available when there is a minReadySeconds (rule 19). */
function requeueForAvailability({ strategy, open, now, decided }: Pass): void {
  const { minReadySeconds } = strategy;
  if (minReadySeconds === 0) return;
  for (const { daemons } of open) {
    for (const { pod, available } of daemons) {
      const since = available ? undefined : readySince(pod);
      if (since === undefined) continue;
      const left = availableAt(since, minReadySeconds) - now;
      if (left > 0) decided.requeueAfter(left);
    }
  }
}

function statusFor({ seen, mark, pods, search }: Pass): DaemonSetStatus {
  return statusOf({
    set: seen.set,
    mark,
    collisionCount: search.collisionCount,
    observed: search.write !== "create",
    pods,
  });
}
