/**
 * What a UnitedDeployment needs now, as a pure function of what is seen: how many pods each subset gets, which workloads are
 * made, changed and deleted, what is reported. One plan for all kinds of workload. Spec: uniteddeployment 4.
 */
import {
  subsetTemplatesOf,
  type UnitedDeployment,
  type UnitedDeploymentStatus,
} from "../../../crds/index.ts";
import { type JsonObject, PatchError, timeOf } from "../../../kube/core/index.ts";
import type { ControllerRevision, Pod } from "../../../kube/index.ts";
import { numberAt, objectAt } from "../../native/json_fields.ts";
import { earliest } from "../../plan/earliest.ts";
import { ordinalIn } from "../../rollout/pods/numbered_names.ts";
import {
  currentRevision,
  type RevisionSearch,
  shortHash,
  surplusRevisions,
} from "../../rollout/revisions/revisions.ts";
import { type Allocation, allocate } from "./allocation.ts";
import {
  type ChildManifest,
  childManifest,
  patchText,
  type SubsetTarget,
  samePatch,
} from "./child_manifest.ts";
import { podsByWorkload, type SubsetPods, type UnitedIndex } from "./classify.ts";
import { REVISION_LABEL, SUBSET_LABEL } from "./names.ts";
import type { PlannedSubset } from "./planned_subset.ts";
import { findUnitedRevision } from "./revision.ts";
import {
  type RolloutRevisions,
  type Schedulability,
  type ScheduleStrategy,
  schedulabilityOf,
  scheduleStrategyOf,
} from "./schedulability.ts";
import { unitedStatus } from "./status.ts";
import type { SubsetWorkload, WorkloadKind } from "./workload.ts";
import { workloadKinds } from "./workloads.ts";

export interface UnitedDeploymentObserved {
  readonly object: UnitedDeployment;
  /** Workloads of any kind that the object controls. */
  readonly children: readonly SubsetWorkload[];
  /** Those that its selector matches, whoever owns them; brought up to now by the plan. */
  readonly pods: Pick<UnitedIndex, "refresh">;
  /** Sorted by number. */
  readonly revisions: readonly ControllerRevision[];
  /** The data of a revision that is somebody else's, by its name. */
  taken(name: string): string | undefined;
  /** What the server refused in the pass before; empty: nothing. */
  readonly failure: string;
  /** Milliseconds since the epoch. */
  readonly now: number;
}

export interface UnitedPlan {
  readonly kind: WorkloadKind | undefined;
  /** To be written before anything refers to it. */
  readonly revision: RevisionSearch | undefined;
  readonly surplus: readonly ControllerRevision[];
  /** More than one of a subset, of no subset, of another kind: in the order of deletion. */
  readonly deletions: readonly SubsetWorkload[];
  /** Sorted by name. */
  readonly creations: readonly SubsetChange[];
  readonly updates: readonly (SubsetChange & { readonly child: SubsetWorkload })[];
  /** Subsets that stay as they are, because their patch cannot be applied. */
  readonly unpatched: readonly UnpatchedSubset[];
  /** Old pods that keep their set from going on. */
  readonly brokenPods: readonly Pod[];
  readonly labels: Schedulability["labels"];
  /** Why the numbers cannot be met; undefined when they are. */
  readonly problem: string | undefined;
  readonly status: UnitedDeploymentStatus | undefined;
  /** What comes later is decided by this status: it is to be stored before anything follows from it. */
  readonly isRemembered: boolean;
  readonly requeueAfterMs: number | undefined;
}

/** A workload that is to be made or changed. */
export interface SubsetChange {
  readonly target: SubsetTarget;
  readonly manifest: ChildManifest;
}

interface UnpatchedSubset {
  readonly target: SubsetTarget;
  /** Absent where it is still to be made. */
  readonly child: SubsetWorkload | undefined;
  readonly message: string;
}

const nothing: UnitedPlan = {
  kind: undefined,
  revision: undefined,
  surplus: [],
  deletions: [],
  creations: [],
  updates: [],
  unpatched: [],
  brokenPods: [],
  labels: [],
  problem: undefined,
  status: undefined,
  isRemembered: false,
  requeueAfterMs: undefined,
};

export function planUnitedDeployment(observed: UnitedDeploymentObserved): UnitedPlan {
  const { object, now } = observed;
  const [template] = subsetTemplatesOf(object.spec);
  // What it owns is collected with it; an object without a template was stored around admission.
  if (object.metadata.deletionTimestamp !== undefined || template === undefined) return nothing;
  const kind = workloadKinds[template.name];
  const revision = findUnitedRevision(object, observed.revisions, observed.taken);
  const { kept, duplicates, surplus } = childrenBySubset(observed, kind, revision.update.name);
  const strategy = scheduleStrategyOf(object.spec);
  const context = { revision: revision.update.name, reserves: strategy.mode === "reserved" };
  const podsOf = podsByWorkload(observed.pods.refresh(context));
  const { subsets, problem } = planSubsets(observed, strategy, kept, podsOf, revision.update.name);
  const changes = (problem === undefined ? subsets : [])
    .map((planned) => {
      const room = leastUnavailable(planned, kind, objectAt(template.template, "spec"));
      const target = targetOf(planned, revision.update.name, room);
      return { planned, target, child: planned.child, room };
    })
    .filter(
      ({ planned, target, child, room }) =>
        child === undefined ||
        (!child.isDeleting && (differs(child, target) || isHeldUp(planned, child, kind, room))),
    );
  const { creations, updates, unpatched } = changesWithManifests(object, kind, changes);
  const steady = subsets.filter(({ child }) => !changes.some((change) => change.child === child));
  const failure = unpatched[0]?.message ?? observed.failure;
  const status = unitedStatus({ object, subsets, revision, problem, failure, now });
  return {
    kind,
    revision,
    surplus: surplusOf(observed, revision, status),
    // While the numbers cannot be met nothing takes the place of what goes.
    deletions: [
      ...duplicates,
      ...(problem === undefined ? surplus.filter((child) => !keepsPlace(child, unpatched)) : []),
    ],
    creations: creations.sort((a, b) => (a.target.subset.name < b.target.subset.name ? -1 : 1)),
    updates,
    unpatched,
    // A partition that is still to be written may keep them.
    brokenPods: brokenPods(kind, steady, revision.update.name),
    labels: subsets.flatMap(({ state }) => state.labels),
    problem,
    status,
    // Which subsets are closed, and since when, nothing else says.
    isRemembered: strategy.mode !== "fixed",
    requeueAfterMs: earliest(subsets.map(({ state }) => state.requeueAfterMs)),
  };
}

type Changes = { -readonly [Part in "creations" | "updates" | "unpatched"]: [...UnitedPlan[Part]] };

/** A patch that cannot be applied does not hold up the other subsets. */
function changesWithManifests(
  object: UnitedDeployment,
  kind: WorkloadKind,
  changes: readonly { readonly target: SubsetTarget; readonly child: SubsetWorkload | undefined }[],
): Changes {
  const found: Changes = { creations: [], updates: [], unpatched: [] };
  for (const { target, child } of changes) {
    try {
      const manifest = childManifest(object, kind, target);
      if (child === undefined) found.creations.push({ target, manifest });
      else found.updates.push({ child, target, manifest });
    } catch (error) {
      if (!(error instanceof PatchError)) throw error;
      found.unpatched.push({ target, child, message: error.message });
    }
  }
  return found;
}

/** Of another kind, for a subset whose patch cannot be applied: nothing would take its place. */
function keepsPlace({ labels }: SubsetWorkload, unpatched: readonly UnpatchedSubset[]): boolean {
  return unpatched.some(
    ({ child, target }) => child === undefined && target.subset.name === labels[SUBSET_LABEL],
  );
}

/** Rules 12, 28, 29. `duplicates`: of a subset that has a better one; `surplus`: of no subset, or of another kind. */
function childrenBySubset(
  { object, children }: UnitedDeploymentObserved,
  kind: WorkloadKind,
  revision: string,
): Record<"duplicates" | "surplus", SubsetWorkload[]> & { kept: Map<string, SubsetWorkload> } {
  const wanted = new Set((object.spec.topology?.subsets ?? []).map(({ name }) => name));
  const kept = new Map<string, SubsetWorkload>();
  const duplicates: SubsetWorkload[] = [];
  const surplus: SubsetWorkload[] = [];
  const mine = children.filter(({ template }) => template === kind.template);
  for (const child of mine.toSorted((a, b) => byMerit(a, b, revision))) {
    const name = child.labels[SUBSET_LABEL] ?? "";
    if (!wanted.has(name)) surplus.push(child);
    else if (kept.has(name)) duplicates.push(child);
    else kept.set(name, child);
  }
  surplus.push(...children.filter(({ template }) => template !== kind.template));
  const staying = (all: readonly SubsetWorkload[]) => all.filter(({ isDeleting }) => !isDeleting);
  return { kept, duplicates: staying(duplicates), surplus: staying(surplus) };
}

/** Of several for one subset: one that stays, at the newest revision, the oldest. */
function byMerit(a: SubsetWorkload, b: SubsetWorkload, revision: string): number {
  const at = ({ labels }: SubsetWorkload) => Number(labels[REVISION_LABEL] !== revision);
  return (
    Number(a.isDeleting) - Number(b.isDeleting) ||
    at(a) - at(b) ||
    a.createdAt - b.createdAt ||
    (a.name < b.name ? -1 : 1)
  );
}

function planSubsets(
  { object, now }: UnitedDeploymentObserved,
  strategy: ScheduleStrategy,
  kept: ReadonlyMap<string, SubsetWorkload>,
  podsOf: (child: SubsetWorkload | undefined) => SubsetPods,
  revision: string,
): { subsets: readonly PlannedSubset[]; problem: string | undefined } {
  const { spec, status } = object;
  const rollout: RolloutRevisions = { revision, since: updatingSince(object) };
  const observed = (spec.topology?.subsets ?? []).map((subset) => {
    const child = kept.get(subset.name);
    const pods = podsOf(child);
    const known = status?.subsetStatuses ?? [];
    const conditions = known.find(({ name }) => name === subset.name)?.conditions;
    const isKnown = known.some(({ name }) => name === subset.name);
    const before = {
      child,
      pods,
      conditions: isKnown ? (conditions ?? []) : undefined,
      isAdded: known.length > 0,
    };
    return { subset, child, pods, state: schedulabilityOf(before, strategy, rollout, now) };
  });
  const allocation: Allocation = allocate(
    observed.map(({ subset, child, state }) => ({
      ...subset,
      unschedulable: state.unschedulable,
      child: child && {
        replicas: child.replicas,
        readyReplicas: child.readyReplicas,
        reserved: state.reserved + state.awaited,
        marked: state.marked,
      },
    })),
    spec.replicas ?? undefined,
    strategy.mode === "fixed" ? "byNumber" : strategy.mode,
  );
  const partitions = spec.updateStrategy?.manualUpdate?.partitions ?? {};
  const subsets = observed.map((each, index): PlannedSubset => {
    const replicas = "problem" in allocation ? undefined : (allocation.replicas[index] ?? 0);
    const requested = Object.hasOwn(partitions, each.subset.name) ? (partitions[each.subset.name] ?? 0) : 0;
    const most = replicas ?? each.child?.replicas ?? 0;
    return { ...each, replicas, partition: Math.max(0, Math.min(requested, most)) };
  });
  return { subsets, problem: "problem" in allocation ? allocation.problem : undefined };
}

/** Since when the object has been going to its newest revision, as its status says; milliseconds since the epoch. */
function updatingSince({ status }: UnitedDeployment): number | undefined {
  const updated = status?.conditions?.find(({ type }) => type === "UnitedDeploymentUpdated");
  return updated?.status === "False" ? timeOf(updated.lastTransitionTime) : undefined;
}

/** `room`: see `leastUnavailable`. */
function targetOf(
  { subset, child, state, replicas, partition }: PlannedSubset,
  revision: string,
  room: number,
): SubsetTarget {
  const target = { subset, revision, replicas: replicas ?? 0, partition };
  if (!state.unschedulable || state.reserved + state.awaited === 0 || child === undefined) return target;
  const pending = Math.max(0, child.replicas - child.readyReplicas) + state.reservedOld;
  // All of them run, and prove that they do: a share of the template that comes to 0 would be refused as a number without a surge.
  if (pending === 0 && state.stuck === 0) return target;
  return { ...target, maxUnavailable: Math.max(pending, room) };
}

/** What the template allows beside pods that no node takes: they must not use it up. Rule 46. */
function leastUnavailable({ child, state }: PlannedSubset, kind: WorkloadKind, template: JsonObject): number {
  return state.stuck + (kind.maxUnavailable?.of(template, child?.replicas ?? 0) ?? 0);
}

/** The workload has pods to update, and less room for that than it was given: others have become pending meanwhile. */
function isHeldUp(
  { state, pods, partition }: PlannedSubset,
  child: SubsetWorkload,
  kind: WorkloadKind,
  room: number,
): boolean {
  const kept = kind.setPartition === undefined ? 0 : partition;
  if (state.stuck === 0 || pods.active - pods.updated <= kept) return false;
  return (kind.maxUnavailable?.of(child.spec, child.replicas) ?? Infinity) < room;
}

/** Rule 30. */
function differs(child: SubsetWorkload, { subset, revision, replicas, partition }: SubsetTarget): boolean {
  const hasPartition = workloadKinds[child.template].setPartition !== undefined && !child.updatesOnDelete;
  return (
    child.labels[REVISION_LABEL] !== revision ||
    child.replicas !== replicas ||
    (hasPartition && child.partition !== partition) ||
    !samePatch(child.patch, patchText(subset))
  );
}

/** Rule 33: of sets that are at the newest revision, old pods that are not ready and would be updated. */
function brokenPods(kind: WorkloadKind, subsets: readonly PlannedSubset[], revision: string): Pod[] {
  if (!kind.brokenPodsBlock) return [];
  return subsets.flatMap(({ child, pods }) => {
    if (child === undefined || child.isDeleting || child.updatesOnDelete) return [];
    if (child.labels[REVISION_LABEL] !== revision) return [];
    // A partition counts pods, from the first ordinal on.
    const first = numberAt(objectAt(child.spec, "ordinals"), "start") ?? 0;
    return pods.stale.filter((pod) => (ordinalIn(pod.name) ?? -1) - first >= (child.partition ?? Infinity));
  });
}

/** Rule 9: as the stored status still names it, what workloads are made of stays where the server refuses the next revision. */
function surplusOf(
  { object, revisions }: UnitedDeploymentObserved,
  { update }: RevisionSearch,
  { currentRevision: current }: UnitedDeploymentStatus,
): ControllerRevision[] {
  const { spec, status } = object;
  const live = new Set([update.name, currentRevision(current, revisions, update).name].map(shortHash));
  const limit = spec.revisionHistoryLimit ?? 10;
  // Those in use count, too: no more than the limit are kept.
  const most = Math.max(0, limit - live.size);
  return surplusRevisions(revisions, live.add(shortHash(status?.updatedRevision ?? "")), most);
}
