/**
 * What a CloneSet needs now, as a pure function of what is seen: no I/O, no clock, no chance of its own.
 * Spec: cloneset 4.1 (the order of a pass), 4.2 (revisions).
 */
import type { CloneSetStatus } from "../../crds/index.ts";
import { claimTemplatesHash, compileSelector, formatSelector } from "../../kube/core/index.ts";
import type { ControllerRevision, Pod } from "../../kube/index.ts";
import type { Action, Plan, Waiting } from "../rollout/actions.ts";
import type { Eligibility } from "../rollout/in_place/change.ts";
import { ownerReference } from "../rollout/pod_manifest.ts";
import { afterChange, type PodChange, podPatch } from "../rollout/pod_patch.ts";
import { isActive, untilAvailable } from "../rollout/pod_state.ts";
import {
  findRevision,
  HASH_LABEL,
  type Revision,
  sameRevision,
  shortHash,
  surplusRevisions,
} from "../rollout/revisions.ts";
import { type ClassCount, type Counts, numbersOf } from "./numbers.ts";
import {
  CLAIM_HASH,
  type CloneSetOptions,
  type Member,
  membersOf,
  REVISION_LABEL,
  type Seen,
  type Strategy,
  strategyOf,
} from "./observe.ts";
import type { Topology } from "./order.ts";
import { planPreDownload } from "./pre_download.ts";
import { planRefresh } from "./refresh.ts";
import { planClaims, planScale } from "./scale.ts";
import { statusOf, untilDeadline } from "./status.ts";
import { planUpdate } from "./update.ts";

/** One evaluation: what was seen, resolved once, and shared by the parts of the plan. */
export interface Pass {
  seen: Seen;
  options: CloneSetOptions;
  strategy: Strategy;
  namespace: string;
  name: string;
  uid: string;
  now: number;
  random: () => number;
  update: Revision;
  current: Revision;
  members: readonly Member[];
  topology: Topology;
  /** Eligibility by revision label of the pod. */
  eligible: Map<string, Eligibility>;
  /** Pods known to need no refresh; a pod's projection never changes, so this outlives passes. */
  settled: WeakMap<Pod, boolean>;
  /** Whether the pod's revision is the one it is meant to have. */
  wantsRevision: (member: Member) => boolean;
}

export interface PlanInput {
  seen: Seen;
  options: CloneSetOptions;
  /** Milliseconds since the epoch. */
  now: number;
  random: () => number;
  settled?: WeakMap<Pod, boolean>;
}

export function planCloneSet(input: PlanInput): Plan<CloneSetStatus> {
  const { seen, options, now } = input;
  const strategy = strategyOf(seen.set, options);
  const { set } = seen;
  const search = findRevision(
    set.metadata.name ?? "",
    set.spec.template,
    seen.revisions,
    set.status?.collisionCount ?? 0,
    seen.revisionData,
  );
  const current = currentRevision(seen, search.update);
  const released = set.metadata.deletionTimestamp === undefined ? planRelease(seen, now) : [];
  const members = withoutReleased(membersOf(seen, strategy, search.update.name, now), released);
  const pass: Pass = {
    seen,
    options,
    strategy,
    namespace: set.metadata.namespace ?? "",
    name: set.metadata.name ?? "",
    uid: set.metadata.uid ?? "",
    now,
    random: input.random,
    update: search.update,
    current,
    members,
    topology: topologyOf(seen),
    eligible: new Map(),
    settled: input.settled ?? new WeakMap(),
    wantsRevision: () => true,
  };
  const decided = set.metadata.deletionTimestamp === undefined ? decide(pass, search.write) : nothing();
  const status = statusOf({
    seen,
    strategy,
    updateRevision: search.update.name,
    currentRevision: current.name,
    collisionCount: search.collisionCount,
    failures: { scale: seen.failures.scale, update: decided.failure ?? seen.failures.update },
    now,
  });
  return {
    actions: [...released, ...decided.actions],
    status,
    waiting: decided.waiting,
    wakeAfterMs: earliest([
      decided.wakeAfterMs,
      soonestAvailable(pass),
      set.metadata.deletionTimestamp === undefined ? untilDeadline(set, status, now) : undefined,
    ]),
  };
}

interface Decided {
  actions: Action[];
  waiting: Waiting[];
  failure: string | undefined;
  wakeAfterMs: number | undefined;
}

function nothing(): Decided {
  return { actions: [], waiting: [], failure: undefined, wakeAfterMs: undefined };
}

function decide(pass: Pass, write: "none" | "create" | "renumber"): Decided {
  const revision = planRevision(pass, write);
  // Pods may only carry the name of a revision that exists.
  if (write === "create") return { ...nothing(), actions: revision };
  const numbers = numbersOf(pass.strategy.limits, countsOf(pass.members), {
    rollback: pass.options.partitionRollback && !sameRevision(pass.update.name, pass.current.name),
    excludePreparingDelete: pass.strategy.excludePreparingDelete,
    preparingUpdateAsUpdate: pass.options.preparingUpdateAsUpdate,
  });
  pass.wantsRevision = (member) => numbers.update >= 0 || !member.updated;
  const scale = planScale(pass, numbers);
  const refresh = planRefresh(withoutTouched(pass, scale.actions));
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
    wakeAfterMs: refresh.wakeAfterMs,
  };
  if (pass.strategy.onDelete || pass.strategy.paused) {
    decided.waiting.push(...heldWaiting(pass));
  } else if (!scale.actions.some((action) => action.type !== "event")) {
    const touched = new Set(
      refresh.actions.map((action) => (action.type === "patch pod" ? action.pod.uid : "")),
    );
    const update = planUpdate(pass, numbers, touched);
    decided.actions.push(...update.actions);
    decided.waiting.push(...update.waiting);
    decided.failure = update.failure;
    decided.wakeAfterMs = earliest([decided.wakeAfterMs, update.wakeAfterMs]);
  }
  decided.waiting.push(...partitionWaiting(pass));
  return decided;
}

/** A pod gets at most one action a pass. */
function withoutTouched(pass: Pass, actions: readonly Action[]): Pass {
  const touched = new Set<string>();
  for (const action of actions) {
    if (action.type === "patch pod" || action.type === "delete pod") touched.add(action.pod.uid);
  }
  return touched.size === 0
    ? pass
    : { ...pass, members: pass.members.filter((member) => !touched.has(member.pod.uid)) };
}

function currentRevision(seen: Seen, update: Revision): Revision {
  const name = seen.set.status?.currentRevision;
  if (name === undefined || name === "" || name === update.name) return update;
  const stored = seen.revisions.find((revision) => revision.name === name);
  return stored === undefined ? update : { name, number: stored.revision, data: stored.data, stored };
}

function planRevision(pass: Pass, write: "none" | "create" | "renumber"): Action[] {
  const { update, seen } = pass;
  const claims = seen.set.spec.volumeClaimTemplates ?? [];
  const claimHash = claims.length > 0 ? String(claimTemplatesHash(claims)) : "";
  if (write === "renumber" && update.stored !== undefined) {
    const body = {
      metadata: {
        uid: update.stored.uid,
        resourceVersion: update.stored.resourceVersion,
        annotations: { [CLAIM_HASH]: claimHash },
      },
      revision: update.number,
    };
    return [{ type: "patch revision", revision: update.stored, body }];
  }
  if (write === "create") {
    const metadata = {
      name: update.name,
      namespace: pass.namespace,
      labels: { ...seen.set.spec.template.metadata?.labels, [HASH_LABEL]: shortHash(update.name) },
      annotations: { ...seen.set.metadata.annotations, [CLAIM_HASH]: claimHash },
      ownerReferences: [ownerReference("CloneSet", pass.name, pass.uid)],
    };
    const body = { apiVersion: "apps/v1", kind: "ControllerRevision", metadata, revision: update.number };
    return [{ type: "create revision", name: update.name, body, data: update.data }];
  }
  return update.stored === undefined ? [] : adoption(pass, update.stored);
}

/** A revision left by an owner that is gone becomes ours, so that it is collected with us. */
function adoption(pass: Pass, revision: ControllerRevision): Action[] {
  if (revision.owners.some((owner) => owner.controller)) return [];
  const body = {
    metadata: {
      uid: revision.uid,
      resourceVersion: revision.resourceVersion,
      ownerReferences: [ownerReference("CloneSet", pass.name, pass.uid)],
    },
  };
  return [{ type: "patch revision", revision, body }];
}

/** The selector that a pod was last found to match; a projection never changes. */
const matching = new WeakMap<Pod, string>();

/** Owned pods whose labels no longer match lose the owner and live on (rule 5). */
function planRelease(seen: Seen, now: number): Extract<Action, { type: "patch pod" }>[] {
  const selector = compileSelector(seen.set.spec.selector);
  const text = formatSelector(seen.set.spec.selector);
  const uid = seen.set.metadata.uid ?? "";
  const released: Extract<Action, { type: "patch pod" }>[] = [];
  for (const pod of seen.pods) {
    if (matching.get(pod) === text) continue;
    if (selector.matches(pod.labels)) {
      matching.set(pod, text);
      continue;
    }
    if (seen.busy.has(pod.uid)) continue;
    const change: PodChange = { releaseOwner: uid };
    const write = { steps: [podPatch(pod, change, now)], after: afterChange(pod, change, now) };
    released.push({ type: "patch pod", pod, write, concern: "scale" });
  }
  return released;
}

function withoutReleased(members: Member[], released: readonly { pod: Pod }[]): Member[] {
  if (released.length === 0) return members;
  const gone = new Set(released.map((action) => action.pod.uid));
  return members.filter((member) => !gone.has(member.pod.uid));
}

function topologyOf(seen: Seen): Topology {
  const constraints = seen.set.spec.template.spec["topologySpreadConstraints"];
  const keys = Array.isArray(constraints)
    ? constraints
        .map((constraint: { topologyKey?: string }) => constraint.topologyKey ?? "")
        .filter((key) => key !== "")
    : [];
  return { keys, nodeLabels: seen.nodeLabels };
}

function countsOf(members: readonly Member[]): Counts {
  const empty = (): ClassCount => ({
    active: 0,
    preDeleting: 0,
    toDelete: 0,
    unavailable: 0,
    preparingUpdate: 0,
  });
  const counts: Counts = { updated: empty(), old: empty() };
  for (const member of members) {
    const count = member.updated ? counts.updated : counts.old;
    if (member.state === "PreparingDelete") {
      count.preDeleting++;
      continue;
    }
    count.active++;
    if (member.state === "PreparingUpdate") count.preparingUpdate++;
    if (member.specified) count.toDelete++;
    else if (!member.available) count.unavailable++;
  }
  return counts;
}

/** Names that are no active pods any more leave `podsToDelete` (rule 36). */
function planPodsToDelete(pass: Pass): Action[] {
  const names = pass.seen.set.spec.scaleStrategy?.podsToDelete ?? [];
  if (names.length === 0) return [];
  // What the server shows decides: a deletion in flight may still fail.
  const active = new Set(pass.seen.stored.filter(isActive).map((pod) => pod.name));
  const rest = names.filter((name) => active.has(name));
  if (rest.length === names.length) return [];
  const body = {
    metadata: { resourceVersion: pass.seen.set.metadata.resourceVersion },
    spec: { scaleStrategy: { podsToDelete: rest.length > 0 ? rest : null } },
  };
  return [{ type: "patch workload", body }];
}

function planHistory(pass: Pass): Action[] {
  const limit = pass.seen.set.spec.revisionHistoryLimit ?? 10;
  if (pass.seen.revisions.length <= limit) return [];
  const live = new Set([shortHash(pass.update.name), shortHash(pass.current.name)]);
  const labels = new Set(pass.members.map(({ pod }) => pod.labels[REVISION_LABEL] ?? ""));
  for (const label of labels) live.add(shortHash(label));
  const surplus = surplusRevisions(pass.seen.revisions, live, limit);
  return surplus.map((revision) => ({ type: "delete revision", revision }));
}

function heldWaiting(pass: Pass): Waiting[] {
  const old = pass.members.filter((member) => !member.updated).length;
  if (old === 0) return [];
  return pass.strategy.paused
    ? [
        {
          reason: "Paused",
          message: `${old} pods are held at an old revision by paused`,
          until: "paused is set to false",
        },
      ]
    : [{ reason: "OnDelete", message: `${old} pods stay at an old revision`, until: "they are deleted" }];
}

function partitionWaiting(pass: Pass): Waiting[] {
  const kept = pass.strategy.limits.partition;
  if (kept === 0) return [];
  const old = pass.members.filter((member) => !member.updated).length;
  if (old === 0 || old > kept) return [];
  return [
    {
      reason: "Partition",
      message: `${old} pods stay at an old revision by partition`,
      until: "partition is lowered",
    },
  ];
}

/** When the next ready pod counts as available: time alone moves a rollout with minReadySeconds. */
function soonestAvailable(pass: Pass): number | undefined {
  if (pass.strategy.minReadySeconds === 0) return undefined;
  return earliest(
    pass.members.map((member) => {
      const left = member.available
        ? undefined
        : untilAvailable(member.pod, pass.strategy.minReadySeconds, pass.now);
      return left === undefined || left === 0 ? undefined : left;
    }),
  );
}

function earliest(times: readonly (number | undefined)[]): number | undefined {
  let first: number | undefined;
  for (const time of times) if (time !== undefined && (first === undefined || time < first)) first = time;
  return first;
}
