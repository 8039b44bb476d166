/** Random histories of a DaemonSet: what users, nodes, kubelets and slow servers may do to it. For tests. */
import fc from "fast-check";
import type { DaemonSetPlan } from "../../controller/kinds/daemon_set/decisions.ts";
import { REVISION_LABEL } from "../../controller/kinds/daemon_set/strategy.ts";
import { STATE_ANNOTATION } from "../../controller/rollout/in_place/state.ts";
import { type Hook, STATE_LABEL } from "../../controller/rollout/lifecycle/lifecycle.ts";
import type { DaemonSet } from "../../crds/index.ts";
import type { Pod } from "../../kube/index.ts";
import { foreignPod, type Model } from "./daemon_set_model.ts";
import {
  befall,
  changeTemplate,
  faultyPass,
  HOOK,
  type Mishap,
  reconcile,
  settle,
  templateSteps,
  type World,
} from "./workload_history.ts";

export const nodeNames = ["node-1", "node-2", "node-3", "node-4", "node-5"];
/** Finalizer by which deletions are hooked, beside the label. */
export const HOOK_FINALIZER = "example.com/hold";

/** A model whose writes may be under way for long. */
export interface DaemonWorld extends World<DaemonSet> {
  model: Model;
  plan(): DaemonSetPlan;
}

/** Whoever hooked the deletion lets go; false when nobody was asked. */
function letGo(model: Model, { name, labels: { [HOOK]: held, ...labels }, ...pod }: Pod): boolean {
  const isAsked = labels[STATE_LABEL] === "PreparingDelete" || pod.deletionAt !== undefined;
  if (!isAsked || (held !== "true" && !pod.finalizers.includes(HOOK_FINALIZER))) return false;
  model.change(name, { labels, finalizers: pod.finalizers.filter((one) => one !== HOOK_FINALIZER) });
  return true;
}

function releaseHooks(model: Model): boolean {
  return model.owned().filter((pod) => letGo(model, pod)).length > 0;
}

/** The server answers writes that are under way, the oldest first. */
function answerAll(world: DaemonWorld): void {
  const { writes } = world.model;
  while (writes.size > 0) writes.answer(0, (action) => world.perform(action));
}

/** Answers what is under way, then goes on until nothing moves. */
export function settleDaemons(world: DaemonWorld): void {
  answerAll(world);
  settle(world, 900, () => releaseHooks(world.model));
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

const byLabel: Hook = { labelsHandler: { [HOOK]: "true" } };
const byFinalizer: Hook = { finalizersHandler: [HOOK_FINALIZER] };
export const lifecycles: readonly NonNullable<DaemonSet["spec"]["lifecycle"]>[] = [
  {},
  ...[byLabel, byFinalizer].flatMap((hook) =>
    [false, true].map((markPodNotReady) => ({ preDelete: { ...hook, markPodNotReady } })),
  ),
];
/** Fields that change by themselves. */
const fields: fc.Arbitrary<Partial<DaemonSet["spec"]>> = fc.oneof(
  fc.record({ minReadySeconds: fc.constantFrom(0, 0, 2) }),
  fc.record({ burstReplicas: fc.constantFrom(250, 250, 0, 1, 2, "50%") }),
  fc.record({ scaleStrategy: fc.record({ partitionedScaling: fc.boolean() }) }),
  fc.record({ lifecycle: fc.constantFrom(...lifecycles) }),
  fc.record({ revisionHistoryLimit: fc.constantFrom(0, 1, 10) }),
);

const which = fc.nat(10);
const on = fc.constantFrom(...nodeNames);
export const letGoStep = fc.record({ do: fc.constant("let go" as const), which });
export const step = fc.oneof(
  { weight: 9, arbitrary: faultyPass(2) },
  { weight: 4, arbitrary: fc.record({ do: fc.constant("send" as const) }) },
  {
    weight: 4,
    arbitrary: fc.record({ do: fc.constant("answer" as const), last: fc.boolean() }),
  },
  { weight: 9, arbitrary: fc.record({ do: fc.constant("kubelet" as const), which }) },
  ...templateSteps,
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
  { weight: 2, arbitrary: letGoStep },
  { weight: 2, arbitrary: fc.record({ do: fc.constant("fields" as const), fields }) },
  {
    weight: 1,
    arbitrary: fc.record({ do: fc.constant("wanted" as const), color: fc.constantFrom("", "", "blue") }),
  },
  { weight: 1, arbitrary: fc.record({ do: fc.constant("lean" as const), on: fc.boolean() }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant("garble hash" as const), which }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant("garble state" as const), which }) },
  {
    weight: 1,
    arbitrary: fc.record({ do: fc.constant("wait" as const), ms: fc.constantFrom(500, 3500) }),
  },
);
/** Writes that are under way for long. */
export const slowStep = fc.oneof(
  { weight: 3, arbitrary: fc.record({ do: fc.constant("send" as const) }) },
  { weight: 3, arbitrary: fc.record({ do: fc.constant("answer" as const), last: fc.boolean() }) },
  { weight: 6, arbitrary: fc.record({ do: fc.constant("kubelet" as const), which }) },
);

export type Step = typeof step extends fc.Arbitrary<infer S> ? S : never;

export function take(world: DaemonWorld, action: Step): void {
  // What changes the world while a write is under way cannot be blamed on the plan that sent it.
  if (!["send", "answer", "kubelet", "let go"].includes(action.do)) answerAll(world);
  happen(world, action);
}

/** The same, whatever is under way. */
export function happen(world: DaemonWorld, action: Step): void {
  const { model } = world;
  const names = [...model.pods.keys()];
  const pick = "which" in action ? names[action.which % Math.max(1, names.length)] : undefined;
  const pod = pick === undefined ? undefined : model.pods.get(pick);
  model.now += 20;
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
    case "fields":
      model.changeSpec((spec) => Object.assign(spec, action.fields));
      return;
    case "wanted":
      model.changeSpec((spec) => {
        spec.template.spec.nodeSelector = action.color === "" ? {} : { color: action.color };
      });
      return;
    case "lean":
      model.annotate({ "refit.dev/lean-rollout": String(action.on) });
      return;
    case "wait":
      model.now += action.ms;
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
function answerOne(world: DaemonWorld, last: boolean): void {
  const { writes } = world.model;
  writes.answer(last ? writes.size - 1 : 0, (action) => world.perform(action));
}

/** Starts the writes of a plan and does not wait for them; one pod has at most one write under way. */
export function send(world: DaemonWorld): DaemonSetPlan {
  const { model } = world;
  const plan = world.plan();
  for (const action of plan.actions) {
    if (action.type.endsWith(" pod")) model.writes.begin(action, model.now);
    else world.perform(action);
  }
  return plan;
}

type Harm = Mishap | "release" | "hook" | "let go" | "garble hash" | "garble state";

function disturb(model: Model, pod: ReturnType<Model["owned"]>[number], what: Harm): void {
  switch (what) {
    case "unready":
    case "failed":
    case "delete":
      befall(model, pod, what);
      return;
    case "release":
      model.change(pod.name, { labels: { ...pod.labels, app: "other" } });
      return;
    case "hook":
      model.change(pod.name, {
        labels: { ...pod.labels, [HOOK]: "true" },
        ...(pod.deletionAt === undefined ? { finalizers: [HOOK_FINALIZER] } : {}),
      });
      return;
    case "let go":
      letGo(model, pod);
      return;
    case "garble hash":
      model.change(pod.name, { labels: { ...pod.labels, [REVISION_LABEL]: "unknown" } });
      return;
    case "garble state":
      model.change(pod.name, { annotations: { ...pod.annotations, [STATE_ANNOTATION]: "{" } });
  }
}
