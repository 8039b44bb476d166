/** What a SidecarSet needs now, as a pure function of what is seen: no I/O, no clock. Spec: sidecarset 4, rule 30. */
import type { SidecarSet, SidecarSetStatus } from "../../../crds/index.ts";
import { counted, type IntOrString, partitionReplicas, scaledValue } from "../../../kube/core/index.ts";
import type { ControllerRevision, Pod } from "../../../kube/index.ts";
import { Decisions } from "../../rollout/decisions.ts";
import { PlanMemory } from "../../rollout/plan_memory.ts";
import { countedRevisions } from "../../rollout/revisions/revision_counts.ts";
import type { RevisionSearch } from "../../rollout/revisions/revisions.ts";
import type { Action, Plan, Waiting } from "../../rollout/writes/actions.ts";
import { patchPod } from "../../rollout/writes/pod_actions.ts";
import type { MatchedNamespaces, SidecarIndex, SidecarView, Slot } from "./classify.ts";
import { InjectionError } from "./injection/sidecars.ts";
import { missingRevision } from "./injection/version.ts";
import { type Member, rolloutOf } from "./observe.ts";
import { updateOrder } from "./order.ts";
import { findSidecarRevision, planRevision, surplusSidecarRevisions } from "./revisions.ts";
import { patchedMetadata, resetAction, type UpdateTarget, updateAction } from "./update.ts";
import { upgradableChange } from "./upgradable.ts";

const DEFAULT_MAX_UNAVAILABLE = 1;

export interface SidecarSetObserved {
  readonly set: SidecarSet;
  /** Pods that the set selects; writes in flight are already applied to them. */
  readonly pods: SidecarIndex;
  readonly namespaces: MatchedNamespaces;
  /** The set's, sorted by number. */
  readonly revisions: readonly ControllerRevision[];
  /** Data of any revision by name: a name may be taken by another object's. */
  revisionData(name: string): string | undefined;
}

export interface SidecarPlanInput {
  readonly observed: SidecarSetObserved;
  /** Of this program, where revisions are. */
  readonly systemNamespace: string;
  /** Milliseconds since the epoch. */
  readonly now: number;
  /** Default: nothing is known from earlier. */
  readonly memory?: PlanMemory;
}

interface SidecarSetState {
  readonly set: SidecarSet;
  /** The set's, sorted by number. */
  readonly revisions: readonly ControllerRevision[];
  readonly search: RevisionSearch;
  readonly systemNamespace: string;
  readonly pods: SidecarView;
  readonly target: UpdateTarget;
  /** Why new pods are refused. */
  readonly refusal: string | undefined;
  readonly now: number;
}

/** Brings the index of pods up to now, for one plan: its view is good until the next event. */
export function sidecarSetState({
  observed,
  systemNamespace,
  now,
  memory = new PlanMemory(),
}: SidecarPlanInput): SidecarSetState {
  const { set, revisions, namespaces } = observed;
  const rollout = rolloutOf(set);
  const pods = observed.pods.refresh({ rollout, namespaces });
  const search = findSidecarRevision(set, revisions, (name) => observed.revisionData(name), memory);
  const { resourceVersion = "" } = set.metadata;
  const target = { rollout, revision: search.update.name, setVersion: resourceVersion };
  const refusal = missingRevision(set.spec, {
    ofSet: revisions,
    exists: (name) => observed.revisionData(name) !== undefined,
  });
  return { set, revisions, search, systemNamespace, pods, target, refusal, now };
}

export function planSidecarSet(state: SidecarSetState): Plan<SidecarSetStatus> {
  const { set, revisions, search, systemNamespace, pods } = state;
  const decisions = new Decisions();
  if (set.metadata.deletionTimestamp === undefined) {
    for (const action of planRevision(set, search, systemNamespace)) decisions.take(action);
    // Pods may only carry the name of a revision that exists.
    if (search.write !== "create") {
      for (const action of planHistory(state, revisions)) decisions.take(action);
      planPods(state, decisions);
      reportRefusal(state, decisions);
    }
  }
  return decisions.plan(statusOf(set, pods, search));
}

/** Who creates pods sees why they are refused; the set says it, too, as it was fine when it was written. */
function reportRefusal({ refusal }: SidecarSetState, decisions: Decisions): void {
  if (refusal === undefined) return;
  const message = `new pods that the selector matches are refused: ${refusal}`;
  const until = "injectionStrategy.revision is changed";
  decisions.wait({ reason: "InjectionRevision", message, until });
  decisions.take({ type: "event", event: { type: "Warning", reason: "InjectionRevision", message } });
}

function statusOf(
  { metadata }: SidecarSet,
  pods: SidecarView,
  { update, collisionCount }: RevisionSearch,
): SidecarSetStatus {
  const updatedReadyPods = pods.count("updatedReadyPods");
  return {
    observedGeneration: metadata.generation ?? 0,
    matchedPods: pods.count("matchedPods"),
    updatedPods: pods.count("updatedPods"),
    readyPods: pods.count("readyPods"),
    ...(updatedReadyPods > 0 ? { updatedReadyPods } : {}),
    latestRevision: update.name,
    collisionCount,
  };
}

function planHistory(
  { set, pods, target }: SidecarSetState,
  revisions: readonly ControllerRevision[],
): Action[] {
  const used = () => new Set(countedRevisions(pods.counted));
  return surplusSidecarRevisions(set, revisions, target.revision, used).map((revision) => ({
    type: "delete revision",
    revision,
  }));
}

/** A pod gets at most one action a pass: what its sidecars need goes before what is said of it. */
function planPods(state: SidecarSetState, decisions: Decisions): void {
  const { pods, set } = state;
  const { type, paused } = set.spec.updateStrategy ?? {};
  if (type === "NotUpdate") {
    decisions.wait(...held(pods, "NotUpdate", "updateStrategy.type is changed"));
    return;
  }
  if (paused) {
    decisions.wait(...held(pods, "Paused", "paused is set to false"));
  } else {
    planResets(state, decisions);
    planUpdates(state, decisions);
    decisions.wait(...unselected(pods));
    planRefusals(state, decisions);
  }
  reportUpgradable(state, decisions, pods.groups.toAllow, true);
}

function held(pods: SidecarView, reason: string, until: string): Waiting[] {
  const old = pods.count("old");
  return old === 0
    ? []
    : [{ reason, message: `${counted(old, "pod keeps its", "pods keep their")} old sidecars`, until }];
}

function unselected(pods: SidecarView): Waiting[] {
  const count = pods.count("not selected");
  if (count === 0) return [];
  return [
    {
      reason: "Selector",
      message: `${counted(count, "pod keeps its", "pods keep their")} old sidecars: updateStrategy.selector does not match them`,
      until: "the selector matches them or is removed",
    },
  ];
}

function planResets({ pods, target, now }: SidecarSetState, decisions: Decisions): void {
  for (const member of membersOf(pods.entries(pods.groups.toReset)))
    if (decisions.isFree(member)) decisions.take(resetAction(member, target.rollout, now));
}

/** Rule 35: pods that are not ready are updated at once, others as far as the budget goes. */
function planUpdates(state: SidecarSetState, decisions: Decisions): void {
  const { pods, set } = state;
  const { partition, maxUnavailable, priorityStrategy, scatterStrategy } = set.spec.updateStrategy ?? {};
  const { candidates } = pods.groups;
  const total = pods.count("member");
  const wanted = candidates.size - keptByPartition(partition, total);
  if (wanted <= 0) {
    if (candidates.size > 0) decisions.wait(partitionWaiting(candidates.size));
    return;
  }
  const most = numberOf(maxUnavailable ?? DEFAULT_MAX_UNAVAILABLE, total);
  let used = pods.count("unavailable");
  let read = 0;
  const strategy = { priority: priorityStrategy, scatter: scatterStrategy };
  for (const member of updateOrder(candidates, () => everyPod(pods), strategy)) {
    if (read++ >= wanted) break;
    if (member.ready && used >= most) {
      decisions.wait(budgetWaiting(wanted - read + 1, most));
      break;
    }
    if (decisions.isFree(member) && !planUpdate(state, decisions, member)) continue;
    if (member.ready) used++;
  }
}

/** False for a pod whose metadata cannot be patched: it stays as it is, and keeps no other pod waiting. */
function planUpdate({ set, target, now }: SidecarSetState, decisions: Decisions, member: Member): boolean {
  const { pod } = member;
  try {
    const metadata = patchedMetadata(pod, set.spec.patchPodMetadata ?? [], target.rollout.name);
    decisions.take(updateAction(member, target, metadata, now));
    return true;
  } catch (error) {
    if (!(error instanceof InjectionError)) throw error;
    decisions.wait({
      reason: "PodMetadata",
      message: `pod ${pod.name} cannot be updated: ${error.message}`,
      until: "the annotation of the pod or the patch of the set is changed",
      pods: [pod.name],
    });
    return false;
  }
}

function* membersOf(slots: Iterable<Slot>): Generator<Member> {
  for (const { member } of slots) if (member !== undefined) yield member;
}

function* everyPod(pods: SidecarView): Generator<Pod> {
  for (const { pod } of membersOf(pods.every())) yield pod;
}

/** A number counts as it is, however few pods there are. */
function keptByPartition(partition: IntOrString | undefined, total: number): number {
  if (typeof partition === "number") return Math.max(0, partition);
  return orZero(() => partitionReplicas(partition, total));
}

function numberOf(value: IntOrString, total: number): number {
  return orZero(() => scaledValue(value, total, true));
}

/** Text that is no number counts as 0: admission refuses it, older objects may hold it. */
function orZero(compute: () => number): number {
  try {
    return Math.max(0, compute());
  } catch {
    return 0;
  }
}

function partitionWaiting(count: number): Waiting {
  return {
    reason: "Partition",
    message: `${counted(count, "pod keeps its", "pods keep their")} old sidecars by partition`,
    until: "partition is lowered",
  };
}

function budgetWaiting(count: number, most: number): Waiting {
  return {
    reason: "Budget",
    message: `${counted(count, "pod waits", "pods wait")}: maxUnavailable is ${most}`,
    until: "pods that were updated become ready",
  };
}

/** More than images differ: such pods are left as they are until somebody recreates them (rule 32). */
function planRefusals(state: SidecarSetState, decisions: Decisions): void {
  const { pods } = state;
  const count = pods.count("not upgradable");
  if (count === 0) return;
  decisions.wait({
    reason: "NotUpgradable",
    message: `${counted(count, "pod")} cannot be updated in place: more than images of their sidecars differ`,
    until: "they are recreated",
  });
  if (reportUpgradable(state, decisions, pods.groups.toRefuse, false) === 0) return;
  decisions.take({
    type: "event",
    event: {
      type: "Normal",
      reason: "NotUpgradablePods",
      message: `SidecarSet in-place update detected ${count} not upgradable pod(s) in this round, will skip them.`,
    },
  });
}

/** How many pods it was reported to. */
function reportUpgradable(
  { pods, target, now }: SidecarSetState,
  decisions: Decisions,
  slots: Iterable<string>,
  upgradable: boolean,
): number {
  let reported = 0;
  for (const member of membersOf(pods.entries(slots))) {
    if (!decisions.isFree(member)) continue;
    const condition = upgradableChange(member.pod, target.rollout.name, upgradable);
    decisions.take(patchPod(member.pod, { conditions: [condition] }, now, "refresh"));
    reported++;
  }
  return reported;
}
