/** The rosters of all sets: each is made by its set's first pass, and hears of every change from then on. */
import type { StatefulSet } from "../../crds/index.ts";
import { keyOf } from "../../kube/core/index.ts";
import { type Change, type PersistentVolumeClaim, type Pod, sidesOf } from "../../kube/index.ts";
import { claimantKeys, orphanKeys, type SharedCaches } from "../caches.ts";
import type { Performer } from "../rollout/perform.ts";
import { Roster } from "./roster.ts";

export class Rosters {
  readonly #caches: Pick<SharedCaches, "pods" | "claims">;
  readonly #byUid = new Map<string, Roster>();
  /** By `namespace/name` of their sets: pods and claims may be known by nothing else than their name. */
  readonly #byKey = new Map<string, Roster>();

  constructor(caches: Pick<SharedCaches, "pods" | "claims">) {
    this.#caches = caches;
    caches.pods.subscribe((change) => this.#podChanged(change));
    caches.claims.subscribe((change) => this.#claimChanged(change));
  }

  of({ metadata }: StatefulSet, performer: Pick<Performer, "pending">): Roster {
    const { uid = "", name = "", namespace = "" } = metadata;
    const known = this.#byUid.get(uid);
    if (known !== undefined) return known;
    const key = keyOf({ namespace, name });
    const { pods } = this.#caches;
    const roster = new Roster({
      uid,
      name,
      pods: () => [...pods.byIndex("controller", uid), ...pods.byIndex("orphan", key)],
      pod: (pod) => pods.get(keyOf({ namespace, name: pod })),
      inFlight: () => performer.pending(uid),
    });
    this.#byUid.set(uid, roster);
    this.#byKey.set(key, roster);
    return roster;
  }

  forget(uid: string): void {
    const roster = this.#byUid.get(uid);
    this.#byUid.delete(uid);
    for (const [key, one] of this.#byKey) if (one === roster) this.#byKey.delete(key);
  }

  #podChanged(change: Change<Pod>): void {
    const { before, after } = sidesOf(change);
    const concerned = new Set([...this.#of(before), ...this.#of(after)]);
    for (const roster of concerned) roster?.podChanged(before, after);
  }

  #of(pod: Pod | undefined): (Roster | undefined)[] {
    if (pod === undefined) return [];
    return pod.controller === undefined
      ? orphanKeys(pod).map((key) => this.#byKey.get(key))
      : [this.#byUid.get(pod.controller.uid)];
  }

  #claimChanged({ object }: Change<PersistentVolumeClaim>): void {
    for (const key of claimantKeys(object)) this.#byKey.get(key)?.claimChanged(object.name);
  }
}
