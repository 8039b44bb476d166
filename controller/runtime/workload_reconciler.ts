/**
 * What workloads of pods share behind the shell: calls the plan and hands its actions to the performer, which does not
 * keep the pass waiting. A kind brings how it is seen and planned; no policy lives here.
 */
import { type ObjectMeta, refOf } from "../../kube/core/index.ts";
import { isKubeError, podResource, type Writer } from "../../kube/index.ts";
import { type OwnerKey, ownerKeyOf, scopeOf } from "../plan/owners.ts";
import { longestGatheringMs, SMALL_SIZE } from "../rollout/delays.ts";
import { PlanMemory } from "../rollout/plan_memory.ts";
import { controlledPods, type OwnedPods } from "../rollout/pods/owned_pods.ts";
import { ObservedGenerations } from "../rollout/status/observed_generations.ts";
import type { ObjectEvent, Plan } from "../rollout/writes/actions.ts";
import { eventTarget } from "./executor/event_target.ts";
import { Performer } from "./executor/perform.ts";
import type { Owner } from "./executor/pod_writer.ts";
import type { KindDeps } from "./kind.ts";
import type { Reconciler, Result, StatusObject } from "./reconciler.ts";

/** Plans of one workload take about a sixteenth of a core at most, however many events arrive. */
const PLAN_SHARE = 15;

interface PlanningContext {
  performer: Pick<Performer, "pending" | "failures">;
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
  readonly #performer: Performer;
  readonly #observed = new ObservedGenerations();
  readonly #memory = new PlanMemory();
  /** Until when to gather events before the next plan, by key; monotonic milliseconds. */
  readonly #gatherUntil = new Map<string, number>();

  constructor(deps: KindDeps<T>, workload: Workload<T>) {
    this.#deps = deps;
    this.#workload = workload;
    this.#performer = this.#newPerformer();
  }

  #newPerformer(): Performer {
    const deps = this.#deps;
    const { client, caches, log, signal, resource } = deps;
    return new Performer({
      client,
      writerOf: (owner) => this.#writerOf(owner),
      pods: this.#workload.pods ?? controlledPods(caches.pods),
      claims: caches.claims,
      revisions: caches.revisions,
      created: deps.created,
      objectCreated: (object) => caches.pullJobWritten(object),
      log,
      signal,
      record: (owner, event) => this.#record(owner, event),
      patchWorkload: async (owner, body, options) => {
        deps.objects.writeBack(
          await this.#writerOf(owner).patch(resource, refOf(owner.key), { type: "merge", body }, options),
        );
      },
      deleteWorkload: async (owner, options) => {
        const left = await this.#writerOf(owner).delete(resource, refOf(owner.key), {
          ...options,
          uid: owner.uid,
          propagationPolicy: "Background",
        });
        if (left === undefined) deps.objects.remove(owner.key, owner.uid);
        else deps.objects.writeBack(left);
      },
      mayAdopt: async (owner, options) => {
        try {
          const { metadata } = await client.get(resource, refOf(owner.key), options);
          return metadata.uid === owner.uid && metadata.deletionTimestamp === undefined;
        } catch (error) {
          if (isKubeError(error, "NotFound")) return false;
          throw error;
        }
      },
      mayDisrupt: deps.mayDisrupt,
      requeue: (owner, afterMs) =>
        deps.queue.addAfter(owner.key, Math.max(afterMs, this.coalescingMs(owner.key))),
      unblocked: (owner) => deps.queue.add(owner.key, "high"),
      clock: deps.clock,
      baseDelayMs: deps.options.baseDelayMs,
      maxDelayMs: deps.options.maxDelayMs,
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
    this.#performer.observe(dependants, generation);
    const plan = this.#workload.plan(object, {
      performer: this.#performer,
      now: clock.now(),
      random,
      memory: this.#memory,
    });
    if (plan === undefined) return undefined;
    this.#observed.answered(owner.uid, this.#performer.pending(dependants));
    this.#performer.perform(owner, generation, plan.actions);
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

  /** One in a namespace changes nothing outside of it. */
  #writerOf({ key }: Owner): Writer {
    return this.#deps.writesFor(scopeOf(key));
  }

  #ownerOf({ name = "", namespace = "", uid = "" }: ObjectMeta, key: string): Owner {
    return { key, name, namespace: this.#workload.namespace ?? namespace, uid };
  }

  #record({ key, uid }: Owner, { type, reason, message, about }: ObjectEvent): void {
    const { objects, recorder, resource } = this.#deps;
    const { resourceVersion = "" } = objects.get(key)?.metadata ?? {};
    const itself = () => eventTarget(resource, { ...refOf(key), uid, resourceVersion });
    recorder.event(about ? eventTarget(podResource, about) : itself(), type, reason, message);
  }
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
