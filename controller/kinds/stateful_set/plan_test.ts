import fc from "fast-check";
import t from "tap";
import type { StatefulSet } from "../../../crds/index.ts";
import { noChance } from "../../../testkit/controller/no_chance.ts";
import {
  defaultOptions,
  Model,
  Refused,
  statefulSet,
} from "../../../testkit/controller/stateful_set_model.ts";
import {
  answerHook,
  answerHooks,
  befall,
  changeTemplate,
  faultyPass,
  hooked,
  hookStep,
  type Mishap,
  reconcile,
  settle,
  templateSteps,
  type World,
} from "../../../testkit/controller/workload_history.ts";
import { STATE_LABEL } from "../../rollout/lifecycle/lifecycle.ts";
import { isAvailable, SPECIFIED_DELETE } from "../../rollout/pods/pod_state.ts";
import type { Action } from "../../rollout/writes/actions.ts";
import { planStatefulSet } from "./plan.ts";
import { statefulSetState } from "./state.ts";
import { ordinalOf, REVISION_LABEL, statefulSetStrategyOf } from "./strategy.ts";

function plan(model: Model, options = defaultOptions) {
  return planStatefulSet(
    statefulSetState({ observed: model.observed(), options, now: model.now, random: noChance }),
  );
}

function strategy(model: Model) {
  const { window, ...rest } = statefulSetStrategyOf(model.set, defaultOptions);
  return { ...rest, window: [...window] };
}

function isUp(model: Model, ordinal: number): boolean {
  const pod = model.pods.get(`app-${ordinal}`);
  if (pod === undefined || pod.deletionAt !== undefined) return false;
  return isAvailable(pod, strategy(model).minReadySeconds, model.now);
}

/** It waits for its hook, and would be up but for that. */
function isHeld(model: Model, ordinal: number): boolean {
  const pod = model.pods.get(`app-${ordinal}`);
  if (pod === undefined || pod.deletionAt !== undefined) return false;
  const { [STATE_LABEL]: state, ...labels } = pod.labels;
  const isAsked = state === "PreparingUpdate" || state === "PreparingDelete";
  return isAsked && isAvailable({ ...pod, labels }, strategy(model).minReadySeconds, model.now);
}

/** Rules that hold at every single write, whatever happened before. */
function performChecked(model: Model, action: Action, stopAfter?: number): void {
  const { window, ordered, maxUnavailable } = strategy(model);
  const up = window.filter((ordinal) => isUp(model, ordinal));
  const takesAway = takenOrdinal(action);
  if (action.type === "create pod") checkCreation(model, action.after.name);
  if (action.type === "delete pod") checkDeletion(model, action.pod.name);
  try {
    model.perform(action, stopAfter);
  } catch (error) {
    if (error instanceof Refused) return;
    throw error;
  }
  const left = window.filter((ordinal) => isUp(model, ordinal));
  if (left.length >= up.length || takesAway === undefined) return;
  if (window.length - left.length > maxUnavailable)
    throw new Error(
      `${action.type} of ${takesAway} left ${left.length} of ${window.length}, maxUnavailable ${maxUnavailable}`,
    );
  if (ordered && up.length < window.length) throw new Error(`${takesAway} went while another was down`);
}

function takenOrdinal(action: Action): number | undefined {
  return action.type === "delete pod" || action.type === "patch pod"
    ? ordinalOf("app", action.pod.name)
    : undefined;
}

function checkCreation(model: Model, name: string): void {
  const { window, ordered } = strategy(model);
  const ordinal = ordinalOf("app", name) ?? -1;
  if (!window.includes(ordinal)) throw new Error(`${name} is outside of ${window.join()}`);
  if (model.pods.has(name)) throw new Error(`${name} exists already`);
  const below = window.filter((one) => one < ordinal);
  if (ordered && !below.every((one) => isUp(model, one) || isHeld(model, one)))
    throw new Error(`${name} before those below it`);
}

function checkDeletion(model: Model, name: string): void {
  const { window, ordered } = strategy(model);
  const ordinal = ordinalOf("app", name) ?? -1;
  if (!ordered || window.includes(ordinal)) return;
  const higher = model.owned().filter((pod) => (ordinalOf("app", pod.name) ?? 0) > ordinal);
  const outside = higher.filter((pod) => !window.includes(ordinalOf("app", pod.name) ?? -1));
  if (outside.length > 0) throw new Error(`${name} before ${outside.map((pod) => pod.name).join()}`);
  if (!window.every((one) => isUp(model, one)))
    throw new Error(`${name} went before the window was complete`);
}

function worldOf(model: Model, options: typeof defaultOptions): World<StatefulSet> {
  return {
    model,
    plan: () => plan(model, options),
    perform: (action, stopAfter) => performChecked(model, action, stopAfter),
  };
}

type RollingUpdate = NonNullable<NonNullable<StatefulSet["spec"]["updateStrategy"]>["rollingUpdate"]>;

const rolling: fc.Arbitrary<RollingUpdate> = fc.record({
  podUpdatePolicy: fc.constantFrom("ReCreate", "InPlaceIfPossible"),
  partition: fc.integer({ min: 0, max: 6 }),
  maxUnavailable: fc.oneof(fc.integer({ min: 1, max: 6 }), fc.constantFrom("1%", "40%", "100%")),
  minReadySeconds: fc.constantFrom(0, 0, 2),
  paused: fc.constantFrom(false, false, true),
  inPlaceUpdateStrategy: fc.record({ gracePeriodSeconds: fc.constantFrom(0, 0, 3) }),
  unorderedUpdate: fc.constantFrom(undefined, undefined, {
    priorityStrategy: { orderPriority: [{ orderedKey: "apps.kubernetes.io/pod-index" }] },
  }),
});

const window = fc.record({
  replicas: fc.integer({ min: 0, max: 6 }),
  reserveOrdinals: fc.array(
    fc.oneof(fc.integer({ min: 0, max: 7 }), fc.constantFrom("0-1", "2-3", "3-5", "x")),
    { maxLength: 3 },
  ),
  ordinals: fc.record({ start: fc.constantFrom(0, 0, 2) }),
});

const which = fc.nat(10);
const step = fc.oneof(
  { weight: 9, arbitrary: faultyPass(3) },
  { weight: 9, arbitrary: fc.record({ do: fc.constant("kubelet" as const), which }) },
  ...templateSteps,
  { weight: 2, arbitrary: fc.record({ do: fc.constant("window" as const), window }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant("strategy" as const), rolling }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant("unready" as const), which }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant("failed" as const), which }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant("delete" as const), which }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant("specify" as const), which }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant("orphan" as const), which }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant("strip" as const), which }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant("claims" as const), whenScaled: fc.boolean() }) },
  {
    weight: 1,
    arbitrary: fc.record({ do: fc.constant("pace" as const), limit: fc.constantFrom(1, 2, "50%") }),
  },
  { weight: 2, arbitrary: hookStep },
  { weight: 3, arbitrary: fc.record({ do: fc.constant("answer" as const), which }) },
);
type Step = typeof step extends fc.Arbitrary<infer S> ? S : never;

function take(world: World<StatefulSet>, model: Model, action: Step): void {
  const names = [...model.pods.keys()];
  const pick = "which" in action ? names[action.which % Math.max(1, names.length)] : undefined;
  const pod = pick === undefined ? undefined : model.pods.get(pick);
  model.now += 20;
  switch (action.do) {
    case "reconcile":
      reconcile(world, action.fail, action.stopAfter);
      return;
    case "kubelet":
      if (pick !== undefined) model.kubelet(pick);
      return;
    case "image":
    case "env":
      changeTemplate(model, action.do, action.tag);
      return;
    case "window":
      model.changeSpec((spec) => Object.assign(spec, action.window));
      return;
    case "strategy":
      model.changeSpec((spec) => {
        spec.updateStrategy = { type: "RollingUpdate", rollingUpdate: action.rolling };
      });
      return;
    case "pace":
      model.changeSpec((spec) => {
        spec.scaleStrategy = { maxUnavailable: action.limit };
      });
      return;
    case "hooks":
      model.changeSpec((spec) => {
        spec.lifecycle = action.lifecycle;
      });
      return;
    case "answer":
      if (pod !== undefined) answerHook(model, pod);
      return;
    case "claims":
      model.changeSpec((spec) => {
        const whenScaled = action.whenScaled ? "Delete" : "Retain";
        spec.persistentVolumeClaimRetentionPolicy = { whenScaled, whenDeleted: "Retain" };
      });
      return;
    default:
      if (pod !== undefined) disturb(model, action.do, pod);
  }
}

function disturb(
  model: Model,
  how: Mishap | "specify" | "orphan" | "strip",
  pod: ReturnType<Model["owned"]>[number],
): void {
  switch (how) {
    case "unready":
    case "failed":
    case "delete":
      befall(model, pod, how);
      return;
    case "specify":
      model.change(pod.name, { labels: { ...pod.labels, [SPECIFIED_DELETE]: "true" } });
      return;
    case "orphan":
      model.change(pod.name, { controller: undefined });
      return;
    case "strip": {
      const { app: _, ...labels } = pod.labels;
      model.change(pod.name, { labels });
      return;
    }
  }
}

/** A failed pod is not started again by its kubelet: the model's would. */
function endStrays(model: Model): void {
  for (const pod of [...model.pods.values()]) {
    if (pod.labels["app"] !== "app") model.pods.delete(pod.name);
    else if (pod.phase === "Failed" && pod.controller === undefined) model.pods.delete(pod.name);
  }
}

function unblock(model: Model): void {
  model.changeSpec((spec) => {
    const before = spec.updateStrategy?.rollingUpdate ?? {};
    spec.updateStrategy = {
      type: "RollingUpdate",
      rollingUpdate: { ...before, partition: 0, paused: false },
    };
  });
}

function assertDone(model: Model): void {
  const { window: ordinals } = strategy(model);
  const pods = model.owned();
  const found = pods.map((pod) => ordinalOf("app", pod.name)).sort((a = 0, b = 0) => a - b);
  if (found.join() !== ordinals.join()) throw new Error(`pods ${found.join()}, wanted ${ordinals.join()}`);
  const update = model.set.status?.updateRevision ?? "";
  const image = model.set.spec.template.spec.containers[0]?.image;
  for (const pod of pods) {
    if (pod.labels[REVISION_LABEL] !== update) throw new Error(`${pod.name} stayed behind`);
    if (!isAvailable(pod, strategy(model).minReadySeconds, model.now))
      throw new Error(`${pod.name} is not available`);
    if (pod.containers[0]?.image !== image) throw new Error(`${pod.name} runs ${pod.containers[0]?.image}`);
    if (pod.labels[SPECIFIED_DELETE] !== undefined) throw new Error(`${pod.name} was to be replaced`);
    for (const { metadata } of model.set.spec.volumeClaimTemplates ?? []) {
      const claim = model.claims.get(`${metadata?.name}-${pod.name}`);
      if (claim === undefined) throw new Error(`${pod.name} has no claim`);
    }
  }
  const { status } = model.set;
  if (status?.updatedReplicas !== pods.length || status.currentRevision !== update)
    throw new Error("the status lies");
}

const claimTemplates = [
  { metadata: { name: "data" }, spec: { resources: { requests: { storage: "1Gi" } } } },
];

for (const podManagementPolicy of ["Parallel", "OrderedReady"]) {
  t.test(
    `${podManagementPolicy}: every write keeps the rules, every history ends as its spec says`,
    async (t) => {
      fc.assert(
        fc.property(
          rolling,
          window,
          fc.boolean(),
          fc.array(step, { minLength: 5, maxLength: 60 }),
          (first, area, preparingUpdateAsUpdate, steps) => {
            const model = new Model(
              hooked(
                statefulSet("app", {
                  ...area,
                  podManagementPolicy,
                  updateStrategy: { type: "RollingUpdate", rollingUpdate: first },
                  volumeClaimTemplates: claimTemplates,
                }),
              ),
            );
            const world = worldOf(model, { ...defaultOptions, preparingUpdateAsUpdate });
            for (const one of steps) take(world, model, one);
            unblock(model);
            endStrays(model);
            settle(world, 600, () => answerHooks(model));
            assertDone(model);
          },
        ),
        { numRuns: 1500, seed: 20260101 },
      );
      t.pass("1500 histories");
    },
  );
}
