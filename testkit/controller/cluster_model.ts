/**
 * A small cluster for tests of plans: pods as projections, a server that applies steps with their
 * preconditions, and kubelets that follow. No I/O; every choice is the caller's.
 */

import { ownerReference } from "../../controller/rollout/pods/pod_manifest.ts";
import { isActive } from "../../controller/rollout/pods/pod_state.ts";
import { byNumber } from "../../controller/rollout/revisions/revisions.ts";
import type { Action, PodPatchAction, RolloutEffect } from "../../controller/rollout/writes/actions.ts";
import type { ObjectMeta, OwnerReference } from "../../kube/core/index.ts";
import type { ControllerRevision, Node, PersistentVolumeClaim, Pod, PodCondition } from "../../kube/index.ts";
import { plainClaim } from "./projection_builder.ts";

interface Workload {
  metadata: ObjectMeta;
  spec: object;
  status?: object;
}

/** Of every kind: a pod's budget is asked before the first request that takes the pod out of service. */
function asksBudget({ pod, effects }: PodPatchAction): void {
  if (statusOf(pod, "Ready") !== "True") return;
  const out = effects.findIndex((effect) => effect.type === "patch" && closesGate(effect));
  const asked = effects.findIndex(({ type }) => type === "spend budget");
  if (out >= 0 && (asked < 0 || asked > out))
    throw new Error(`pod ${pod.name} is taken out of service, and its budget was not asked before`);
}

function closesGate({ patch }: Patch): boolean {
  const { status } = patch.body as { status?: { conditions?: { type: string; status: string }[] } };
  return status?.conditions?.some((each) => each.type === "Ready" && each.status === "False") === true;
}

/** Refused by a precondition, as a server answers 409. */
export class Refused extends Error {}

/** All that a model cluster stores: to come back to it later. Nothing in it changes. */
export interface Stored<T extends Workload> {
  readonly now: number;
  readonly set: T;
  readonly pods: readonly Pod[];
  readonly claims: readonly PersistentVolumeClaim[];
  readonly revisions: readonly ControllerRevision[];
  readonly nodes: readonly Node[];
  readonly version: number;
  readonly uid: number;
}

export abstract class ClusterModel<T extends Workload> {
  now = Date.UTC(2026, 0, 1);
  readonly pods = new Map<string, Pod>();
  readonly claims = new Map<string, PersistentVolumeClaim>();
  readonly revisions = new Map<string, ControllerRevision>();
  readonly nodes = new Map<string, Node>();
  readonly events: { reason: string; message: string }[] = [];
  set: T;
  readonly #kind: string;
  #version = 1;
  #uid = 1;

  constructor(kind: string, set: T) {
    this.#kind = kind;
    this.set = set;
  }

  stored(): Stored<T> {
    return {
      now: this.now,
      set: this.set,
      pods: [...this.pods.values()],
      claims: [...this.claims.values()],
      revisions: [...this.revisions.values()],
      nodes: [...this.nodes.values()],
      version: this.#version,
      uid: this.#uid,
    };
  }

  restore({ now, set, pods, claims, revisions, nodes, version, uid }: Stored<T>): void {
    this.now = now;
    this.set = set;
    refill(this.pods, pods);
    refill(this.claims, claims);
    refill(this.revisions, revisions);
    refill(this.nodes, nodes);
    this.#version = version;
    this.#uid = uid;
    this.events.length = 0;
  }

  owned(): Pod[] {
    return [...this.pods.values()].filter((pod) => this.#owns(pod));
  }

  ownedPod(name: string): Pod | undefined {
    const pod = this.pods.get(name);
    return pod !== undefined && this.#owns(pod) ? pod : undefined;
  }

  #owns(pod: Pod): boolean {
    return pod.controller?.uid === this.set.metadata.uid;
  }

  sortedRevisions(): ControllerRevision[] {
    return [...this.revisions.values()].sort(byNumber);
  }

  active(): Pod[] {
    return this.owned().filter(isActive);
  }

  /** What a merge patch of the workload's own spec does. */
  protected abstract patchWorkload(): void;

  changeSpec(change: (spec: T["spec"]) => void): void {
    const next = structuredClone(this.set);
    change(next.spec);
    next.metadata.generation = (next.metadata.generation ?? 1) + 1;
    next.metadata.resourceVersion = this.#next();
    this.set = next;
  }

  writeStatus(status: NonNullable<T["status"]>): void {
    this.set = { ...this.set, status };
  }

  /** Carries out an action whole. `stopAfter` ends one on a pod after so many of its patches, as a crash would. */
  perform(action: Action, stopAfter = Number.POSITIVE_INFINITY): void {
    if (action.type === "event") {
      this.events.push(action.event);
      return;
    }
    if (action.type === "create pod" && this.pods.has(action.after.name))
      throw new Refused(`pod ${action.after.name} exists`);
    if (action.type === "patch pod") asksBudget(action);
    let left = stopAfter;
    for (const effect of action.effects) {
      if (action.type === "patch pod" && effect.type === "patch" && left-- <= 0) return;
      if (action.type === "create pod" && effect.type === "create" && effect.resource === "pods")
        this.#createPod(action.after, effect);
      else this.#execute(effect);
    }
  }

  #execute(effect: RolloutEffect): void {
    if ("resource" in effect && effect.resource === "imagepulljobs")
      throw new Error("the model does not know image pull jobs");
    switch (effect.type) {
      case "create":
        if (effect.resource === "claims") this.#createClaim(effect);
        else this.#createRevision(effect);
        return;
      case "patch":
        if (effect.resource === "pods") this.#patchPod(effect);
        else if (effect.resource === "claims") this.#patchClaim(effect);
        else this.#patchRevision(effect);
        return;
      case "delete":
        if (effect.resource === "pods") this.deletePod(effect.name, effect.uid);
        else if (effect.resource === "claims") this.claims.delete(effect.name);
        else this.revisions.delete(effect.name);
        return;
      case "patch object":
        this.patchWorkload();
        return;
      case "event":
        this.events.push(effect.event);
        return;
      case "spend budget":
      case "confirm object":
        return;
      default:
        throw new Error(`the model does not know ${effect.type}`);
    }
  }

  deletePod(name: string, uid?: string): void {
    const pod = this.pods.get(name);
    if (pod === undefined || (uid !== undefined && pod.uid !== uid))
      throw new Refused(`pod ${name} is another`);
    this.pods.set(name, { ...pod, deletionAt: this.now, resourceVersion: this.#next() });
  }

  change(name: string, change: Partial<Pod>): void {
    const pod = this.pods.get(name);
    if (pod !== undefined) this.pods.set(name, { ...pod, ...change, resourceVersion: this.#next() });
  }

  /** One kubelet step of one pod: terminate, schedule, start, or settle its readiness. True when it did something. */
  kubelet(name: string): boolean {
    const pod = this.pods.get(name);
    if (pod === undefined) return false;
    if (pod.deletionAt !== undefined) {
      if (pod.finalizers.length > 0) return false;
      this.pods.delete(name);
      this.#collect(pod.uid);
      return true;
    }
    if (pod.nodeName === "") {
      this.change(name, { nodeName: pod.pinnedTo ?? "node-1", pinnedTo: undefined });
      return true;
    }
    return this.#startContainers(pod) || this.#settleReadiness(pod);
  }

  #startContainers(pod: Pod): boolean {
    const running = new Map(pod.containerStatuses.map((status) => [status.name, status]));
    let changed = pod.phase !== "Running";
    const containerStatuses = pod.containers.map((container) => {
      const old = running.get(container.name);
      if (old !== undefined && old.image === container.image && old.ready) return old;
      changed = true;
      const restarted = old !== undefined && old.image !== container.image;
      return {
        name: container.name,
        image: container.image,
        imageID: `sha256:${container.image}`,
        containerID: `sim://${pod.uid}/${container.name}/${this.#next()}`,
        ready: true,
        restartCount: (old?.restartCount ?? 0) + Number(restarted),
      };
    });
    if (changed) this.change(pod.name, { phase: "Running", containerStatuses });
    return changed;
  }

  #settleReadiness(pod: Pod): boolean {
    const contained = pod.containerStatuses.every((status) => status.ready);
    const gated = pod.readinessGates.every((gate) => statusOf(pod, gate) === "True");
    const wanted: [string, string][] = [
      ["ContainersReady", contained ? "True" : "False"],
      ["Ready", contained && gated ? "True" : "False"],
    ];
    const conditions = [...pod.conditions];
    let changed = false;
    for (const [type, status] of wanted) {
      if (statusOf(pod, type) === status) continue;
      changed = true;
      setCondition(conditions, { type, status, reason: "", message: "", lastTransitionAt: this.now });
    }
    if (changed) this.change(pod.name, { conditions });
    return changed;
  }

  #next(): string {
    return String(this.#version++);
  }

  #createPod(after: Pod, { succeeded }: Creation): void {
    const uid = `pod-${this.#uid++}`;
    this.pods.set(after.name, { ...after, uid, createdAt: this.now, resourceVersion: this.#next() });
    if (succeeded) this.events.push(succeeded.event);
  }

  #createClaim({ name, body }: Creation): void {
    if (this.claims.has(name)) return;
    const { metadata } = body as {
      metadata: { labels?: Record<string, string>; ownerReferences?: OwnerReference[] };
    };
    const claim = plainClaim("default", name, {
      uid: `claim-${this.#uid++}`,
      resourceVersion: this.#next(),
      labels: metadata.labels ?? {},
      owners: metadata.ownerReferences ?? [],
      createdAt: this.now,
    });
    this.claims.set(name, claim);
  }

  #patchClaim({ name, patch }: Patch): void {
    const claim = this.claims.get(name);
    const { metadata } = patch.body as {
      metadata: {
        resourceVersion?: string;
        ownerReferences?: (OwnerReference & { $patch?: string })[];
      };
    };
    if (claim === undefined || metadata.resourceVersion !== claim.resourceVersion)
      throw new Refused(`claim ${name} changed`);
    const changes = metadata.ownerReferences ?? [];
    const owners = [
      ...claim.owners.filter((owner) => !changes.some((change) => change.uid === owner.uid)),
      ...changes.filter((change) => change.$patch !== "delete"),
    ];
    this.claims.set(claim.name, { ...claim, owners, resourceVersion: this.#next() });
  }

  /** Claims whose last owner is gone go with it. */
  #collect(uid: string): void {
    for (const claim of [...this.claims.values()]) {
      if (!claim.owners.some((owner) => owner.uid === uid)) continue;
      const owners = claim.owners.filter((owner) => owner.uid !== uid);
      if (owners.length === 0) this.claims.delete(claim.name);
      else this.claims.set(claim.name, { ...claim, owners, resourceVersion: this.#next() });
    }
  }

  #createRevision({ name, body: created, texts }: Creation): void {
    const body = created as {
      revision: number;
      metadata: { labels: Record<string, string>; annotations: Record<string, string> };
    };
    if (this.revisions.has(name)) throw new Refused("revision exists");
    this.revisions.set(name, {
      namespace: "default",
      name,
      uid: `revision-${this.#uid++}`,
      resourceVersion: this.#next(),
      labels: body.metadata.labels,
      annotations: body.metadata.annotations,
      owners: [this.#ownerReference()],
      generation: 1,
      finalizers: [],
      createdAt: this.now,
      deletionAt: undefined,
      revision: body.revision,
      data: texts?.["data"] ?? "",
    });
  }

  #ownerReference(): OwnerReference {
    return ownerReference(this.#kind, this.set.metadata.name ?? "", this.set.metadata.uid ?? "");
  }

  #patchRevision({ name, patch }: Patch): void {
    const body = patch.body as {
      revision?: number;
      metadata?: { labels?: Record<string, string | null>; ownerReferences?: OwnerReference[] };
    };
    const revision = this.revisions.get(name);
    if (revision === undefined) throw new Refused("revision is gone");
    this.revisions.set(revision.name, {
      ...revision,
      labels: mergeMap(revision.labels, body.metadata?.labels),
      owners: body.metadata?.ownerReferences ?? revision.owners,
      revision: body.revision ?? revision.revision,
      resourceVersion: this.#next(),
    });
  }

  #patchPod({ name, patch }: Patch): void {
    const body = patch.body as PatchBody;
    const pod = this.pods.get(name);
    if (pod === undefined || body.metadata.uid !== pod.uid) throw new Refused(`pod ${name} is another`);
    if (
      body.metadata.resourceVersion !== undefined &&
      body.metadata.resourceVersion !== pod.resourceVersion
    ) {
      throw new Refused(`pod ${name} changed`);
    }
    const conditions = [...pod.conditions];
    for (const change of body.status?.conditions ?? []) {
      const old = conditions.find((condition) => condition.type === change.type);
      setCondition(conditions, {
        type: change.type,
        status: change.status,
        reason: change.reason === undefined ? (old?.reason ?? "") : (change.reason ?? ""),
        message: change.message === undefined ? (old?.message ?? "") : (change.message ?? ""),
        lastTransitionAt: old?.status === change.status ? old.lastTransitionAt : this.now,
      });
    }
    const images = new Map(
      (body.spec?.containers ?? []).map((container) => [container.name, container.image]),
    );
    const references = body.metadata.ownerReferences ?? [];
    const released = references.some(({ $patch, uid }) => $patch === "delete" && uid === pod.controller?.uid);
    const adopter = references.find(({ $patch }) => $patch !== "delete");
    this.change(name, {
      labels: mergeMap(pod.labels, body.metadata.labels),
      annotations: mergeMap(pod.annotations, body.metadata.annotations),
      finalizers: [...new Set([...pod.finalizers, ...(body.metadata.finalizers ?? [])])],
      conditions,
      containers: pod.containers.map((container) => ({
        ...container,
        image: images.get(container.name) ?? container.image,
      })),
      controller:
        adopter === undefined
          ? released
            ? undefined
            : pod.controller
          : { group: "apps.kruise.io", kind: this.#kind, name: adopter.name ?? "", uid: adopter.uid },
    });
  }
}

type Creation = Extract<RolloutEffect, { type: "create" }>;
type Patch = Extract<RolloutEffect, { type: "patch" }>;

interface PatchBody {
  metadata: {
    uid: string;
    resourceVersion?: string;
    labels?: Record<string, string | null>;
    annotations?: Record<string, string | null>;
    finalizers?: string[];
    ownerReferences?: { $patch?: string; uid: string; name?: string }[];
  };
  spec?: { containers: { name: string; image?: string }[] };
  status?: {
    conditions: { type: string; status: string; reason?: string | null; message?: string | null }[];
  };
}

function refill<T extends { readonly name: string }>(map: Map<string, T>, objects: readonly T[]): void {
  map.clear();
  for (const object of objects) map.set(object.name, object);
}

function mergeMap(
  map: Readonly<Record<string, string>>,
  patch: Record<string, string | null> | undefined,
): Record<string, string> {
  const merged = { ...map };
  for (const [key, value] of Object.entries(patch ?? {})) {
    if (value === null) delete merged[key];
    else merged[key] = value;
  }
  return merged;
}

function statusOf(pod: Pod, type: string): string | undefined {
  return pod.conditions.find((condition) => condition.type === type)?.status;
}

function setCondition(conditions: PodCondition[], next: PodCondition): void {
  const index = conditions.findIndex((condition) => condition.type === next.type);
  if (index < 0) conditions.push(next);
  else conditions[index] = next;
}
