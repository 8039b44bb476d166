/**
 * What a CloneSet needs now, as a pure function of what is seen: no I/O, no clock, no chance of its own.
 * Spec: cloneset 4.1 (the order of a pass), 4.2 (revisions).
 */

import type { CloneSetStatus } from "../../../crds/index.ts";
import { claimTemplatesHash, compileSelector } from "../../../kube/core/index.ts";
import { earliest } from "../../plan/earliest.ts";
import { heldWaiting } from "../../rollout/order/held.ts";
import { rolloutPass } from "../../rollout/pass.ts";
import { PlanMemory } from "../../rollout/plan_memory.ts";
import { ownerReference } from "../../rollout/pods/pod_manifest.ts";
import { untilAvailable } from "../../rollout/pods/pod_state.ts";
import { createRevision, maintainRevisions } from "../../rollout/revisions/revision_actions.ts";
import { planHistory } from "../../rollout/revisions/revision_history.ts";
import { HASH_LABEL, sameRevision, shortHash } from "../../rollout/revisions/revisions.ts";
import type { Action, Plan, Waiting } from "../../rollout/writes/actions.ts";
import { afterChange, type PodChange, podPatch } from "../../rollout/writes/pod_patch.ts";
import { memberCounts, storedCounts } from "./classify.ts";
import { numbersOf } from "./numbers.ts";
import { CLAIM_HASH, type CloneSetOptions, strategyOf } from "./observe.ts";
import type { Topology } from "./order.ts";
import type { Pass, Seen } from "./pass.ts";
import { planPreDownload } from "./pre_download.ts";
import { awaitedOfNodes, planRefresh, reportBroken } from "./refresh.ts";
import { planClaims, planScale } from "./scale.ts";
import { statusOf, untilDeadline } from "./status.ts";
import { planUpdate } from "./update.ts";

export interface PassInput {
  seen: Seen;
  options: CloneSetOptions;
  /** Milliseconds since the epoch. */
  now: number;
  random: () => number;
  /** Of earlier passes; default: none. */
  memory?: PlanMemory;
}

export function planCloneSet(pass: Pass): Plan<CloneSetStatus> {
  const { seen, now, write } = pass;
  const { set } = seen;
  const isStaying = set.metadata.deletionTimestamp === undefined;
  const isDecided = isStaying && write !== "create";
  const released = isStaying ? planRelease(pass) : [];
  const decided = isStaying ? decide(pass) : nothing();
  const status = statusOf({
    set,
    counts: storedCounts(pass.pods),
    strategy: pass.strategy,
    updateRevision: pass.update.name,
    currentRevision: pass.current.name,
    collisionCount: pass.collisionCount,
    failures: { scale: seen.failures.scale, update: decided.failure ?? seen.failures.update },
    now,
  });
  return {
    actions: [...released, ...reportBroken(pass), ...decided.actions],
    status,
    get waiting() {
      return isDecided ? [...awaitedOfNodes(pass, uidsOf(decided.actions)), ...decided.waiting] : [];
    },
    requeueAfterMs: earliest([
      decided.requeueAfterMs,
      soonestAvailable(pass),
      isStaying ? untilDeadline(set, status, now) : undefined,
    ]),
  };
}

/** Brings the index of pods up to now, for one plan: its view is good until the next event. */
export function cloneSetPass({ seen, options, now, random, memory = new PlanMemory() }: PassInput): Pass {
  const { selector } = seen.set.spec;
  const rollout = rolloutPass(seen, memory);
  const { update, current } = rollout;
  const strategy = strategyOf(seen.set, options);
  const pods = seen.pods.refresh({
    updateRevision: update.name,
    strategy,
    selector: compileSelector(selector),
    selectorText: JSON.stringify(selector),
    options,
    now,
    refreshed: memory.refreshed,
  });
  return {
    ...rollout,
    seen,
    options,
    strategy,
    now,
    random,
    pods,
    numbers: numbersOf(strategy.limits, memberCounts(pods), {
      rollback: options.partitionRollback && !sameRevision(update.name, current.name),
      excludePreparingDelete: strategy.excludePreparingDelete,
      preparingUpdateAsUpdate: options.preparingUpdateAsUpdate,
    }),
    topology: topologyOf(seen),
    eligible: new Map(),
  };
}

interface Decided {
  actions: Action[];
  waiting: Waiting[];
  failure: string | undefined;
  requeueAfterMs: number | undefined;
}

function nothing(): Decided {
  return { actions: [], waiting: [], failure: undefined, requeueAfterMs: undefined };
}

function decide(pass: Pass): Decided {
  const revision = planRevision(pass);
  // Pods may only carry the name of a revision that exists.
  if (pass.write === "create") return { ...nothing(), actions: revision };
  const scale = planScale(pass);
  const refresh = planRefresh(pass, uidsOf(scale.actions));
  const decided: Decided = {
    actions: [
      ...revision,
      ...planClaims(pass),
      ...planPreDownload(pass),
      ...refresh.actions,
      ...scale.actions,
      ...planPodsToDelete(pass),
      ...planHistory(pass),
    ],
    waiting: [...refresh.waiting, ...scale.waiting],
    failure: undefined,
    requeueAfterMs: refresh.requeueAfterMs,
  };
  if (pass.strategy.onDelete || pass.strategy.paused) {
    decided.waiting.push(...reportHeld(pass));
  } else if (!scale.actions.some((action) => action.type !== "event")) {
    const update = planUpdate(pass, uidsOf(refresh.actions));
    decided.actions.push(...update.actions);
    decided.waiting.push(...update.waiting);
    decided.failure = update.failure;
    decided.requeueAfterMs = earliest([decided.requeueAfterMs, update.requeueAfterMs]);
  }
  decided.waiting.push(...reportPartition(pass));
  return decided;
}

/** Pods that get an action: a pod gets at most one a pass. */
function uidsOf(actions: readonly Action[]): Set<string> {
  const touched = new Set<string>();
  for (const action of actions) {
    if (action.type === "patch pod" || action.type === "delete pod") touched.add(action.pod.uid);
  }
  return touched;
}

function planRevision(pass: Pass): Action[] {
  const { update, seen, write } = pass;
  const claims = seen.set.spec.volumeClaimTemplates ?? [];
  const claimHash = { [CLAIM_HASH]: claims.length > 0 ? String(claimTemplatesHash(claims)) : "" };
  const owner = ownerReference("CloneSet", pass.name, pass.uid);
  if (write === "create") {
    const created = createRevision(update, {
      namespace: pass.namespace,
      labels: { ...seen.set.spec.template.metadata?.labels, [HASH_LABEL]: shortHash(update.name) },
      annotations: { ...seen.set.metadata.annotations, ...claimHash },
      ownerReferences: [owner],
    });
    return [created];
  }
  // Of those that a former owner left, the one that has the template becomes ours; no pod does (rule 5).
  return maintainRevisions(update.stored === undefined ? [] : [update.stored], pass, owner, claimHash);
}

/** Owned pods whose labels no longer match lose the owner and live on (rule 5). */
function planRelease({ pods, uid, now }: Pass): Action[] {
  return Array.from(pods.entries(pods.groups.toRelease), ({ pod }) => {
    const change: PodChange = { releaseOwner: uid };
    const write = { steps: [podPatch(pod, change, now)], after: afterChange(pod, change, now) };
    return { type: "patch pod", pod, write, concern: "scale" };
  });
}

function topologyOf(seen: Pass["seen"]): Topology {
  const constraints = seen.set.spec.template.spec["topologySpreadConstraints"];
  const keys = Array.isArray(constraints)
    ? constraints
        .map((constraint: { topologyKey?: string }) => constraint.topologyKey ?? "")
        .filter((key) => key !== "")
    : [];
  return { keys, nodeLabels: seen.nodeLabels };
}

/** Names that are no active pods any more leave `podsToDelete` (rule 36). */
function planPodsToDelete(pass: Pass): Action[] {
  const names = pass.seen.set.spec.scaleStrategy?.podsToDelete ?? [];
  if (names.length === 0) return [];
  // What the server shows decides: a deletion in flight may still fail.
  const rest = names.filter((name) => pass.pods.at(name)?.stored !== undefined);
  if (rest.length === names.length) return [];
  const body = {
    metadata: { resourceVersion: pass.seen.set.metadata.resourceVersion },
    spec: { scaleStrategy: { podsToDelete: rest.length > 0 ? rest : null } },
  };
  return [{ type: "patch workload", body }];
}

function oldOnes({ pods }: Pass): number {
  return pods.count("old active") + pods.count("old preDeleting");
}

function reportHeld(pass: Pass): Waiting[] {
  const old = oldOnes(pass);
  return old === 0 ? [] : [heldWaiting(pass.strategy.paused ? "Paused" : "OnDelete", old)];
}

function reportPartition(pass: Pass): Waiting[] {
  const kept = pass.strategy.limits.partition;
  const old = kept === 0 ? 0 : oldOnes(pass);
  return old === 0 || old > kept ? [] : [heldWaiting("Partition", old)];
}

/** When the next ready pod counts as available: time alone moves a rollout with minReadySeconds. */
function soonestAvailable(pass: Pass): number | undefined {
  if (pass.strategy.minReadySeconds === 0) return undefined;
  const { pods, strategy, now } = pass;
  return earliest(
    Array.from(pods.entries(pods.groups.awaitingMinReady), ({ member }) => {
      const left = member && untilAvailable(member.pod, strategy.minReadySeconds, now);
      return left === 0 ? undefined : left;
    }),
  );
}
