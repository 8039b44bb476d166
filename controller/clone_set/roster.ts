/**
 * The pods of one CloneSet, kept up from event to event. What a pod counts as is worked out when something happens to it,
 * so that a pass costs what has changed and what there is to do, however many pods the set has. Of most pods there is
 * nothing to tell and nothing to do, and a hundred thousand of them are to fit: those are held as names alone.
 * Spec: cloneset 4.1 rule 7.
 */
import { compileSelector, type LabelSelector } from "../../kube/core/index.ts";
import type { Pod } from "../../kube/index.ts";
import { FlightsByPlace } from "../rollout/flights_by_place.ts";
import { graceState } from "../rollout/in_place/state.ts";
import { lifecycleState } from "../rollout/lifecycle.ts";
import { ByActivity, type Placed } from "../rollout/order.ts";
import { CREATING, type PendingPods } from "../rollout/pending_pods.ts";
import { isActive, isAvailable, isReady } from "../rollout/pod_state.ts";
import { sameRevision } from "../rollout/revisions.ts";
import type { ClassCount, Counts } from "./numbers.ts";
import { type Member, memberOf, REVISION_LABEL, type Strategy } from "./observe.ts";
import { isUnderWay } from "./order.ts";

export interface RosterSource {
  /** Of the set. */
  readonly uid: string;
  /** Pods that it controls, as the server last showed them. */
  pods(): Iterable<Pod>;
  /** The one of that name. */
  pod(name: string): Pod | undefined;
  inFlight(): PendingPods;
  /** Both together, as dear as there are pods: a pod with a write in flight as it will be. */
  overlaid(): readonly Pod[];
}

/** What pods are judged by: all of them anew when the revision, the selector or this part of the strategy changes. */
export interface SurveyContext {
  readonly updateRevision: string;
  readonly strategy: Pick<Strategy, "minReadySeconds" | "podsToDelete">;
  readonly selector: LabelSelector;
  /** Milliseconds since the epoch. */
  readonly now: number;
  /** Whether a pod without a write in flight is as it should be, whatever the set's strategy says. */
  readonly isSettled: (member: Member) => boolean;
}

/** What the status reports: pods as the server shows them. */
export interface StoredCounts {
  replicas: number;
  readyReplicas: number;
  availableReplicas: number;
  updatedReplicas: number;
  updatedReadyReplicas: number;
  updatedAvailableReplicas: number;
}

/** The set as a pass sees it. Members are active pods; writes in flight are applied to them. */
export interface Survey {
  readonly counts: Counts;
  readonly stored: Readonly<StoredCounts>;
  readonly unavailable: ReadonlySet<Member>;
  /** Those of them that are at the update revision. */
  readonly unavailableUpdated: number;
  /** Pods without a write in flight that are not settled, or wait for something. */
  readonly due: ReadonlySet<Member>;
  readonly preparingDelete: ReadonlySet<Member>;
  /** Chosen for deletion by label or by name, and not being prepared for it. */
  readonly specified: ReadonlySet<Member>;
  /** Members that an update may begin with: at another revision, and not on their way out or in a grace period. */
  readonly candidates: ByActivity<Member>;
  readonly unavailableCandidates: number;
  /** Owned pods that the selector no longer matches, without a write in flight. They are no members. */
  readonly loose: ReadonlySet<Pod>;
  /** Deletions that are under way and not answered. */
  readonly departing: number;
  /** As dear as there are pods. */
  members(): Iterable<Member>;
  pods(): readonly Pod[];
  storedPods(): Iterable<Pod>;
}

/** A pod that is not at rest. */
interface Entry {
  readonly member: Member | undefined;
  readonly isDue: boolean;
  readonly loose: Pod | undefined;
  readonly stored: Standing | undefined;
  readonly departing: boolean;
  /** Time alone makes it available. */
  readonly ripens: boolean;
  /** Its place among the candidates, while it is one of them. */
  placed: Placed<Member> | undefined;
}

/** What an active stored pod counts as. */
interface Standing {
  readonly ready: boolean;
  readonly available: boolean;
  readonly updated: boolean;
}

export class Roster implements Survey {
  readonly unavailable = new Set<Member>();
  readonly due = new Set<Member>();
  readonly preparingDelete = new Set<Member>();
  readonly specified = new Set<Member>();
  readonly loose = new Set<Pod>();
  readonly candidates = new ByActivity<Member>(isUnderWay);
  counts = noMembers();
  stored = noPods();
  unavailableUpdated = 0;
  unavailableCandidates = 0;
  departing = 0;
  readonly #source: RosterSource;
  readonly #flights = new FlightsByPlace(({ name }) => name);
  /** By the pod's name. */
  readonly #entries = new Map<string, Entry>();
  /** Names of stored members that are available, at the update revision, and settled; without a write in flight. */
  readonly #atRest = new Set<string>();
  readonly #ripening = new Set<string>();
  #judgedBy = "";
  #selector = compileSelector({});

  constructor(source: RosterSource) {
    this.#source = source;
  }

  /** What the source tells of a pod is another one now; undefined: there was or is none. */
  podChanged(before: Pod | undefined, after: Pod | undefined): void {
    for (const pod of [before, after])
      if (pod?.controller?.uid === this.#source.uid) this.#flights.touch(pod.name);
  }

  /** The set as it is now; good until the next event. */
  survey(context: SurveyContext): Survey {
    this.#flights.follow(this.#source.inFlight());
    const { updateRevision, strategy, selector } = context;
    const { minReadySeconds, podsToDelete } = strategy;
    const judgedBy = JSON.stringify([updateRevision, minReadySeconds, [...podsToDelete], selector]);
    if (judgedBy !== this.#judgedBy) {
      this.#clear();
      this.#judgedBy = judgedBy;
      this.#selector = compileSelector(selector);
      for (const { name } of this.#source.pods()) this.#flights.touch(name);
      for (const name of this.#flights.names()) this.#flights.touch(name);
    }
    for (const name of this.#ripening) this.#flights.touch(name);
    for (const name of this.#flights.touched) this.#judge(name, context);
    this.#flights.judged();
    return this;
  }

  *members(): Generator<Member> {
    for (const { member } of this.#entries.values()) if (member !== undefined) yield member;
    for (const pod of this.#source.pods()) if (this.#atRest.has(pod.name)) yield memberAtRest(pod);
  }

  pods(): readonly Pod[] {
    return this.#source.overlaid();
  }

  storedPods(): Iterable<Pod> {
    return this.#source.pods();
  }

  #clear(): void {
    this.#entries.clear();
    this.#atRest.clear();
    this.#ripening.clear();
    this.unavailable.clear();
    this.due.clear();
    this.preparingDelete.clear();
    this.specified.clear();
    this.loose.clear();
    this.candidates.clear();
    this.counts = noMembers();
    this.stored = noPods();
    this.unavailableUpdated = 0;
    this.unavailableCandidates = 0;
    this.departing = 0;
  }

  #judge(name: string, context: SurveyContext): void {
    if (this.#atRest.delete(name)) this.#countAtRest(-1);
    const before = this.#entries.get(name);
    if (before !== undefined) {
      this.#entries.delete(name);
      this.#leave(name, before);
    }
    const entry = this.#entryOf(name, context);
    if (entry === undefined) return;
    if (isAtRest(entry)) {
      this.#atRest.add(name);
      this.#countAtRest(1);
    } else {
      this.#entries.set(name, entry);
      this.#enter(name, entry);
    }
  }

  #entryOf(name: string, context: SurveyContext): Entry | undefined {
    const stored = this.#source.pod(name);
    // Of pods that are not stored only those to be created are there.
    const flight = this.#flights.flightsOn(name)?.get(stored?.uid ?? `${CREATING}${name}`);
    const pod = flight ?? stored;
    if (pod === undefined) return undefined;
    const busy = flight !== undefined;
    const loose = !busy && !this.#selector.matches(pod.labels);
    const { strategy, updateRevision, now } = context;
    const isMember = isActive(pod) && !loose;
    const member = isMember ? memberOf(pod, stored ?? pod, busy, strategy, updateRevision, now) : undefined;
    const standing =
      stored !== undefined && isActive(stored)
        ? standingOf(stored, strategy.minReadySeconds, updateRevision, now)
        : undefined;
    return {
      member,
      isDue: member !== undefined && !busy && !context.isSettled(member),
      loose: loose ? pod : undefined,
      stored: standing,
      departing: busy && !isActive(pod) && standing !== undefined,
      ripens: strategy.minReadySeconds > 0 && [member, standing].some(isUnripe),
      placed: undefined,
    };
  }

  #enter(name: string, entry: Entry): void {
    const { member, isDue, loose, ripens } = entry;
    if (member !== undefined && isCandidate(member)) entry.placed = this.candidates.add(member);
    this.#count(entry, 1);
    if (ripens) this.#ripening.add(name);
    if (loose !== undefined) this.loose.add(loose);
    if (member === undefined) return;
    if (isDue) this.due.add(member);
    if (!member.available) this.unavailable.add(member);
    if (member.state === "PreparingDelete") this.preparingDelete.add(member);
    else if (member.specified) this.specified.add(member);
  }

  #leave(name: string, entry: Entry): void {
    const { member, placed, loose } = entry;
    this.#count(entry, -1);
    this.#ripening.delete(name);
    if (loose !== undefined) this.loose.delete(loose);
    if (placed !== undefined) this.candidates.delete(placed);
    if (member === undefined) return;
    this.due.delete(member);
    this.unavailable.delete(member);
    this.preparingDelete.delete(member);
    this.specified.delete(member);
  }

  #count({ member, placed, stored, departing }: Entry, by: 1 | -1): void {
    if (departing) this.departing += by;
    if (stored !== undefined) countStored(this.stored, stored, by);
    if (member === undefined) return;
    countMember(member.updated ? this.counts.updated : this.counts.old, member, by);
    if (member.available) return;
    if (member.updated) this.unavailableUpdated += by;
    if (placed !== undefined) this.unavailableCandidates += by;
  }

  #countAtRest(by: 1 | -1): void {
    countStored(this.stored, standingAtRest, by);
    this.counts.updated.active += by;
  }
}

/** What it counts as follows from this alone: see `Roster.#countAtRest` and `memberAtRest`. */
function isAtRest({ member, isDue }: Entry): boolean {
  if (member === undefined || isDue) return false;
  return member.updated && member.available && !member.specified && !member.busy;
}

function memberAtRest(pod: Pod): Member {
  return {
    pod,
    updated: true,
    ready: true,
    available: true,
    state: lifecycleState(pod),
    specified: false,
    busy: false,
  };
}

function isCandidate({ pod, updated, state }: Member): boolean {
  return !updated && state !== "PreparingDelete" && graceState(pod).value === undefined;
}

function isUnripe(one: { ready: boolean; available: boolean } | undefined): boolean {
  return one?.ready === true && !one.available;
}

const standingAtRest: Standing = { ready: true, available: true, updated: true };

/** By the bits of ready, available and updated: a hundred thousand pods share these few. */
const standings: readonly Standing[] = Array.from({ length: 8 }, (_, bits) => ({
  ready: (bits & 4) !== 0,
  available: (bits & 2) !== 0,
  updated: (bits & 1) !== 0,
}));

function standingOf(
  pod: Pod,
  minReadySeconds: number,
  updateRevision: string,
  now: number,
): Standing | undefined {
  const ready = isReady(pod);
  const available = ready && isAvailable(pod, minReadySeconds, now);
  const updated = sameRevision(pod.labels[REVISION_LABEL] ?? "", updateRevision);
  return standings[Number(ready) * 4 + Number(available) * 2 + Number(updated)];
}

function countStored(counts: StoredCounts, { ready, available, updated }: Standing, by: 1 | -1): void {
  counts.replicas += by;
  if (ready) counts.readyReplicas += by;
  if (available) counts.availableReplicas += by;
  if (!updated) return;
  counts.updatedReplicas += by;
  if (ready) counts.updatedReadyReplicas += by;
  if (available) counts.updatedAvailableReplicas += by;
}

function countMember(count: ClassCount, member: Member, by: 1 | -1): void {
  if (member.state === "PreparingDelete") {
    count.preDeleting += by;
    return;
  }
  count.active += by;
  if (member.state === "PreparingUpdate") count.preparingUpdate += by;
  if (member.specified) count.toDelete += by;
  else if (!member.available) count.unavailable += by;
}

function noMembers(): Counts {
  const none = (): ClassCount => ({
    active: 0,
    preDeleting: 0,
    toDelete: 0,
    unavailable: 0,
    preparingUpdate: 0,
  });
  return { updated: none(), old: none() };
}

function noPods(): StoredCounts {
  return {
    replicas: 0,
    readyReplicas: 0,
    availableReplicas: 0,
    updatedReplicas: 0,
    updatedReadyReplicas: 0,
    updatedAvailableReplicas: 0,
  };
}
