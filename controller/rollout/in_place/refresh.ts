/** What a pod needs whatever its workload's strategy says, as far as the pod itself tells. Spec: inplace-update 4.4. */
import type { Pod } from "../../../kube/index.ts";
import type { Decisions } from "../decisions.ts";
import { withoutStaleMark } from "../lifecycle/hooks.ts";
import type { LifecycleState } from "../lifecycle/lifecycle.ts";
import { KRUISE_READY } from "../pods/pod_state.ts";
import type { PodView } from "../pods/pod_view.ts";
import { needsKruiseReady } from "../pods/readiness.ts";
import { sameRevision } from "../revisions/revisions.ts";
import type { Action, PodPatchAction, Waiting } from "../writes/actions.ts";
import { patchPod, waitingInPlace, writePod } from "../writes/pod_actions.ts";
import { type ConditionChange, type PodChange, podWrite } from "../writes/pod_patch.ts";
import { brokenStateEvents } from "./broken_state.ts";
import { graceState, inPlaceState } from "./state.ts";
import { type InPlaceOptions, type InPlaceStep, refreshInPlace } from "./update.ts";

/** On pods of every kind. */
const REVISION_LABEL = "controller-revision-hash";

export interface RefreshContext {
  readonly options: InPlaceOptions;
  /** Milliseconds since the epoch. */
  readonly now: number;
  /** Pods of which it is known whether they need anything; a projection never changes, so this outlives passes. */
  readonly refreshed: WeakMap<Pod, boolean>;
}

export interface Refresh {
  /** Nothing is to be done. */
  readonly isDone: boolean;
  /** What only its node can bring: neither gates nor a state are to be written meanwhile. */
  readonly awaited: Waiting | undefined;
  /** Its state cannot be read, and that was not reported yet. */
  readonly isBroken: boolean;
}

/** Of a pod of which nobody asks, because a write of it is in flight or it is on its way out. */
export const notAsked: Refresh = { isDone: true, awaited: undefined, isBroken: false };

export function refreshOf(
  { pod, state }: { readonly pod: Pod; readonly state: LifecycleState },
  context: RefreshContext,
): Refresh {
  const isNormal = state === "" || state === "Normal";
  const isNews = isNormal && !context.refreshed.has(pod);
  const isDone = isNormal && isRefreshed(pod, context);
  return {
    isDone,
    awaited: isDone || !(isNormal || state === "Updating") ? undefined : awaitedOf(pod, context),
    isBroken: isNews && eventsOfBroken(pod).length > 0,
  };
}

/** Decided once for each projection: in the common case there is nothing to do for a pod that is as it should be. */
function isRefreshed(pod: Pod, context: RefreshContext): boolean {
  const known = context.refreshed.get(pod);
  if (known !== undefined) return known;
  const refreshed =
    stepOf(pod, context).kind === "done" && !needsKruiseReady(pod) && withoutStaleMark(pod).length === 0;
  context.refreshed.set(pod, refreshed);
  return refreshed;
}

function awaitedOf(pod: Pod, context: RefreshContext): Waiting | undefined {
  const step = needsKruiseReady(pod) ? undefined : stepOf(pod, context);
  if (step?.kind !== "waiting" || step.requeueAfterMs !== undefined) return undefined;
  return waitingInPlace(pod, step);
}

/** The next step of the pod's update in place to the revision that its label names. */
export function stepOf(pod: Pod, { options, now }: Pick<RefreshContext, "options" | "now">): InPlaceStep {
  const revision = pod.labels[REVISION_LABEL] ?? "";
  return refreshInPlace(pod, (wanted) => wanted === revision || sameRevision(wanted, revision), options, now);
}

function eventsOfBroken(pod: Pod): Action[] {
  return brokenStateEvents(pod, inPlaceState(pod), graceState(pod));
}

interface RefreshedPods {
  readonly pods: Pick<
    PodView<
      { readonly broken: Iterable<string>; readonly awaitingNode: Iterable<string> },
      never,
      { readonly pod: Pod | undefined; readonly refresh: Refresh }
    >,
    "groups" | "entries"
  >;
}

export function reportBroken({ pods }: RefreshedPods, decisions: Decisions): void {
  for (const { pod } of pods.entries(pods.groups.broken))
    if (pod !== undefined) decisions.takeAll(eventsOfBroken(pod));
}

/** What pods wait for that get no action in this pass. A rollout has as many of them as its budget allows. */
export function* awaitedOfNodes({ pods }: RefreshedPods, decisions: Decisions): Generator<Waiting> {
  for (const { pod, refresh } of pods.entries(pods.groups.awaitingNode))
    if (refresh.awaited !== undefined && pod !== undefined && !decisions.isTaken(pod)) yield refresh.awaited;
}

/** Readiness gates of ours that may be True now. */
export function gatesOf(pod: Pod, step: InPlaceStep): ConditionChange[] {
  const gates = step.kind === "gate" ? [...step.conditions] : [];
  gates.push(...withoutStaleMark(pod));
  return needsKruiseReady(pod) ? [...gates, { type: KRUISE_READY, status: "True" }] : gates;
}

/**
 * A pod that was never updated gets its gates whatever its status says, so only the UID is a precondition; what
 * `dependsOnSeen` is refused when the pod has changed.
 */
export function refreshPod(pod: Pod, change: PodChange, now: number, dependsOnSeen: boolean): PodPatchAction {
  if (dependsOnSeen || inPlaceState(pod).value !== undefined) return patchPod(pod, change, now, "refresh");
  const how = (change.conditions ?? []).length > 0 ? { subresource: "status" as const } : {};
  return writePod(pod, podWrite(pod, change, now, how), "refresh");
}
