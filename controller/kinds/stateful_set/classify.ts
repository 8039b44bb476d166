/** What one ordinal of a StatefulSet counts as, and what it gives a pass to do. */
import type { Pod } from "../../../kube/index.ts";
import { notAsked, type Refresh, refreshOf } from "../../rollout/in_place/refresh.ts";
import { isAsked } from "../../rollout/lifecycle/lifecycle.ts";
import { awaitsMinReady } from "../../rollout/pods/min_ready.ts";
import { NamedPods, type PodSource } from "../../rollout/pods/named_pods.ts";
import { PodIndex, type SlotPods } from "../../rollout/pods/pod_index.ts";
import { isAvailable, isReady } from "../../rollout/pods/pod_state.ts";
import type { PodClass } from "../../rollout/pods/pod_view.ts";
import { isUpdateComplete } from "../../rollout/pods/readiness.ts";
import { revisionCount } from "../../rollout/revisions/revision_counts.ts";
import { CREATING, type PendingPods } from "../../rollout/writes/pending_pods.ts";
import { fittingClaim, isHeldByClaim } from "./claim_growth.ts";
import { hasWrongOwners, missingClaims } from "./claims.ts";
import { isDue } from "./refresh.ts";
import {
  byOrdinal,
  type Group,
  type Groups,
  newGroups,
  type StatefulSetCount,
  type StatefulSetSlot,
} from "./slots.ts";
import type { StatefulSetContext } from "./state.ts";
import { memberOf, ordinalOf, REVISION_LABEL, type StatefulSetMember } from "./strategy.ts";
import { isTakenAsUpdated } from "./take_over.ts";

export interface SetSource extends PodSource {
  /** Of the set. */
  readonly uid: string;
  readonly name: string;
  inFlight(): PendingPods;
}

/**
 * Its source has the pods that the set controls, and those with its name that nobody controls. A pod under one of the set's names
 * may also be another owner's.
 */
export class SetIndex extends PodIndex<StatefulSetContext, Groups, StatefulSetCount, StatefulSetSlot> {
  readonly #name: string;

  constructor(source: SetSource) {
    super(
      new NamedPods(source),
      source.inFlight,
      {
        compare: byOrdinal,
        *slots({ name, strategy }) {
          for (const ordinal of strategy.window) yield `${name}-${ordinal}`;
        },
        basisOf: ({ update, current, strategy, observed }) =>
          JSON.stringify([update.name, current.name, strategy, observed.set.spec.selector]),
        classify,
      },
      newGroups(),
    );
    this.#name = source.name;
  }

  /** A claim of this name came, changed or went. */
  claimChanged(claim: string): void {
    const ordinal = /\d+$/.exec(claim)?.[0];
    if (ordinal !== undefined) this.touch(`${this.#name}-${ordinal}`);
  }
}

/** Where the pod of one name is. */
interface Place {
  readonly ordinal: number | undefined;
  /** As the server shows it, if the set or nobody controls it. */
  readonly stored: Pod | undefined;
  readonly pod: Pod | undefined;
  /** A write of it is in flight. */
  readonly busy: boolean;
}

function classify(
  pods: SlotPods,
  context: StatefulSetContext,
): PodClass<Group, StatefulSetCount, StatefulSetSlot> | undefined {
  const place = placeOf(pods, context);
  const { ordinal, pod, busy } = place;
  if (pod === undefined && (ordinal === undefined || !context.strategy.window.has(ordinal))) return undefined;
  const adopted = isAdopted(pod, context);
  const apart = adopted ? undefined : apartOf(place, context);
  const member = apart === undefined ? memberAt(place, adopted, context) : undefined;
  const stored = place.stored?.controller?.uid === context.uid ? place.stored : undefined;
  const isAsked = member !== undefined && !member.busy && !member.finished;
  const refresh = isAsked ? refreshOf(member, context) : notAsked;
  const isMaturing = awaitsMinReady(member, stored, context.strategy.minReadySeconds, context.now);
  const groups: Group[] = ordinal === undefined ? [] : groupsOf(context, ordinal, member, refresh);
  if (isMaturing) groups.push("awaitingMinReady");
  if (refresh.isBroken) groups.push("broken");
  if (adopted && !busy) groups.push("toAdopt");
  if (apart !== undefined && apart !== "orphan") groups.push(apart);
  return {
    groups,
    counts: [...countsOf(member), ...(stored === undefined ? [] : storedCounts(context, stored, ordinal))],
    entry: { ordinal, pod, member, refresh },
    atRest: member !== undefined && groups.length === 0,
    expires: adopted || apart === "orphan" || isMaturing || refresh.isBroken,
  };
}

function placeOf({ slot, stored: [found], writes }: SlotPods, { name, uid }: StatefulSetContext): Place {
  const ordinal = ordinalOf(name, slot);
  const isOurs = found?.controller === undefined ? ordinal !== undefined : found.controller.uid === uid;
  const stored = isOurs ? found : undefined;
  const write = stored === undefined ? unstored(writes) : writes.get(stored.uid);
  return { ordinal, stored, pod: write ?? stored, busy: write !== undefined };
}

/**
 * A pod that is not stored is there while it is created; and while its deletion is under way, as nobody knows yet that
 * it has gone.
 */
function unstored(writes: ReadonlyMap<string, Pod>): Pod | undefined {
  let created: Pod | undefined;
  for (const [id, pod] of writes) {
    if (pod.deletionAt !== undefined) return pod;
    if (id.startsWith(CREATING)) created = pod;
  }
  return created;
}

/**
 * Rule 6: whether this pass adopts a pod that nobody controls. Pods may only carry the name of a revision that exists, so those
 * that will carry it wait until it does.
 */
function isAdopted(pod: Pod | undefined, { observed, write, update, selector }: StatefulSetContext): boolean {
  if (pod === undefined || pod.controller !== undefined || pod.deletionAt !== undefined) return false;
  if (observed.set.metadata.deletionTimestamp !== undefined || !selector.matches(pod.labels)) return false;
  return write !== "create" || !isTakenAsUpdated(pod, update, observed.revisions);
}

/** What a pod is that is no member. */
function apartOf(
  { pod, ordinal, busy }: Place,
  { selector }: StatefulSetContext,
): "orphan" | "toRelease" | "strangers" | undefined {
  if (pod === undefined) return undefined;
  if (pod.controller === undefined) return "orphan";
  if (pod.deletionAt !== undefined) return undefined;
  if (!busy && !selector.matches(pod.labels)) return "toRelease";
  return ordinal === undefined ? "strangers" : undefined;
}

/** Undefined where nobody is, or who is there has no ordinal. */
function memberAt(
  { pod, ordinal, stored, busy }: Place,
  adopted: boolean,
  context: StatefulSetContext,
): StatefulSetMember | undefined {
  if (pod === undefined || ordinal === undefined) return undefined;
  const { strategy, update, uid, now } = context;
  const shown = stored?.controller?.uid === uid ? stored : pod;
  return memberOf(pod, shown, ordinal, busy || adopted, strategy, update.name, now);
}

function groupsOf(
  context: StatefulSetContext,
  ordinal: number,
  member: StatefulSetMember | undefined,
  refresh: Refresh,
): Group[] {
  const rank = context.strategy.window.rankOf(ordinal);
  if (member === undefined)
    return rank === undefined ? [] : ["missing", "unhealthy", "acting", "unavailable"];
  const found: Group[] = [];
  const { terminating } = member;
  if (rank === undefined) {
    found.push("condemned");
    if (!terminating || hasWrongOwners(context, member)) found.push("leaving");
  } else {
    const unhealthy = terminating || !member.available;
    if (unhealthy) found.push("unhealthy");
    if (!terminating && isActing(context, member)) found.push("acting");
    const isUpdating = !isUpdateComplete(member.pod, context.options);
    if (unhealthy || isUpdating || isHeldByClaim(context, ordinal)) found.push("unavailable");
    if (!terminating && member.specified) found.push("specified");
    if (!terminating && !member.updated && rank >= context.strategy.partition) {
      found.push("outdated");
      if (isAsked(member.state)) found.push("begun");
    }
  }
  if (!terminating && isDue(context, member, refresh)) found.push("due");
  if (!terminating && refresh.awaited !== undefined) found.push("awaitingNode");
  return found;
}

/** Its end is to be followed by its deletion; or it waits for claims that are not there, and that nobody is making. */
function isActing(context: StatefulSetContext, { finished, pod, ordinal, busy }: StatefulSetMember): boolean {
  return finished || (!busy && pod.phase === "Pending" && missingClaims(context, ordinal).claims.length > 0);
}

function countsOf(member: StatefulSetMember | undefined): StatefulSetCount[] {
  if (member === undefined) return [];
  const revision = revisionCount(member.pod.labels[REVISION_LABEL]);
  if (!member.inWindow || member.updated) return [revision];
  return member.terminating ? [revision, "behind"] : [revision, "behind", "behind and staying"];
}

function storedCounts(
  context: StatefulSetContext,
  pod: Pod,
  ordinal: number | undefined,
): StatefulSetCount[] {
  const counts: StatefulSetCount[] = [];
  for (const [index, template] of context.strategy.claimTemplates.entries()) {
    const fitting = ordinal === undefined ? undefined : fittingClaim(context, template, ordinal);
    if (fitting === undefined) continue;
    counts.push(`claim ${index}`);
    if (fitting.isHeld) counts.push(`held claim ${index}`);
  }
  // One that is to be released is counted no more (rule 6).
  if (pod.phase === "" || !context.selector.matches(pod.labels)) return counts;
  const revision = pod.labels[REVISION_LABEL];
  const updated = revision === context.update.name;
  counts.push("replicas");
  if (isReady(pod)) counts.push("readyReplicas", ...(updated ? (["updatedReadyReplicas"] as const) : []));
  if (isAvailable(pod, context.strategy.minReadySeconds, context.now))
    counts.push("availableReplicas", ...(updated ? (["updatedAvailableReplicas"] as const) : []));
  if (pod.deletionAt !== undefined) return counts;
  if (revision === context.current.name) counts.push("currentReplicas");
  if (updated) counts.push("updatedReplicas");
  return counts;
}
