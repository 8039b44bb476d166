/** What the observer has seen of pods and their owners, and when: controllers may not have heard of the newest. */
import type { ClusterChange, StoredObject } from "../../sandbox/index.ts";
import { asideLabel } from "../applied.ts";
import { controllerOf, isActive, isReady, keyOf } from "./fields.ts";
import type { ObservedCluster } from "./observed.ts";
import { type WorkloadKind, workloads } from "./workloads.ts";

export interface SeenPod {
  readonly uid: string;
  readonly owner: string;
  /** As it was created. */
  readonly born: StoredObject;
  now: StoredObject;
  /** Before the newest change. */
  before: StoredObject | undefined;
  /** In order; the last one is what it is now, or was when it went, since then. */
  readonly states: SeenState[];
  isGone: boolean;
  /** Somebody changed the labels by which its workload knows it, or its owner: it is gone for that workload. */
  isAside: boolean;
  /** Somebody removed its owner, and no more: it serves until its workload takes it back. */
  isOrphan: boolean;
  /** Somebody changed the record of its update in place. */
  isMeddled: boolean;
  /** When it was created; milliseconds of the clock. */
  readonly bornAt: number;
  /** A sidecar changed while it was out of service anyway. */
  isFree: boolean;
  /** It was created beside one that serves on its node. */
  isSurge: boolean;
  /** Somebody's request took it out of service. */
  isTaken: boolean;
  /** When it went out of service, unless a controller did that; milliseconds of the clock. */
  outSince: number | undefined;
  /** When it last went out of service by itself, also if it is back; the same clock. */
  wentAt: number;
  /** When its workload's controller took it out of service; the same clock. */
  closedAt: number;
}

/** A state, and since when it was the newest: milliseconds of the clock. */
interface SeenState {
  readonly since: number;
  readonly object: StoredObject;
}

/** Of one object; a lease is renewed every two seconds. */
const mostStates = 100;

export interface SeenOwner {
  readonly kind: WorkloadKind;
  readonly name: string;
  readonly states: SeenState[];
  isGone: boolean;
  /** That were created for it. */
  readonly pods: Map<string, SeenPod>;
  /** That it has ever controlled. */
  readonly controlled: Map<string, SeenPod>;
}

export class Seen {
  readonly #cluster: ObservedCluster;
  readonly #owners = new Map<string, SeenOwner>();
  readonly #pods = new Map<string, SeenPod>();
  readonly #others = new Map<string, SeenState[]>();

  constructor(cluster: ObservedCluster) {
    this.#cluster = cluster;
    const { cluster: stored } = cluster.server;
    for (const kind of Object.values(workloads))
      stored.subscribe(kind.resource, (change) => this.#ownerChanged(kind, change));
    stored.subscribe("pods", (change) => this.#podChanged(change));
    for (const resource of others) {
      stored.subscribe(resource, ({ object }) => {
        const key = `${resource} ${object.metadata.uid}`;
        const states = this.#others.get(key) ?? [];
        this.#others.set(key, states);
        this.#add(states, object);
      });
    }
  }

  pod(namespace: string, name: string): SeenPod | undefined {
    return this.#pods.get(`${namespace}/${name}`);
  }

  owner(uid: string): SeenOwner | undefined {
    return this.#owners.get(uid);
  }

  /** Every state of an owner that was the newest at some time of the last `ms`. */
  recent({ states }: Pick<SeenOwner, "states">, ms: number): StoredObject[] {
    const from = this.#cluster.clock.monotonic() - ms;
    return states
      .filter((_, index) => (states[index + 1]?.since ?? Number.POSITIVE_INFINITY) >= from)
      .map(({ object }) => object);
  }

  /** The same of what has no pods of its own (`others`). */
  recentStates(object: StoredObject, ms: number): StoredObject[] {
    for (const resource of others) {
      const states = this.#others.get(`${resource} ${object.metadata.uid}`);
      if (states !== undefined) return this.recent({ states }, ms);
    }
    return [object];
  }

  /** Pods of a namespace that went for good since then, or are on their way, whoever has deleted them. */
  gone(namespace: string, since: number): StoredObject[] {
    return [...this.#pods.values()]
      .filter(
        ({ now, isGone, outSince = since, closedAt }) =>
          (isGone || !isActive(now)) && Math.max(outSince, closedAt) >= since,
      )
      .map(({ now }) => now)
      .filter(({ metadata }) => metadata.namespace === namespace);
  }

  isFree(pod: StoredObject): boolean {
    return this.#pods.get(keyOf(pod))?.isFree === true;
  }

  /** How many of the pods are new since then, or went out of service by themselves. */
  unheard(pods: readonly StoredObject[], since: number): number {
    return pods.filter((pod) => {
      const seen = this.#pods.get(keyOf(pod));
      if (seen === undefined) return false;
      return Math.max(seen.bornAt, seen.closedAt, seen.outSince ?? Number.NEGATIVE_INFINITY) >= since;
    }).length;
  }

  #ownerChanged(kind: WorkloadKind, { type, object }: ClusterChange): void {
    const { uid = "", name = "", namespace = "" } = object.metadata;
    const owner: SeenOwner = this.#owners.get(uid) ?? {
      kind,
      name: `${object.kind} ${namespace}/${name}`,
      states: [],
      isGone: false,
      pods: new Map<string, SeenPod>(),
      controlled: new Map<string, SeenPod>(),
    };
    this.#owners.set(uid, owner);
    owner.isGone = type === "DELETED";
    this.#add(owner.states, object);
  }

  /** Of one generation the newest is kept; leases have none. */
  #add(states: SeenState[], object: StoredObject): void {
    const last = states.at(-1);
    const { generation } = object.metadata;
    if (last !== undefined && generation !== undefined && last.object.metadata.generation === generation)
      states[states.length - 1] = { since: last.since, object };
    else states.push({ since: this.#cluster.clock.monotonic(), object });
    if (states.length > mostStates) states.shift();
  }

  #podChanged(change: ClusterChange): void {
    const { object } = change;
    const { uid = "" } = object.metadata;
    const key = keyOf(object);
    let pod = this.#pods.get(key);
    if (pod === undefined || pod.uid !== uid) {
      pod = {
        uid,
        owner: controllerOf(object)?.uid ?? "",
        born: object,
        now: object,
        before: undefined,
        states: [],
        isGone: false,
        isAside: false,
        isOrphan: false,
        isMeddled: false,
        bornAt: this.#cluster.clock.monotonic(),
        isFree: false,
        isSurge: false,
        isTaken: false,
        outSince: undefined,
        wentAt: Number.NEGATIVE_INFINITY,
        closedAt: Number.NEGATIVE_INFINITY,
      };
      this.#pods.set(key, pod);
      this.#owners.get(pod.owner)?.pods.set(uid, pod);
    } else {
      pod.before = pod.now;
      pod.now = object;
    }
    const owner = controllerOf(object)?.uid ?? "";
    const isLabelled = asideLabel in (object.metadata.labels ?? {});
    this.#owners.get(owner)?.controlled.set(uid, pod);
    pod.isAside = isLabelled || owner !== pod.owner;
    pod.isGone = change.type === "DELETED" || pod.isAside;
    const isAlone = change.type !== "DELETED" && !isLabelled && owner === "";
    pod.isOrphan = isAlone && this.#owners.get(pod.owner)?.kind.adopts === true;
    pod.states.push({ since: this.#cluster.clock.monotonic(), object });
    if (pod.states.length > mostStates) pod.states.shift();
    const isOut = pod.isGone || !isReady(object);
    if (!isOut) {
      pod.isTaken = false;
      pod.isFree = false;
    }
    if (!isOut) pod.outSince = undefined;
    else if (pod.outSince === undefined) {
      pod.outSince =
        pod.before !== undefined && isReady(pod.before)
          ? this.#cluster.clock.monotonic()
          : Number.NEGATIVE_INFINITY;
      pod.wentAt = pod.outSince;
    }
  }
}

const others = [
  "sidecarsets.apps.kruise.io",
  "broadcastjobs.apps.kruise.io",
  "advancedcronjobs.apps.kruise.io",
  "imagepulljobs.apps.kruise.io",
  "nodeimages.apps.kruise.io",
  "ephemeraljobs.apps.kruise.io",
  "workloadspreads.apps.kruise.io",
  "podunavailablebudgets.policy.kruise.io",
  "leases.coordination.k8s.io",
] as const;
