/**
 * A namespace in which anything may own anything: pods, claims and revisions of an owner, of its former self, of impostors and
 * of nobody. What happens to it reaches the caches that controllers have, event by event; the same can be listed.
 */
import { imagePullJobResource, nodeImageResource } from "../../controller/plan/resources.ts";
import { pullsIn } from "../../controller/rollout/images/image_pulls.ts";
import { sharedCaches } from "../../controller/runtime/caches.ts";
import type { Caches } from "../../controller/runtime/kind.ts";
import type { ClusterLists } from "../../controller/runtime/listed_cluster.ts";
import type { ImagePullJob, NodeImage } from "../../crds/index.ts";
import type { OwnerReference } from "../../kube/core/index.ts";
import {
  Cache,
  type ControllerRevision,
  keyOf,
  type Metadata,
  type Namespace,
  type Node,
  namespaceResource,
  type PersistentVolumeClaim,
  type Pod,
} from "../../kube/index.ts";
import { barePod } from "./pod_builder.ts";
import { plainClaim, plainNode, plainRevision } from "./projection_builder.ts";

type Versioned = Pick<Metadata, "namespace" | "name" | "uid" | "resourceVersion">;

/** Objects of one resource as the server has them, and the cache that hears of them. */
class Followed<T extends Versioned> {
  readonly #stored = new Map<string, T>();
  readonly #caches: readonly Pick<Cache<T>, "upsert" | "remove">[];
  readonly #nextVersion: () => string;

  constructor(nextVersion: () => string, ...caches: readonly Pick<Cache<T>, "upsert" | "remove">[]) {
    this.#nextVersion = nextVersion;
    this.#caches = caches;
  }

  get all(): readonly T[] {
    return [...this.#stored.values()];
  }

  at(key: string): T | undefined {
    return this.#stored.get(key);
  }

  /** An event that comes twice, or late, changes nothing. */
  put(object: T): void {
    const key = keyOf(object);
    const before = this.#stored.get(key);
    const stored = { ...object, resourceVersion: this.#nextVersion() };
    this.#stored.set(key, stored);
    for (const cache of this.#caches) {
      cache.upsert(stored);
      if (before !== undefined) cache.upsert(before);
    }
  }

  remove(key: string): void {
    const stored = this.#stored.get(key);
    this.#stored.delete(key);
    for (const cache of this.#caches) if (stored !== undefined) cache.remove(key, stored.uid);
  }
}

export interface WorldOwner {
  readonly kind: string;
  readonly name: string;
  /** Absent for an object of the cluster. */
  readonly namespace?: string;
  uid: string;
}

const NAMESPACES = ["default", "default", "default", "elsewhere"] as const;

export class ObservedWorld {
  readonly now = Date.UTC(2026, 0, 1);
  readonly caches: Caches;
  readonly namespaces = new Cache<Namespace>(namespaceResource.codec);
  /** Of every owner, for kinds that select pods. */
  readonly everyPod: Cache<Pod>;
  readonly owner: WorldOwner;
  readonly #random: () => number;
  readonly #pods: Followed<Pod>;
  readonly #claims: Followed<PersistentVolumeClaim>;
  readonly #revisions: Followed<ControllerRevision>;
  readonly #nodes: Followed<Node>;
  readonly #namespaces: Followed<Namespace>;
  #version = 1;
  #uids = 1;

  constructor(owner: Omit<WorldOwner, "uid">, random: () => number) {
    const shared = sharedCaches();
    const pullJobs = new Cache<ImagePullJob>(imagePullJobResource.codec);
    this.caches = {
      ...shared,
      ...pullsIn(pullJobs, new Cache<NodeImage>(nodeImageResource.codec)),
      pullJobWritten: () => undefined,
    };
    this.everyPod = new Cache<Pod>({ identify: identityOf });
    this.#random = random;
    this.owner = { ...owner, uid: this.#newUid() };
    const next = () => `${++this.#version}`;
    this.#pods = new Followed(next, shared.pods, this.everyPod);
    this.#claims = new Followed(next, shared.claims);
    this.#revisions = new Followed(next, shared.revisions);
    this.#nodes = new Followed(next, shared.nodes);
    this.#namespaces = new Followed(next, this.namespaces);
  }

  get lists(): Required<Pick<ClusterLists, "pods" | "claims" | "revisions" | "nodes" | "namespaces">> {
    return {
      pods: this.#pods.all.filter(({ namespace }) => this.#isListed(namespace)),
      claims: this.#claims.all.filter(({ namespace }) => this.#isListed(namespace)),
      revisions: this.#revisions.all.filter(({ namespace }) => this.#isListed(namespace)),
      nodes: this.#nodes.all,
      namespaces: this.#namespaces.all,
    };
  }

  /** What the owner itself controls, by the test's own reading. */
  isOwn({ namespace, controller }: Pod): boolean {
    return namespace === (this.owner.namespace ?? namespace) && controller?.uid === this.owner.uid;
  }

  /** The owner is deleted and created again under its name; what the former one had is still there. */
  recreateOwner(): void {
    this.owner.uid = this.#newUid();
  }

  /** Something happens. */
  step(): void {
    const what = this.#random();
    if (what < 0.5) this.#changePod();
    else if (what < 0.6) this.#removePod();
    else if (what < 0.75) this.#changeClaim();
    else if (what < 0.88) this.#changeRevision();
    else if (what < 0.96) this.#changeNode();
    else this.#changeNamespace();
  }

  #isListed(namespace: string): boolean {
    return namespace === (this.owner.namespace ?? namespace);
  }

  #newUid(): string {
    return `uid-${this.#uids++}`;
  }

  #one<T>(choices: readonly T[]): T {
    const chosen = choices[Math.floor(this.#random() * choices.length)];
    if (chosen === undefined) throw new Error("nothing to choose from");
    return chosen;
  }

  #chance(share: number): boolean {
    return this.#random() < share;
  }

  /** The owner, its former self, another of its name and kind, one of another kind, or nobody. */
  #anyOwner(): OwnerReference | undefined {
    if (this.#chance(0.25)) return undefined;
    const { kind, name, uid } = this.owner;
    const reference = { apiVersion: "apps.kruise.io/v1beta1", kind, name, uid, controller: true };
    return this.#one([
      reference,
      reference,
      reference,
      { ...reference, uid: `${uid}-before` },
      // That of the first owner, whoever it is by now.
      { ...reference, uid: "uid-1" },
      { ...reference, kind: "ImageListPullJob", uid: "uid-of-another-kind" },
    ]);
  }

  #changePod(): void {
    const namespace = this.#one(NAMESPACES);
    const { name: owner } = this.owner;
    const name = `${owner}-${this.#one(["0", "1", "2", "3", "a", "b", "c", "d"])}`;
    const before = this.#pods.at(keyOf({ namespace, name }));
    const isSame = before !== undefined && this.#chance(0.6);
    const controller = isSame && this.#chance(0.8) ? before.controller : this.#controller();
    const isReady = this.#chance(0.7);
    const pod = barePod(name, {
      namespace,
      uid: isSame ? before.uid : this.#newUid(),
      createdAt: isSame ? before.createdAt : this.now - 1000 * Math.floor(this.#random() * 100),
      controller,
      labels: {
        app: this.#one([owner, owner, owner, "other"]),
        "controller-revision-hash": this.#one([`${owner}-old`, `${owner}-new`]),
        "lifecycle.apps.kruise.io/state": "Normal",
      },
      nodeName: this.#one(["node-1", "node-2", "node-3", ""]),
      phase: this.#one(["Running", "Running", "Running", "Pending", "Failed", "Succeeded"]),
      deletionAt: this.#chance(0.1) ? this.now : undefined,
      readinessGates: ["InPlaceUpdateReady"],
      conditions: ["Ready", "InPlaceUpdateReady"].map((type) => ({
        type,
        status: isReady ? "True" : "False",
        reason: "",
        message: "",
        lastTransitionAt: this.now - 60_000,
      })),
    });
    if (before !== undefined && !isSame) this.#pods.remove(keyOf(before));
    this.#pods.put(pod);
  }

  #controller(): Pod["controller"] {
    const owner = this.#anyOwner();
    return owner && { group: "apps.kruise.io", kind: owner.kind, name: owner.name, uid: owner.uid };
  }

  #removePod(): void {
    const pods = this.#pods.all;
    if (pods.length > 0) this.#pods.remove(keyOf(this.#one(pods)));
  }

  #changeClaim(): void {
    const namespace = this.#one(NAMESPACES);
    const name = `data-${this.owner.name}-${this.#one(["0", "1", "2", "a"])}`;
    if (this.#chance(0.2)) {
      this.#claims.remove(keyOf({ namespace, name }));
      return;
    }
    const owner = this.#anyOwner();
    const claim = { uid: this.#claims.at(keyOf({ namespace, name }))?.uid ?? this.#newUid() };
    this.#claims.put(plainClaim(namespace, name, { ...claim, owners: owner === undefined ? [] : [owner] }));
  }

  #changeRevision(): void {
    const namespace = this.#one(NAMESPACES);
    const { name: owner } = this.owner;
    const name = `${owner}-${this.#one(["old", "older", "other"])}`;
    if (this.#chance(0.2)) {
      this.#revisions.remove(keyOf({ namespace, name }));
      return;
    }
    const controller = this.#anyOwner();
    const template = {
      metadata: { labels: { app: owner } },
      spec: { containers: [{ name: "main", image: this.#one(["app:0", "app:1"]) }] },
    };
    this.#revisions.put(
      plainRevision(namespace, name, {
        uid: this.#revisions.at(keyOf({ namespace, name }))?.uid ?? this.#newUid(),
        labels: { app: this.#one([owner, "other"]), "controller-revision-hash": name },
        owners: controller === undefined ? [] : [controller],
        revision: 1 + Math.floor(this.#random() * 3),
        data: JSON.stringify({ spec: { template: { ...template, $patch: "replace" } } }),
      }),
    );
  }

  #changeNode(): void {
    const name = this.#one(["node-1", "node-2", "node-3"]);
    if (this.#chance(0.2)) {
      this.#nodes.remove(name);
      return;
    }
    const unschedulable = this.#chance(0.2);
    const taint = { key: "busy", value: "", effect: "NoSchedule" };
    const uid = this.#nodes.at(name)?.uid ?? this.#newUid();
    const taints = this.#chance(0.3) ? [taint] : [];
    const allocatable = { cpu: "2", memory: "4Gi", pods: "110" };
    this.#nodes.put(plainNode(name, { uid, unschedulable, taints, allocatable }));
  }

  #changeNamespace(): void {
    const name = this.#one(["default", "elsewhere"]);
    const labels: Record<string, string> = this.#chance(0.5) ? { managed: "yes" } : {};
    const { now: createdAt } = this;
    const uid = this.#namespaces.at(name)?.uid ?? this.#newUid();
    this.#namespaces.put({ ...plainNode(name, { uid, labels, createdAt }) });
  }
}

function identityOf(pod: Pod) {
  return { key: keyOf(pod), uid: pod.uid, version: pod.resourceVersion };
}
