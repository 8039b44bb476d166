/** Random histories of a DaemonSet: what users, nodes, kubelets and slow servers may do to it. For tests. */
import fc from "fast-check";
import type { DaemonSet } from "../../crds/index.ts";
import type { Action } from "../rollout/actions.ts";
import { STATE_LABEL } from "../rollout/lifecycle.ts";
import { foreignPod, type Model } from "./model.ts";
import type { DaemonSetPlan } from "./plan.ts";

export const nodeNames = ["node-1", "node-2", "node-3", "node-4", "node-5"];
/** Label by which deletions are hooked. */
export const HOOK = "hold";

/** The cluster, who plans for it, and who carries plans out. */
export interface World {
  model: Model;
  plan(): DaemonSetPlan;
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

/** Whoever hooked the deletion lets go. */
function releaseHooks(model: Model): boolean {
  let released = false;
  for (const pod of model.owned()) {
    if (pod.labels[STATE_LABEL] !== "PreparingDelete" || pod.labels[HOOK] !== "true") continue;
    const { [HOOK]: _, ...labels } = pod.labels;
    model.change(pod.name, { labels });
    released = true;
  }
  return released;
}

/** The server answers writes that are under way, the oldest first. */
function answerAll(world: World): void {
  for (const action of world.model.inFlight.splice(0)) world.perform(action);
}

/** Runs plan, writes and kubelets without faults until nothing moves. */
export function settle(world: World, rounds = 900): void {
  const { model } = world;
  answerAll(world);
  for (let round = 0; round < rounds; round++) {
    const { actions, status, wakeAfterMs } = world.plan();
    for (const action of actions) world.perform(action);
    model.set = { ...model.set, status };
    let moved = actions.some((action) => action.type !== "event");
    for (const name of [...model.pods.keys()]) if (model.kubelet(name)) moved = true;
    if (releaseHooks(model)) moved = true;
    if (!moved && wakeAfterMs === undefined) return;
    model.now += moved ? 50 : (wakeAfterMs ?? 50);
  }
  throw new Error(`nothing settled after ${rounds} rounds: ${JSON.stringify(world.plan().waiting)}`);
}

type RollingUpdate = NonNullable<NonNullable<DaemonSet["spec"]["updateStrategy"]>["rollingUpdate"]>;

const amount = fc.oneof(fc.integer({ min: 1, max: 4 }), fc.constantFrom("20%", "50%", "100%"));
export const rolling: fc.Arbitrary<RollingUpdate> = fc
  .record({
    how: fc.constantFrom("unavailable", "unavailable", "surge", "in place"),
    amount,
    partition: fc.constantFrom(0, 0, 1, 3, "50%"),
    paused: fc.constantFrom(false, false, false, true),
    selected: fc.constantFrom(false, false, false, true),
  })
  .map(({ how, amount, partition, paused, selected }) => ({
    rollingUpdateType: how === "in place" ? "InPlaceIfPossible" : "Standard",
    maxUnavailable: how === "surge" ? 0 : amount,
    maxSurge: how === "surge" ? amount : 0,
    partition,
    paused,
    ...(selected ? { selector: { matchLabels: { color: "blue" } } } : {}),
  }));

const which = fc.nat(10);
const on = fc.constantFrom(...nodeNames);
export const step = fc.oneof(
  {
    weight: 9,
    arbitrary: fc.record({
      do: fc.constant("reconcile" as const),
      fail: fc.integer({ min: 0, max: 7 }),
      stopAfter: fc.integer({ min: 1, max: 2 }),
    }),
  },
  { weight: 4, arbitrary: fc.record({ do: fc.constant("send" as const) }) },
  {
    weight: 4,
    arbitrary: fc.record({ do: fc.constant("answer" as const), last: fc.boolean() }),
  },
  { weight: 9, arbitrary: fc.record({ do: fc.constant("kubelet" as const), which }) },
  {
    weight: 2,
    arbitrary: fc.record({ do: fc.constant("image" as const), tag: fc.integer({ min: 1, max: 3 }) }),
  },
  {
    weight: 1,
    arbitrary: fc.record({ do: fc.constant("env" as const), tag: fc.integer({ min: 1, max: 3 }) }),
  },
  { weight: 2, arbitrary: fc.record({ do: fc.constant("strategy" as const), rolling }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant("on delete" as const) }) },
  {
    weight: 1,
    arbitrary: fc.record({
      do: fc.constant("taint" as const),
      on,
      effect: fc.constantFrom("", "NoSchedule", "NoExecute"),
    }),
  },
  {
    weight: 1,
    arbitrary: fc.record({ do: fc.constant("color" as const), on, color: fc.constantFrom("blue", "red") }),
  },
  { weight: 1, arbitrary: fc.record({ do: fc.constant("node gone" as const), on }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant("node back" as const), on }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant("unready" as const), which }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant("failed" as const), which }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant("delete" as const), which }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant("foreign" as const), on, number: fc.nat(3) }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant("release" as const), which }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant("hook" as const), which }) },
);
/** Writes that are under way for long. */
export const slowStep = fc.oneof(
  { weight: 3, arbitrary: fc.record({ do: fc.constant("send" as const) }) },
  { weight: 3, arbitrary: fc.record({ do: fc.constant("answer" as const), last: fc.boolean() }) },
  { weight: 6, arbitrary: fc.record({ do: fc.constant("kubelet" as const), which }) },
);

export type Step = typeof step extends fc.Arbitrary<infer S> ? S : never;

export function take(world: World, action: Step): void {
  const { model } = world;
  const names = [...model.pods.keys()];
  const pick = "which" in action ? names[action.which % Math.max(1, names.length)] : undefined;
  const pod = pick === undefined ? undefined : model.pods.get(pick);
  model.now += 20;
  // What changes the world while a write is under way cannot be blamed on the plan that sent it.
  if (!["send", "answer", "kubelet"].includes(action.do)) answerAll(world);
  switch (action.do) {
    case "reconcile":
      reconcile(world, action.fail, action.stopAfter);
      return;
    case "send":
      send(world);
      return;
    case "answer":
      answerOne(world, action.last);
      return;
    case "kubelet":
      if (pick !== undefined) model.kubelet(pick);
      return;
    case "image":
    case "env":
      changeTemplate(model, action.do, action.tag);
      return;
    case "strategy":
      model.changeSpec((spec) => {
        spec.updateStrategy = { type: "RollingUpdate", rollingUpdate: action.rolling };
      });
      return;
    case "on delete":
      model.changeSpec((spec) => {
        spec.updateStrategy = { type: "OnDelete" };
      });
      return;
    case "taint": {
      const taints = action.effect === "" ? [] : [{ key: "k", value: "", effect: action.effect }];
      if (model.nodes.has(action.on)) model.changeNode(action.on, { taints });
      return;
    }
    case "color":
      if (model.nodes.has(action.on)) model.changeNode(action.on, { labels: { color: action.color } });
      return;
    case "node gone":
      model.nodes.delete(action.on);
      return;
    case "node back":
      model.changeNode(action.on, {});
      return;
    case "foreign":
      if (!model.pods.has(`foreign-${action.number}`))
        model.place(foreignPod(`foreign-${action.number}`, action.on, { createdAt: model.now }));
      return;
    default:
      if (pod !== undefined) disturb(model, pod, action.do);
  }
}

/** Answers come in any order. */
function answerOne(world: World, last: boolean): void {
  const { inFlight } = world.model;
  const action = last ? inFlight.pop() : inFlight.shift();
  if (action !== undefined) world.perform(action);
}

/** Starts the writes of a plan and does not wait for them; one pod has at most one write under way. */
function send(world: World): void {
  const { model } = world;
  const busy = model.writing();
  const planned = world.plan();
  for (const action of planned.actions) {
    if ("pod" in action && busy.has(action.pod.uid)) throw new Error(`${action.pod.name} is written twice`);
    if (action.type.endsWith(" pod")) model.inFlight.push(action);
    else world.perform(action);
  }
}

function reconcile(world: World, fail: number, stopAfter: number): void {
  answerAll(world);
  const planned = world.plan();
  for (const [index, one] of planned.actions.entries()) {
    // The process dies in the middle of the list, perhaps in the middle of one pod's requests.
    if (fail > 0 && index === fail) {
      world.perform(one, stopAfter);
      return;
    }
    world.perform(one);
  }
  world.model.set = { ...world.model.set, status: planned.status };
}

export function changeTemplate(model: Model, what: "image" | "env", tag: number): void {
  model.changeSpec((spec) => {
    for (const container of spec.template.spec.containers) {
      if (what === "image") container.image = `app:${tag}`;
      else container.env = [{ name: "A", value: `${tag}` }];
    }
  });
}

type Harm = "unready" | "failed" | "delete" | "release" | "hook";

function disturb(model: Model, pod: ReturnType<Model["owned"]>[number], what: Harm): void {
  switch (what) {
    case "unready":
      model.change(pod.name, {
        containerStatuses: pod.containerStatuses.map((status) => ({ ...status, ready: false })),
        conditions: pod.conditions.map((one) =>
          one.type === "Ready" || one.type === "ContainersReady"
            ? { ...one, status: "False", lastTransitionAt: model.now }
            : one,
        ),
      });
      return;
    case "failed":
      model.change(pod.name, { phase: "Failed", conditions: [] });
      return;
    case "delete":
      model.deletePod(pod.name);
      return;
    case "release":
      model.change(pod.name, { labels: { ...pod.labels, app: "other" } });
      return;
    case "hook":
      model.change(pod.name, { labels: { ...pod.labels, [HOOK]: "true" } });
  }
}
