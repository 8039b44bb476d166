/** What a UnitedDeployment reports. Pure. Spec: uniteddeployment 3, 5. */
import type { UnitedDeployment, UnitedDeploymentStatus } from "../../../crds/index.ts";
import { formatSelector, formatTime, transitionNotAhead } from "../../../kube/core/index.ts";
import type { RevisionSearch } from "../../rollout/revisions/revisions.ts";
import { RESERVED_LABEL, REVISION_LABEL } from "./names.ts";
import type { PlannedSubset } from "./planned_subset.ts";
import { afterGrowth, scheduleStrategyOf } from "./schedulability.ts";

interface Reported {
  readonly object: UnitedDeployment;
  readonly subsets: readonly PlannedSubset[];
  readonly revision: RevisionSearch;
  /** Why the numbers cannot be met. */
  readonly problem: string | undefined;
  /** What went wrong with writes; empty: nothing. */
  readonly failure: string;
  readonly now: number;
}

type SubsetStatus = NonNullable<UnitedDeploymentStatus["subsetStatuses"]>[number];

export function unitedStatus(reported: Reported): UnitedDeploymentStatus {
  const { object, subsets, revision, now } = reported;
  const before = object.status;
  const reserved = sum(subsets.map(({ state }) => state.reserved));
  const replicas = Math.max(0, sum(subsets.map(({ child }) => child?.currentReplicas ?? 0)) - reserved);
  const active = sum(subsets.map(({ pods }) => pods.active));
  const updatedReadyReplicas = sum(subsets.map(({ pods }) => pods.updatedReady));
  const { name } = revision.update;
  // A subset whose workload is still to be made or changed has nothing that could be old.
  const areChanged = subsets.every(({ child }) => child?.labels[REVISION_LABEL] === name);
  // Pods are counted as well: what a workload reports of itself may be older than they are.
  const isUpdated = areChanged && updatedReadyReplicas >= Math.max(replicas, active - reserved);
  const currentRevision = isUpdated ? name : before?.currentRevision || name;
  return {
    observedGeneration: object.metadata.generation ?? 0,
    replicas,
    readyReplicas: sum(subsets.map(({ child }) => child?.readyReplicas ?? 0)),
    updatedReplicas: sum(subsets.map(({ pods }) => pods.updated)),
    updatedReadyReplicas,
    ...(reserved > 0 || before?.reservedPods !== undefined ? { reservedPods: reserved } : {}),
    ...(revision.collisionCount > 0 ? { collisionCount: revision.collisionCount } : {}),
    currentRevision,
    updatedRevision: name,
    labelSelector: selectorText(object),
    subsetStatuses: subsets.map((subset) => subsetStatus(subset, before?.subsetStatuses ?? [], now)),
    conditions: [...conditions(reported, currentRevision === name)],
  };
}

function sum(amounts: readonly number[]): number {
  return amounts.reduce((all, each) => all + each, 0);
}

/** Autoscalers must not see pods that count for nothing. */
function selectorText({ spec }: UnitedDeployment): string {
  const text = formatSelector(spec.selector);
  return scheduleStrategyOf(spec).mode === "reserved" ? `${text},${RESERVED_LABEL}=false` : text;
}

/** While the numbers cannot be met a subset keeps what it has. */
function subsetStatus(planned: PlannedSubset, before: readonly SubsetStatus[], now: number): SubsetStatus {
  const { subset, child, state, partition } = planned;
  const present = before.find(({ name }) => name === subset.name);
  const replicas = planned.replicas ?? present?.replicas ?? child?.replicas ?? 0;
  const condition = afterGrowth(state, replicas > (child?.replicas ?? 0), now);
  const others = (present?.conditions ?? []).filter(({ type }) => type !== condition?.type);
  const all = condition === undefined ? others : [...others, condition];
  return {
    name: subset.name,
    replicas,
    readyReplicas: child?.readyReplicas ?? 0,
    partition,
    ...(state.reserved > 0 || present?.reservedPods !== undefined ? { reservedPods: state.reserved } : {}),
    ...(all.length === 0 ? {} : { conditions: all }),
  };
}

type LooseCondition = NonNullable<UnitedDeploymentStatus["conditions"]>[number];

/** Rule 5 of the names. The API finds out failures and never shows them: here the conditions that it has for them do. */
function conditions(
  { object, revision, problem, failure, subsets, now }: Reported,
  isUpdated: boolean,
): readonly LooseCondition[] {
  const before = object.status?.conditions ?? [];
  const { name } = revision.update;
  const updated = isUpdated
    ? { status: "True", reason: "UnitedDeploymentRevisionUpdated", message: `updated to revision ${name}` }
    : {
        status: "False",
        reason: "UnitedDeploymentRevisionUpdating",
        message: `updating to revision ${name}`,
      };
  const isProvisioned = subsets.every(({ child }) => child !== undefined);
  const next: LooseCondition[] = [{ type: "UnitedDeploymentUpdated", ...updated }];
  if (problem !== undefined) next.push({ type: "SubsetProvisioned", ...failed(problem) });
  else if (isProvisioned) next.push({ type: "SubsetProvisioned", ...good });
  if (failure !== "") next.push({ type: "SubsetUpdated", ...failed(failure) });
  else if (problem === undefined && isProvisioned) next.push({ type: "SubsetUpdated", ...good });
  const others = before.filter(({ type }) => !next.some((condition) => condition.type === type));
  return [...others, ...next.map((condition) => transitioned(before, condition, now))].sort(byType);
}

const good = { status: "True", reason: "", message: "" };

function failed(message: string): LooseCondition {
  return { status: "False", reason: "Error", message };
}

/** Written again only when the status is another one, or when a failure is. */
function transitioned(before: readonly LooseCondition[], next: LooseCondition, now: number): LooseCondition {
  const present = before.find(({ type }) => type === next.type);
  if (present === undefined || present.status !== next.status)
    return { ...next, lastTransitionTime: formatTime(now) };
  const kept = transitionNotAhead(present, now);
  return next.reason === "Error" ? { ...kept, message: next.message } : kept;
}

function byType(a: LooseCondition, b: LooseCondition): number {
  return (a.type ?? "") < (b.type ?? "") ? -1 : 1;
}
