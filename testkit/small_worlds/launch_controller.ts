/** The reconciler of launch priorities, which is given what it remembers before it is asked. */
import { GIVEN, TAKEN_OVER } from "../../controller/kinds/container_launch_priority/barrier.ts";
import { launchPriorityController } from "../../controller/kinds/container_launch_priority/index.ts";
import { LaunchPriorityReconciler } from "../../controller/kinds/container_launch_priority/reconcile.ts";
import { objectAt, textAt } from "../../controller/native/json_fields.ts";
import type { Outcomes } from "../../controller/plan/effects.ts";
import { sharedCaches } from "../../controller/runtime/caches.ts";
import type { SharedDeps } from "../../controller/runtime/kind.ts";
import type { PlainResult } from "../../controller/runtime/reconciler.ts";
import { type JsonObject, keyOf } from "../../kube/core/index.ts";
import { podResource, WorkQueue } from "../../kube/index.ts";
import { sharedDeps } from "../controller/kind_deps_builder.ts";
import { testClock } from "../kube/fake_clock.ts";
import { fakeServer } from "../kube/fake_server.ts";

/** The only pod there is, or was. */
export const POD = { namespace: "ns", name: "web" };

/** A pass whose writes have ended. */
export interface Execution {
  readonly pod: JsonObject;
  readonly at: number;
  readonly outcomes: Outcomes;
}

/** By what was written: the last pass that wrote it, of the pod that is seen. */
export type Memory = ReadonlyMap<string, Execution>;

export const nothingKnown: Memory = new Map();

/** What a reconciler makes of what it hears, and what it does then. */
export interface Launching {
  readonly memory: Memory;
  readonly isQueued: boolean;
  /** It looks again by itself. */
  readonly againInMs: number | undefined;
}

export type MakeReconciler = (deps: SharedDeps) => Pick<LaunchPriorityReconciler, "reconcile" | "executed">;

const base = sharedDeps(fakeServer().client, testClock());

/** A process that remembers this, and sees the pod. */
export class LaunchProcess {
  readonly #memory: Memory;
  readonly #deps: SharedDeps;
  readonly #reconciler: ReturnType<MakeReconciler>;
  #queue = new Delays();
  #now = 0;
  #version = 0;

  constructor(memory: Memory, seen: JsonObject | undefined, make: MakeReconciler) {
    this.#memory = memory;
    const clock = { ...base.clock, now: () => this.#now, monotonic: () => this.#now };
    const holding = { owner: () => false, others: [launchPriorityController] };
    const caches = { ...base.caches, ...sharedCaches(holding) };
    this.#deps = { ...base, caches, clock, queue: this.#queue };
    this.#reconciler = make(this.#deps);
    for (const execution of memory.values()) this.#executed(execution, execution.pod);
    this.#show(seen);
    this.#listen();
  }

  /** The watch, or an answer, shows it another pod, or the same one changed. */
  hear(pod: JsonObject | undefined): Launching {
    this.#show(pod);
    const isQueued = this.#queue.depth > 0;
    // What is not to be looked at is forgotten.
    return { memory: isQueued ? this.#memory : nothingKnown, isQueued, againInMs: undefined };
  }

  pass(now: number): PlainResult | undefined {
    this.#now = now;
    return this.#reconciler.reconcile(keyOf(POD));
  }

  /** The writes of its last pass have ended, over a pod that it may see otherwise by now. */
  end(execution: Execution, seen: JsonObject | undefined): Launching {
    this.#executed(execution, seen);
    const { outcomes, pod } = execution;
    const memory = new Map(this.#memory);
    const { writes, error } = outcomes;
    const isGiven = writes.has(GIVEN) && error === undefined;
    for (const id of uidOf(pod) === uidOf(seen) ? [TAKEN_OVER, GIVEN] : [])
      if (id === GIVEN ? isGiven : writes.has(id)) {
        memory.delete(id);
        memory.set(id, execution);
      }
    return { memory, isQueued: this.#queue.depth > 0, againInMs: this.#queue.againInMs };
  }

  #executed({ pod, at, outcomes }: Execution, seen: JsonObject | undefined): void {
    this.#show(pod);
    const result = this.pass(at);
    this.#show(seen);
    this.#listen();
    if (result !== undefined) this.#reconciler.executed(keyOf(POD), result, outcomes);
  }

  #show(pod: JsonObject | undefined): void {
    const { pods } = this.#deps.caches;
    const held = pods.get(keyOf(POD));
    if (held !== undefined && held.uid !== uidOf(pod)) pods.remove(keyOf(POD), held.uid);
    if (pod === undefined) return;
    const metadata = { ...objectAt(pod, "metadata"), resourceVersion: String(++this.#version) };
    const text = Buffer.from(JSON.stringify({ ...pod, metadata }));
    pods.upsert(podResource.codec.decode(text, "application/json"));
  }

  /** What was queued before is old. */
  #listen(): void {
    this.#queue = new Delays();
    this.#deps.queue = this.#queue;
  }
}

class Delays extends WorkQueue {
  againInMs: number | undefined;

  constructor() {
    super({ clock: base.clock });
  }

  override addAfter(_: string, ms: number): void {
    this.againInMs = ms;
  }
}

export function uidOf(object: JsonObject | undefined): string {
  return textAt(objectAt(object ?? {}, "metadata"), "uid");
}

export const newReconciler: MakeReconciler = (deps) => new LaunchPriorityReconciler(deps);
