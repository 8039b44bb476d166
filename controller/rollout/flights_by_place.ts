/**
 * The writes in flight of one workload by place (the pod's node, or its name), and which places an event was about: what
 * one of them brings costs work for its places alone. Writes in flight are events, too: pods change with them and
 * without a word.
 */
import type { Pod } from "../../kube/index.ts";
import type { PendingPods } from "./pending_pods.ts";

export class FlightsByPlace {
  readonly #placeOf: (pod: Pod) => string;
  /** By place, then by the write's id. */
  readonly #flights = new Map<string, Map<string, Pod>>();
  /** The same by id alone, as last shown. */
  readonly #inFlight = new Map<string, Pod>();
  readonly #touched = new Set<string>();
  readonly #onFlight: (pod: Pod, change: 1 | -1) => void;
  #followed: { readonly pending: PendingPods; readonly version: number } | undefined;

  /** `onFlight` hears of each write that begins (1) or ends (-1), with its pod. */
  constructor(placeOf: (pod: Pod) => string, onFlight: (pod: Pod, change: 1 | -1) => void = () => {}) {
    this.#placeOf = placeOf;
    this.#onFlight = onFlight;
  }

  /** The place itself has changed. */
  touch(place: string): void {
    this.#touched.add(place);
  }

  /** Pods as they will be after the writes in flight, by the writes' ids. */
  flightsOn(place: string): ReadonlyMap<string, Pod> | undefined {
    return this.#flights.get(place);
  }

  /** Places of writes in flight. */
  names(): Iterable<string> {
    return this.#flights.keys();
  }

  /** Takes over which writes are in flight now: those that changed, when the same were followed before. */
  follow(pending: PendingPods): void {
    const { version } = pending;
    const changed =
      this.#followed?.pending === pending ? pending.changesSince(this.#followed.version) : undefined;
    for (const id of changed ?? [...this.#inFlight.keys(), ...pending.keys()]) {
      const [before, after] = [this.#inFlight.get(id), pending.get(id)];
      if (before === after) continue;
      if (before !== undefined) this.#land(id, before);
      if (after !== undefined) this.#launch(id, after);
    }
    this.#followed = { pending, version };
  }

  /** The places that something happened to since all of them were judged. */
  get touched(): ReadonlySet<string> {
    return this.#touched;
  }

  /** To be called when all that is touched has been looked at: a look that failed in the midst is made anew. */
  judged(): void {
    this.#touched.clear();
  }

  #launch(id: string, pod: Pod): void {
    const place = this.#placeOf(pod);
    this.#touched.add(place);
    this.#inFlight.set(id, pod);
    this.#onFlight(pod, 1);
    const there = this.#flights.get(place);
    if (there === undefined) this.#flights.set(place, new Map([[id, pod]]));
    else there.set(id, pod);
  }

  #land(id: string, pod: Pod): void {
    const place = this.#placeOf(pod);
    this.#touched.add(place);
    this.#inFlight.delete(id);
    this.#onFlight(pod, -1);
    const there = this.#flights.get(place);
    there?.delete(id);
    if (there?.size === 0) this.#flights.delete(place);
  }
}
