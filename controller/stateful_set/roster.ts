/**
 * The pods of one StatefulSet, kept up from event to event. What an ordinal counts as and what there is to do about it is
 * worked out when something happens to its pod, to a write in flight or to a claim, so that a pass costs what has changed
 * and what there is to do, however many pods the set has. Of most pods there is nothing to do: those are held as names and
 * what they count as, in which most are alike.
 */
import { compileSelector } from "../../kube/core/index.ts";
import type { Pod } from "../../kube/index.ts";
import { FlightsByPlace } from "../rollout/flights_by_place.ts";
import { CREATING, type PendingPods } from "../rollout/pending_pods.ts";
import { Sorted } from "../rollout/sorted_names.ts";
import { type Member, ordinalOf } from "./observe.ts";
import type { View } from "./pass.ts";
import {
  type Apart,
  type Count,
  type Group,
  groups,
  memberAt,
  type Place,
  REVISION,
  type Standing,
  standingOf,
} from "./standing.ts";

export interface RosterSource {
  /** Of the set. */
  readonly uid: string;
  readonly name: string;
  /** Pods that it controls and pods of nobody that have its name, as the server last showed them. */
  pods(): Iterable<Pod>;
  /** The one of that name, whoever controls it. */
  pod(name: string): Pod | undefined;
  inFlight(): PendingPods;
}

export class Roster {
  readonly #source: RosterSource;
  /** By the pods' names. */
  readonly #flights = new FlightsByPlace(({ name }) => name);
  readonly #standings = new Map<string, Standing>();
  /** Names of members of the window about which there is nothing to do, with what each counts as. */
  readonly #atRest = new Map<string, readonly Count[]>();
  /** Each list of what one counts as once, by its text. */
  readonly #alike = new Map<string, readonly Count[]>();
  readonly #members = new Map<number, Member>();
  readonly #groups = new Map(groups.map((group) => [group, new Sorted<number>()]));
  readonly #counts = new Map<Count, number>();
  readonly #apart: Readonly<Record<Apart, Set<Pod>>> = {
    loose: new Set(),
    orphan: new Set(),
    stranger: new Set(),
  };
  readonly #ripening = new Set<string>();
  /** Names of pods that the last pass adopts. */
  readonly #adopted = new Set<string>();
  #judgedBy = "";
  #selector = compileSelector({});

  constructor(source: RosterSource) {
    this.#source = source;
  }

  /** What the source tells of a pod is another one now; undefined: there was or is none. */
  podChanged(before: Pod | undefined, after: Pod | undefined): void {
    for (const pod of [before, after]) if (pod !== undefined) this.#flights.touch(pod.name);
  }

  /** A claim of this name came, changed or went. */
  claimChanged(claim: string): void {
    const ordinal = /\d+$/.exec(claim)?.[0];
    if (ordinal !== undefined) this.#flights.touch(`${this.#source.name}-${ordinal}`);
  }

  /** Brings everything up to now; what is read of it is good until the next event. */
  survey(view: View): void {
    this.#flights.follow(this.#source.inFlight());
    const { selector } = view.seen.set.spec;
    const judgedBy = JSON.stringify([view.update.name, view.current.name, view.strategy, selector]);
    if (judgedBy !== this.#judgedBy) {
      this.#clear();
      this.#judgedBy = judgedBy;
      this.#selector = compileSelector(selector);
      for (const { name } of this.#source.pods()) this.#flights.touch(name);
      for (const name of this.#flights.names()) this.#flights.touch(name);
      for (const ordinal of view.strategy.window) this.#flights.touch(`${this.#source.name}-${ordinal}`);
    }
    for (const name of this.#ripening) this.#flights.touch(name);
    for (const name of this.#adopted) this.#flights.touch(name);
    this.#adopted.clear();
    const touched = [...this.#flights.touched].map((name) => ({
      name,
      ordinal: ordinalOf(this.#source.name, name) ?? -1,
    }));
    // In their order a set that is looked at for the first time is only ever extended at its end.
    touched.sort((a, b) => a.ordinal - b.ordinal);
    for (const { name } of touched) this.#judge(view, name);
    this.#flights.judged();
  }

  /** Pods of nobody that this pass makes the set's: from now on and until the next survey they are. */
  adopt(view: View, pods: readonly Pod[]): void {
    for (const { name } of pods) {
      this.#adopted.add(name);
      this.#judge(view, name);
    }
  }

  /** One about which there is something to do. */
  at(ordinal: number): Member | undefined {
    return this.#members.get(ordinal);
  }

  ordinals(group: Group): Sorted<number> {
    const found = this.#groups.get(group);
    if (found === undefined) throw new Error(`there are no ordinals that are ${group}`);
    return found;
  }

  /** Members of a group, by ordinal. */
  *ascending(group: Group): Generator<Member> {
    for (const ordinal of this.ordinals(group)) {
      const member = this.at(ordinal);
      if (member !== undefined) yield member;
    }
  }

  *descending(group: Group): Generator<Member> {
    for (const ordinal of this.ordinals(group).descending()) {
      const member = this.at(ordinal);
      if (member !== undefined) yield member;
    }
  }

  /** All members by ordinal; as dear as there are pods. */
  members(view: View): Member[] {
    const members = [...this.#members.values()];
    for (const name of this.#atRest.keys()) {
      const member = memberAt(view, this.#placeOf(name));
      if (member !== undefined) members.push(member);
    }
    return members.sort((a, b) => a.ordinal - b.ordinal);
  }

  count(what: Count): number {
    return this.#counts.get(what) ?? 0;
  }

  /** Revisions that members are at, by their label. */
  revisions(): string[] {
    const keys = [...this.#counts.keys()].filter((what) => what.startsWith(REVISION));
    return keys.map((what) => what.slice(REVISION.length));
  }

  /** Whether a write of the pod is in flight. */
  isBusy({ name, uid }: Pod): boolean {
    return this.#flights.flightsOn(name)?.has(uid) ?? false;
  }

  apart(kind: Apart): ReadonlySet<Pod> {
    return this.#apart[kind];
  }

  /** Members that time alone makes available. */
  *ripening(): Generator<Member> {
    for (const name of this.#ripening) {
      const member = this.#standings.get(name)?.member;
      if (member !== undefined) yield member;
    }
  }

  #judge(view: View, name: string): void {
    for (const what of this.#atRest.get(name) ?? []) count(this.#counts, what, -1);
    this.#atRest.delete(name);
    const before = this.#standings.get(name);
    if (before !== undefined) {
      this.#standings.delete(name);
      this.#leave(name, before);
    }
    const place = this.#placeOf(name);
    if (place.pod === undefined && !isWanted(view, place)) return;
    const standing = standingOf(view, place, this.#selector);
    if (isAtRest(standing)) {
      this.#atRest.set(name, this.#likeOthers(standing.counts));
      for (const what of standing.counts) count(this.#counts, what, 1);
    } else {
      this.#standings.set(name, standing);
      this.#enter(name, standing);
    }
  }

  #placeOf(name: string): Place {
    const ordinal = ordinalOf(this.#source.name, name);
    const found = this.#source.pod(name);
    const stored = found !== undefined && this.#mayBeOurs(found, ordinal) ? found : undefined;
    const flights = this.#flights.flightsOn(name);
    const flight = stored === undefined ? unstored(flights) : flights?.get(stored.uid);
    const adopted = this.#adopted.has(name);
    return { ordinal, stored, pod: flight ?? stored, busy: flight !== undefined, adopted };
  }

  #mayBeOurs({ controller }: Pod, ordinal: number | undefined): boolean {
    return controller === undefined ? ordinal !== undefined : controller.uid === this.#source.uid;
  }

  #likeOthers(counts: readonly Count[]): readonly Count[] {
    const text = counts.join();
    const known = this.#alike.get(text);
    if (known !== undefined) return known;
    this.#alike.set(text, counts);
    return counts;
  }

  #enter(name: string, { ordinal, member, groups, counts, apart, ripens }: Standing): void {
    if (ordinal !== undefined) for (const group of groups) this.ordinals(group).add(ordinal);
    for (const what of counts) count(this.#counts, what, 1);
    if (apart !== undefined) this.#apart[apart.kind].add(apart.pod);
    if (ripens) this.#ripening.add(name);
    if (member === undefined) return;
    this.#members.set(member.ordinal, member);
  }

  #leave(name: string, { ordinal, member, groups, counts, apart }: Standing): void {
    if (ordinal !== undefined) for (const group of groups) this.ordinals(group).delete(ordinal);
    for (const what of counts) count(this.#counts, what, -1);
    if (apart !== undefined) this.#apart[apart.kind].delete(apart.pod);
    this.#ripening.delete(name);
    if (member === undefined) return;
    this.#members.delete(member.ordinal);
  }

  #clear(): void {
    this.#standings.clear();
    this.#members.clear();
    for (const group of this.#groups.values()) group.clear();
    this.#counts.clear();
    this.#atRest.clear();
    this.#alike.clear();
    for (const pods of Object.values(this.#apart)) pods.clear();
    this.#ripening.clear();
  }
}

function isWanted({ strategy }: View, { ordinal }: Place): boolean {
  return ordinal !== undefined && strategy.window.has(ordinal);
}

function isAtRest({ member, groups, ripens }: Standing): boolean {
  return member !== undefined && groups.length === 0 && !ripens;
}

/**
 * A pod that is not stored is there while it is created; and while its deletion is under way, as nobody knows yet that
 * it has gone.
 */
function unstored(flights: ReadonlyMap<string, Pod> | undefined): Pod | undefined {
  let created: Pod | undefined;
  for (const [id, pod] of flights ?? []) {
    if (pod.deletionAt !== undefined) return pod;
    if (id.startsWith(CREATING)) created = pod;
  }
  return created;
}

function count(counts: Map<Count, number>, what: Count, by: 1 | -1): void {
  const sum = (counts.get(what) ?? 0) + by;
  if (sum === 0) counts.delete(what);
  else counts.set(what, sum);
}
