/**
 * What workloads of pods share behind the shell: calls the plan and hands its actions to the performer, which does not
 * keep the pass waiting. A kind brings how it is seen and planned; no policy lives here.
 */
import { type ObjectMeta, refOf } from "../../kube/core/index.ts";
import { controllerRevisionResource, persistentVolumeClaimResource, podResource } from "../../kube/index.ts";
import { type OwnerKey, ownerKeyOf } from "../plan/owners.ts";
import { imagePullJobResource } from "../plan/resources.ts";
import { longestGatheringMs, SMALL_SIZE } from "../rollout/delays.ts";
import { PlanMemory } from "../rollout/plan_memory.ts";
import { controlledPods, type OwnedPods } from "../rollout/pods/owned_pods.ts";
import { ObservedGenerations } from "../rollout/status/observed_generations.ts";
import type { Plan } from "../rollout/writes/actions.ts";
import type { Writables } from "./executor/executor.ts";
import { type Owner, Performer } from "./executor/perform.ts";
import { writable } from "./executor/writable.ts";
import type { Caches, KindDeps } from "./kind.ts";
import type { Reconciler, Result, StatusObject } from "./reconciler.ts";

/** Plans of one workload take about a sixteenth of a core at most, however many events arrive. */
const PLAN_SHARE = 15;

interface PlanningContext {
  performer: Pick<Performer, "pending" | "failures" | "creationRoom" | "isClaimWritten">;
  /** Milliseconds since the epoch. */
  now: number;
  random: () => number;
  memory: PlanMemory;
}

/** An object that is gone, and by what its dependants were found. */
export interface Forgotten {
  readonly key: string;
  readonly uid: string;
  readonly owner: OwnerKey;
}

export interface Workload<T extends StatusObject> {
  /** What the object needs now, from the caches. Undefined while its pods are still being listed, which enqueues it. */
  plan(object: T, context: PlanningContext): Plan<object> | undefined;
  /** How many pods it is about: the more, the more changes go into one write of its status. Default: `replicas` of it. */
  sizeOf?(status: T["status"]): number;
  /** The object is gone. */
  forget?(gone: Forgotten): void;
  /** Where its pods are. Default: those that it controls are in the shared cache. */
  readonly pods?: OwnedPods;
  /** Namespace of what is made for the object, revisions above all. Default: its own. */
  readonly namespace?: string;
}

export class WorkloadReconciler<T extends StatusObject> implements Reconciler<T> {
  readonly #deps: KindDeps<T>;
  readonly #workload: Workload<T>;
  readonly #performer: Performer<T>;
  readonly #observed = new ObservedGenerations();
  readonly #memory = new PlanMemory();
  /** Until when to gather events before the next plan, by key; monotonic milliseconds. */
  readonly #gatherUntil = new Map<string, number>();

  constructor(deps: KindDeps<T>, workload: Workload<T>) {
    this.#deps = deps;
    this.#workload = workload;
    const pods = workload.pods ?? controlledPods(deps.caches.pods);
    this.#performer = new Performer(deps, {
      pods,
      writes: workloadWrites(deps.caches, pods),
      requeue: ({ key }, afterMs) => deps.queue.addAfter(key, Math.max(afterMs, this.coalescingMs(key))),
      unblocked: ({ key }) => deps.queue.add(key, "high"),
    });
  }

  /** Milliseconds to wait for further events of the same object: none when its last plan was long enough ago. */
  coalescingMs(key: string): number {
    return Math.max(0, (this.#gatherUntil.get(key) ?? 0) - this.#deps.clock.monotonic());
  }

  forget(key: string, uid: string): void {
    const owner = ownerKeyOf(this.#ownerOf({ ...refOf(key), uid }, key));
    this.#performer.forget(owner);
    this.#observed.forget(uid);
    this.#workload.forget?.({ key, uid, owner });
    this.#gatherUntil.delete(key);
  }

  drained(): Promise<void> {
    return this.#performer.drained();
  }

  reconcile(object: T, key: string): Result | undefined {
    const { clock, random } = this.#deps;
    const started = clock.monotonic();
    const owner = this.#ownerOf(object.metadata, key);
    const dependants = ownerKeyOf(owner);
    const generation = object.metadata.generation ?? 0;
    this.#performer.observe(dependants, object);
    const plan = this.#workload.plan(object, {
      performer: this.#performer,
      now: clock.now(),
      random,
      memory: this.#memory,
    });
    if (plan === undefined) return undefined;
    this.#observed.answered(owner.uid, this.#performer.pending(dependants));
    this.#performer.perform(owner, object, plan.actions);
    const size = this.#workload.sizeOf?.(plan.status) ?? replicasOf(plan.status);
    // Pods of others come and go without a write from here: that none is in flight says nothing of them.
    const hasOwnPods = this.#workload.pods === undefined;
    const isSettled = hasOwnPods && plan.actions.length === 0 && this.#performer.inFlight(dependants) === 0;
    // Nothing is done to pods before their revision exists.
    const isObserved =
      !plan.actions.some(({ type }) => type === "create revision") &&
      this.#observed.isObserved(owner.uid, generation, this.#performer.pending(dependants));
    const ended = clock.monotonic();
    this.#gatherUntil.set(key, ended + Math.min(longestGatheringMs(size), (ended - started) * PLAN_SHARE));
    return {
      status: isObserved ? plan.status : notObserved(plan.status, object.status),
      size,
      // The status of a small workload is exact soon enough.
      settled: isSettled && size > SMALL_SIZE,
      requeueAfterMs: plan.requeueAfterMs,
    };
  }

  #ownerOf({ namespace = "", uid = "" }: ObjectMeta, key: string): Owner {
    return { key, namespace: this.#workload.namespace ?? namespace, uid };
  }
}

/** What rollouts write beside their workload. */
export function workloadWrites(
  { claims, revisions, pullJobWritten }: Pick<Caches, "claims" | "revisions" | "pullJobWritten">,
  pods: OwnedPods,
): Writables {
  // What an answer shows without a time of deletion was removed at once.
  const remains = ({ deletionAt }: { readonly deletionAt: number | undefined }) => deletionAt !== undefined;
  return {
    pods: writable(podResource, {
      writeBack: (pod, key) => pods.writeBack(pod, key),
      removed: (podKey, uid) => pods.removed(podKey, uid),
      controllerOf: ({ controller }) => controller?.uid,
      remains,
    }),
    claims: writable(persistentVolumeClaimResource, {
      writeBack: (claim) => claims.writeBack(claim),
      removed: (key, uid) => claims.remove(key, uid),
      remains,
    }),
    revisions: writable(controllerRevisionResource, {
      writeBack: (revision) => revisions.writeBack(revision),
      removed: (key, uid) => revisions.remove(key, uid),
      remains,
    }),
    imagepulljobs: writable(imagePullJobResource, { writeBack: (job) => pullJobWritten(job) }),
  };
}

function replicasOf(status: object): number {
  return "replicas" in status && typeof status.replicas === "number" ? status.replicas : 0;
}

/** The counts are true all the same; the generation stays the one that was reported last. */
function notObserved(status: object, stored: object | undefined): object {
  if (!("observedGeneration" in status)) return status;
  const before = stored !== undefined && "observedGeneration" in stored ? stored.observedGeneration : 0;
  return { ...status, observedGeneration: before };
}
