/** What a budget allows now. Spec: protection A4, rules 6 to 8, 24 to 28. */
import type { PodUnavailableBudget, PodUnavailableBudgetStatus } from "../../../crds/index.ts";
import { scaledValue } from "../../../kube/core/index.ts";
import { messageOf, type Pod } from "../../../kube/index.ts";
import { earliest } from "../../plan/earliest.ts";
import { isActive } from "../../rollout/pods/pod_state.ts";
import { heldEntry, type KnownFor } from "../../runtime/known_entries.ts";
import { isAvailableToBudget, isMarked, relatedBudget } from "./pod_facts.ts";

/** How long an admitted deletion, and an admitted update, counts before it is seen; milliseconds. */
const DELETION_MS = 20_000;
const UPDATE_MS = 10_000;

export interface PodUnavailableBudgetObserved {
  object: PodUnavailableBudget;
  /** Those that the object selects, finished and terminating ones included. */
  pods: readonly Pod[];
  /** Those of an object that had the target's name before it. */
  former: readonly Pod[];
  /** Replicas of their workloads; -1 when unknown. */
  totalReplicas: number;
  /** Whether a budget of this name is there, and may still protect the pod. */
  isProtectedBy: (budget: string, pod: Pod) => boolean;
  /** Of entries of the status: whoever dated them may have another clock. */
  knownFor: KnownFor;
  /** Milliseconds since the epoch. */
  now: number;
}

export interface BudgetPlan {
  status: PodUnavailableBudgetStatus;
  /** Pods that are to carry the name of this budget. */
  link: readonly Pod[];
  /** Pods that are no longer to: nobody counts them, so that nobody could ever let them go, and their names are wanted again. */
  unlink: readonly Pod[];
  /** Pods that were to be deleted and were not. */
  notDeleted: readonly Pod[];
  /** Why the amount cannot be worked out. */
  problem: string | undefined;
  /** No pod is selected. */
  isIdle: boolean;
  requeueAfterMs: number | undefined;
}

export function planBudget(observed: PodUnavailableBudgetObserved): BudgetPlan {
  const { object, now } = observed;
  const active = new Map(observed.pods.filter(isActive).map((pod) => [pod.name, pod]));
  const total = object.spec.protectTotalReplicas ?? observed.totalReplicas;
  const { floor, problem } = floorOf(object, total);
  const terms = { active, now, knownFor: observed.knownFor };
  const deletions = held(object.status?.disruptedPods, DELETION_MS, terms);
  const updates = held(object.status?.unavailablePods, UPDATE_MS, terms);
  const isHeld = (pod: string) => Object.hasOwn(deletions.kept, pod) || Object.hasOwn(updates.kept, pod);
  const available = [...active.values()].filter((pod) => !isHeld(pod.name) && isAvailableToBudget(pod));
  const marked = available.filter(isMarked).length;
  const name = object.metadata.name ?? "";
  return {
    status: {
      observedGeneration: object.metadata.generation ?? 0,
      unavailableAllowed: Math.max(0, available.length - marked - floor),
      currentAvailable: available.length,
      desiredAvailable: floor,
      totalReplicas: total,
      ...(deletions.isEmpty ? {} : { disruptedPods: deletions.kept }),
      ...(updates.isEmpty ? {} : { unavailablePods: updates.kept }),
    },
    link: [...active.values()].filter((pod) => {
      const related = relatedBudget(pod.annotations);
      return related === undefined || (related !== name && !observed.isProtectedBy(related, pod));
    }),
    unlink: observed.former.filter((pod) => isActive(pod) && relatedBudget(pod.annotations) === name),
    notDeleted: deletions.expired.flatMap((pod) => active.get(pod) ?? []),
    problem,
    isIdle: active.size === 0,
    requeueAfterMs: earliest([deletions.nextMs, updates.nextMs]),
  };
}

/** Rule 6. What cannot be read protects nothing, and is reported. */
function floorOf(
  { spec }: PodUnavailableBudget,
  total: number,
): { floor: number; problem: string | undefined } {
  const { maxUnavailable, minAvailable } = spec;
  try {
    const amount = maxUnavailable ?? minAvailable ?? 0;
    const value = scaledValue(amount, Math.max(0, total), true);
    const isMost = maxUnavailable !== undefined && maxUnavailable !== null;
    return { floor: Math.max(0, isMost ? total - value : value), problem: undefined };
  } catch (error) {
    return { floor: 0, problem: messageOf(error) };
  }
}

interface Held {
  kept: Record<string, string>;
  isEmpty: boolean;
  /** Names of active pods whose time is over. */
  expired: string[];
  nextMs: number | undefined;
}

interface HeldTerms extends Pick<PodUnavailableBudgetObserved, "knownFor" | "now"> {
  readonly active: ReadonlyMap<string, Pod>;
}

/** Rule 27: entries of pods that are gone or going are fulfilled, others end with their time. */
function held(
  entries: Readonly<Record<string, string>> | undefined,
  forMs: number,
  { active, ...terms }: HeldTerms,
): Held {
  const result: Held = { kept: {}, isEmpty: true, expired: [], nextMs: undefined };
  for (const [name, date] of Object.entries(entries ?? {})) {
    if (!active.has(name)) continue;
    const { at, leftMs } = heldEntry({ name, date }, forMs, terms);
    if (leftMs <= 0) {
      result.expired.push(name);
      continue;
    }
    result.kept[name] = at;
    result.isEmpty = false;
    result.nextMs = earliest([result.nextMs, leftMs]);
  }
  return result;
}
