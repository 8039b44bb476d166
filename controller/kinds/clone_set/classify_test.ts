/** An index that is kept up from event to event leads to the same plans as one that is made again for each pass. */
import fc from "fast-check";
import t from "tap";
import type { CloneSet } from "../../../crds/index.ts";
import { compileSelector } from "../../../kube/core/index.ts";
import type { Pod } from "../../../kube/index.ts";
import { cloneSet, defaultOptions, Model } from "../../../testkit/controller/clone_set_model.ts";
import type { LateWrites } from "../../../testkit/controller/late_writes_model.ts";
import { barePod } from "../../../testkit/controller/pod_builder.ts";
import { IndexTwin, withoutBrokenStates } from "../../../testkit/controller/pod_index_model.ts";
import {
  changeTemplate,
  lateStep,
  makeUnready,
  randomOf,
  takeLate,
  templateSteps,
} from "../../../testkit/controller/workload_history.ts";
import { STATE_ANNOTATION } from "../../rollout/in_place/state.ts";
import { STATE_LABEL } from "../../rollout/lifecycle/lifecycle.ts";
import { PlanMemory } from "../../rollout/plan_memory.ts";
import { SPECIFIED_DELETE } from "../../rollout/pods/pod_state.ts";
import type { CloneIndex } from "./classify.ts";
import { planCloneSet } from "./plan.ts";
import { cloneSetState } from "./state.ts";
import { TEMPLATE_HASH } from "./strategy.ts";

const HOOK = "example.com/hold";
/** Gates that change how pods are counted; both kinds of pass have the same. */
const gates = fc.record({
  partitionRollback: fc.boolean(),
  preparingUpdateAsUpdate: fc.boolean(),
  excludePreparingDelete: fc.boolean(),
});
type Gates = typeof gates extends fc.Arbitrary<infer G> ? G : never;

function twinOf(set: CloneSet, changed: Gates, seed: number) {
  const model = new Model(set);
  const memory = new PlanMemory();
  return new IndexTwin(
    {
      model,
      index: (writes: LateWrites) => model.index(writes.pods),
      plan: (index: CloneIndex, nth: number, fresh: boolean) =>
        planCloneSet(
          cloneSetState({
            options: { ...defaultOptions, ...changed },
            now: model.now,
            observed: model.observed(index),
            random: randomOf(seed + nth),
            ...(fresh ? {} : { memory }),
          }),
        ),
    },
    withoutBrokenStates,
  );
}
type Twin = ReturnType<typeof twinOf>;

const amount = fc.oneof(fc.integer({ min: 0, max: 6 }), fc.constantFrom("20%", "50%", "100%"));

const strategy = fc.record({
  type: fc.constantFrom("RollingUpdate" as const, "RollingUpdate" as const, "OnDelete" as const),
  rollingUpdate: fc.record({
    podUpdatePolicy: fc.constantFrom("ReCreate", "InPlaceIfPossible", "InPlaceOnly"),
    partition: amount,
    maxUnavailable: amount,
    maxSurge: amount,
    paused: fc.boolean(),
    scatterStrategy: fc.boolean().map((half) => (half ? [{ key: "half", value: "a" }] : [])),
    inPlaceUpdateStrategy: fc.constantFrom({}, { gracePeriodSeconds: 1 }),
  }),
});

const which = fc.nat(30);
const step = fc.oneof(
  { weight: 12, arbitrary: fc.record({ do: fc.constant("plan" as const) }) },
  { weight: 16, arbitrary: lateStep.map((late) => ({ do: "late" as const, late })) },
  { weight: 16, arbitrary: fc.record({ do: fc.constant("kubelet" as const), which }) },
  { weight: 4, arbitrary: fc.record({ do: fc.constant("wait" as const), ms: fc.constantFrom(200, 1100) }) },
  ...templateSteps,
  { weight: 2, arbitrary: fc.record({ do: fc.constant("scale" as const), replicas: fc.nat(9) }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant("strategy" as const), strategy }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant("name" as const), which }) },
  {
    weight: 6,
    arbitrary: fc.record({
      do: fc.constantFrom("crash", "delete", "specify", "lose", "hold", "let go", "halve", "break"),
      which,
    }),
  },
  { weight: 1, arbitrary: fc.record({ do: fc.constant("withdraw" as const) }) },
);
type Step = typeof step extends fc.Arbitrary<infer S> ? S : never;

function take(twin: Twin, one: Step): void {
  const { model } = twin;
  const names = [...model.pods.keys()];
  const pod = "which" in one ? model.pods.get(names[one.which % Math.max(1, names.length)] ?? "") : undefined;
  model.now += 20;
  if (one.do === "plan") twin.send();
  else if (one.do === "late") takeLate(twin.writes, one.late, (action) => twin.perform(action));
  else if (one.do === "withdraw") twin.writes.withdraw(2);
  else if (one.do === "wait") model.now += one.ms;
  else if (one.do === "image" || one.do === "env") changeTemplate(model, one.do, one.tag);
  else if (one.do === "scale" || one.do === "strategy" || one.do === "name") changeSpec(model, one, pod);
  else if (pod !== undefined) happenTo(model, pod, one.do);
}

function changeSpec(
  model: Model,
  one: Extract<Step, { do: "scale" | "strategy" | "name" }>,
  pod: Pod | undefined,
): void {
  model.changeSpec((spec) => {
    if (one.do === "scale") spec.replicas = one.replicas;
    else if (one.do === "strategy") spec.updateStrategy = one.strategy;
    else spec.scaleStrategy = { ...spec.scaleStrategy, podsToDelete: pod === undefined ? [] : [pod.name] };
  });
}

function happenTo(model: Model, pod: Pod, what: string): void {
  const label = (labels: Record<string, string>): void =>
    model.change(pod.name, { labels: { ...pod.labels, ...labels } });
  if (what === "kubelet") model.kubelet(pod.name);
  else if (what === "crash") makeUnready(model, pod);
  else if (what === "delete") model.deletePod(pod.name);
  else if (what === "specify") label({ [SPECIFIED_DELETE]: "true" });
  else if (what === "lose") label({ app: "another" });
  else if (what === "hold") label({ [STATE_LABEL]: "PreparingUpdate", [HOOK]: "true" });
  else if (what === "let go") label({ [STATE_LABEL]: "Normal", [HOOK]: "false" });
  else if (what === "halve") label({ half: "a" });
  else model.change(pod.name, { annotations: { ...pod.annotations, [STATE_ANNOTATION]: "{" } });
}

t.test("property: from event to event the same plans as from nothing", async (t) => {
  let plans = 0;
  let inFlight = 0;
  fc.assert(
    fc.property(
      fc.array(step, { minLength: 40, maxLength: 160 }),
      strategy,
      gates,
      fc.record({
        minReadySeconds: fc.constantFrom(0, 0, 1),
        hooked: fc.boolean(),
        most: fc.option(fc.nat(3)),
      }),
      fc.nat(),
      (steps, updateStrategy, changed, { minReadySeconds, hooked, most }, seed) => {
        const hook = { labelsHandler: { [HOOK]: "true" } };
        const set = cloneSet("web", {
          replicas: 5,
          minReadySeconds,
          updateStrategy,
          ...(hooked ? { lifecycle: { preDelete: hook, inPlaceUpdate: hook } } : {}),
          ...(most === null ? {} : { scaleStrategy: { maxUnavailable: most } }),
        });
        const twin = twinOf(set, changed, seed);
        for (const one of steps) take(twin, one);
        twin.plan();
        plans += twin.plans;
        inFlight += twin.inFlight;
      },
    ),
    { seed: 20_261_122, numRuns: 1_500 },
  );
  t.ok(plans > 10_000, `${plans} plans`);
  t.ok(inFlight > 10_000, `${inFlight} pods of plans had a write in flight`);
});

/** A set of so many pods, with the pods of which it was asked whether they need a refresh. */
function plainSet(count: number) {
  const set = cloneSet("web", { replicas: count });
  const model = new Model(set);
  for (let number = 0; number < count; number++) {
    const controller = { group: "apps.kruise.io", kind: "CloneSet", name: "web", uid: "set-web" };
    const labels = { app: "web", [TEMPLATE_HASH]: "1" };
    model.pods.set(`web-${number}`, barePod(`web-${number}`, { labels, controller }));
  }
  const index = model.index();
  const asked: string[] = [];
  class Refreshed extends WeakMap<Pod, boolean> {
    override get(pod: Pod): boolean {
      asked.push(pod.name);
      return true;
    }
  }
  const context = {
    updateRevision: "web-1",
    strategy: { minReadySeconds: 0, podsToDelete: new Set<string>() },
    selector: compileSelector(set.spec.selector),
    selectorText: "",
    options: defaultOptions,
    now: model.now,
    refreshed: new Refreshed(),
  };
  const change = (name: string, to: Partial<Pod>): void => {
    const before = model.pods.get(name);
    model.change(name, to);
    index.podChanged(before, model.pods.get(name));
  };
  return { index, context, change, asked, refresh: () => index.refresh(context) };
}

t.test("an event of one pod is one pod's work, however many there are", async (t) => {
  const { refresh, change, asked } = plainSet(500);
  t.equal(refresh().count("old active"), 500);
  t.equal(asked.length, 500);
  change("web-1", { deletionAt: 1 });
  t.equal(refresh().count("old active"), 499);
  t.equal(asked.length, 500, "it is none that could need nothing");
  change("web-2", { phase: "Running" });
  refresh();
  refresh();
  t.same(asked.slice(500), ["web-2"]);
});

t.test("a name that another pod takes is that pod's, and a pod of another owner is no member", async (t) => {
  const { refresh, change } = plainSet(2);
  const uids = () => Array.from(refresh().every(), ({ member }) => member?.pod.uid);
  t.same(uids(), ["uid-web-0", "uid-web-1"]);
  change("web-0", { uid: "successor" });
  t.same(uids(), ["successor", "uid-web-1"]);
  t.equal(refresh().count("replicas"), 2);
  change("web-1", { controller: { group: "apps.kruise.io", kind: "CloneSet", name: "b", uid: "set-b" } });
  t.same(uids(), ["successor"]);
  t.equal(refresh().count("replicas"), 1);
});

t.test("a refresh that fails in its midst forgets nothing", async (t) => {
  const { index, context, change, asked, refresh } = plainSet(5);
  class Failing extends WeakMap<Pod, boolean> {
    override get(pod: Pod): boolean {
      if (asked.push(pod.name) === 3) throw new Error("cannot be classified");
      return true;
    }
  }
  t.throws(() => index.refresh({ ...context, refreshed: new Failing() }), {
    message: "cannot be classified",
  });
  const whole = refresh();
  t.same([whole.count("old active"), whole.count("replicas")], [5, 5]);
  for (let number = 0; number < 5; number++) change(`web-${number}`, { phase: "Failed" });
  const timeless = {
    ...context,
    get now(): number {
      throw new Error("no time");
    },
  };
  t.throws(() => index.refresh(timeless), { message: "no time" });
  const after = refresh();
  t.same([after.count("old active"), after.count("replicas"), after.groups.unavailable.size], [0, 0, 0]);
});
