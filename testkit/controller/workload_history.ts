/** What random histories of workloads have in common: faulty passes, kubelets, and the quiet at their end. For tests. */
import fc from "fast-check";
import { STATE_LABEL } from "../../controller/rollout/lifecycle/lifecycle.ts";
import type { Action } from "../../controller/rollout/writes/actions.ts";
import type { PodTemplate } from "../../crds/index.ts";
import type { ObjectMeta } from "../../kube/core/index.ts";
import type { Pod } from "../../kube/index.ts";
import type { ClusterModel } from "./cluster_model.ts";
import type { LateWrites } from "./late_writes_model.ts";

export interface Workload {
  metadata: ObjectMeta;
  spec: object;
  status?: object;
}

interface TemplateWorkload extends Workload {
  spec: { template: PodTemplate };
}

/** The cluster, who plans for it, and who carries plans out. */
export interface World<T extends Workload> {
  model: ClusterModel<T>;
  plan(): {
    actions: readonly Action[];
    status: NonNullable<T["status"]>;
    waiting: readonly object[];
    requeueAfterMs?: number;
  };
  /** `stopAfter`: the process dies after so many requests of the action. */
  perform(action: Action, stopAfter?: number): void;
}

export function randomOf(seed: number): () => number {
  let state = seed;
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return state / 2 ** 32;
  };
}

/** A pass that may fail at its action `fail` (0: does not), after `stopAfter` of that action's requests. */
export const faultyPass = (mostRequests: number) =>
  fc.record({
    do: fc.constant("reconcile" as const),
    fail: fc.integer({ min: 0, max: 7 }),
    stopAfter: fc.integer({ min: 1, max: mostRequests }),
  });

/** What becomes of the write at a place among those under way. */
export const lateStep = fc.record({
  late: fc.constantFrom("answer", "answer", "arrive", "refuse", "lose", "arrive late"),
  place: fc.nat(30),
});
type LateStep = typeof lateStep extends fc.Arbitrary<infer S> ? S : never;

export function takeLate(
  writes: LateWrites,
  { late, place }: LateStep,
  perform: (action: Action) => void,
): void {
  if (late === "answer") writes.answer(place, perform);
  else if (late === "arrive") writes.arrive(place, perform);
  else if (late === "refuse") writes.refuse(place);
  else if (late === "lose") writes.lose(place);
  else writes.arriveLate(perform);
}

/** Label of a template by which its pods are hooked. */
export const HOOK = "hold";
const handler = fc.record({
  labelsHandler: fc.constant({ [HOOK]: "true" }),
  markPodNotReady: fc.constantFrom(false, false, true),
});
const hook = fc.option(handler, { nil: undefined });
/** Hooks come, change and go. */
export const hookStep = fc.record({
  do: fc.constant("hooks" as const),
  lifecycle: fc
    .record({ preDelete: hook, inPlaceUpdate: hook })
    .map((hooks) => Object.fromEntries(Object.entries(hooks).filter(([, one]) => one !== undefined))),
});

/** The same, with pods that are hooked. */
export function hooked<T extends TemplateWorkload>(set: T): T {
  const { template } = set.spec;
  const labels = { ...template.metadata?.labels, [HOOK]: "true" };
  return {
    ...set,
    spec: { ...set.spec, template: { ...template, metadata: { ...template.metadata, labels } } },
  };
}

/** Whoever was asked lets go of the pod, or takes it back once it is updated; false when nobody was. */
export function answerHook<T extends Workload>(model: ClusterModel<T>, { name, labels }: Pod): boolean {
  const state = labels[STATE_LABEL] ?? "";
  const { [HOOK]: held, ...rest } = labels;
  if (state === "PreparingDelete" || state === "PreparingUpdate") {
    if (held === undefined) return false;
    model.change(name, { labels: rest });
    return true;
  }
  if (state !== "Updated" || held !== undefined) return false;
  model.change(name, { labels: { ...rest, [HOOK]: "true" } });
  return true;
}

/** All who were asked answer. */
export function answerHooks<T extends Workload>(model: ClusterModel<T>): boolean {
  return model.owned().filter((pod) => answerHook(model, pod)).length > 0;
}

const tag = fc.integer({ min: 1, max: 3 });
/** Changes that can be made in place, and some that cannot. */
export const templateSteps = [
  { weight: 2, arbitrary: fc.record({ do: fc.constant("image" as const), tag }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant("env" as const), tag }) },
];

export function changeTemplate<T extends TemplateWorkload>(
  model: ClusterModel<T>,
  what: "image" | "env",
  tag: number,
): void {
  model.changeSpec((spec) => {
    for (const container of spec.template.spec.containers) {
      if (what === "image") container.image = `app:${tag}`;
      else container.env = [{ name: "A", value: `${tag}` }];
    }
  });
}

/** The process dies in the middle of the list, perhaps in the middle of one pod's requests. */
export function reconcile<T extends Workload>(world: World<T>, fail: number, stopAfter: number): void {
  const { actions, status } = world.plan();
  for (const [index, action] of actions.entries()) {
    if (fail > 0 && index === fail) {
      world.perform(action, stopAfter);
      return;
    }
    world.perform(action);
  }
  world.model.writeStatus(status);
}

/** Runs plan, writes and kubelets without faults until nothing moves. `others` may move something after each round. */
export function settle<T extends Workload>(world: World<T>, rounds: number, others = () => false): void {
  const { model } = world;
  for (let round = 0; round < rounds; round++) {
    const { actions, status, requeueAfterMs } = world.plan();
    for (const action of actions) world.perform(action);
    model.writeStatus(status);
    let moved = actions.some((action) => action.type !== "event");
    for (const name of [...model.pods.keys()]) if (model.kubelet(name)) moved = true;
    if (others()) moved = true;
    if (!moved && requeueAfterMs === undefined) return;
    model.now += moved ? 50 : (requeueAfterMs ?? 50);
  }
  throw new Error(`nothing settled after ${rounds} rounds: ${JSON.stringify(world.plan().waiting)}`);
}

export type Mishap = "unready" | "failed" | "delete";

/** What happens to pods of any workload without its doing. */
export function befall<T extends Workload>(model: ClusterModel<T>, pod: Pod, what: Mishap): void {
  switch (what) {
    case "unready":
      makeUnready(model, pod);
      return;
    case "failed":
      model.change(pod.name, { phase: "Failed", conditions: [] });
      return;
    case "delete":
      model.deletePod(pod.name);
  }
}

/** Its containers fail. */
export function makeUnready<T extends Workload>(model: ClusterModel<T>, pod: Pod): void {
  model.change(pod.name, {
    containerStatuses: pod.containerStatuses.map((status) => ({ ...status, ready: false })),
    conditions: pod.conditions.map((one) =>
      one.type === "Ready" || one.type === "ContainersReady"
        ? { ...one, status: "False", lastTransitionAt: model.now }
        : one,
    ),
  });
}
