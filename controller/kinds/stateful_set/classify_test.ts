/** An index that is kept up from event to event leads to the same plans as one that looks at every pod in each pass. */

import fc from "fast-check";
import t from "tap";
import type { StatefulSet } from "../../../crds/index.ts";
import type { PersistentVolumeClaim, Pod } from "../../../kube/index.ts";
import type { LateWrites } from "../../../testkit/controller/late_writes_model.ts";
import { noChance } from "../../../testkit/controller/no_chance.ts";
import { barePod } from "../../../testkit/controller/pod_builder.ts";
import { IndexTwin, KeptIndex, withoutBrokenStates } from "../../../testkit/controller/pod_index_model.ts";
import { defaultOptions, Model, statefulSet } from "../../../testkit/controller/stateful_set_model.ts";
import {
  befall,
  changeTemplate,
  lateStep,
  takeLate,
  templateSteps,
} from "../../../testkit/controller/workload_history.ts";
import { STATE_ANNOTATION } from "../../rollout/in_place/state.ts";
import { STATE_LABEL } from "../../rollout/lifecycle/lifecycle.ts";
import { PlanMemory } from "../../rollout/plan_memory.ts";
import { SPECIFIED_DELETE } from "../../rollout/pods/pod_state.ts";
import { membersOf } from "../../rollout/pods/pod_view.ts";
import { SetIndex } from "./classify.ts";
import { updateOrder } from "./order.ts";
import { planStatefulSet } from "./plan.ts";
import type { SetView } from "./slots.ts";
import type { StatefulSetContext } from "./state.ts";
import { statefulSetState } from "./state.ts";
import { POD_NAME_LABEL } from "./strategy.ts";

const HOOK = "example.com/hold";
type Options = typeof defaultOptions;

/** The full computation: every pod is looked at, whatever its class says that there is to do. */
class LookingIndex extends SetIndex {
  override refresh(context: StatefulSetContext): SetView {
    const view = super.refresh(context);
    const staying = [...membersOf(view.every())].filter(({ terminating }) => !terminating);
    const wanted = updateOrder(staying, { ...context.strategy, unordered: undefined }, defaultOptions);
    const { unhealthy, condemned, due, outdated } = view.groups;
    due.clear();
    for (const { pod } of staying) due.add(pod.name);
    outdated.clear();
    for (const { pod, updated } of wanted) if (!updated) outdated.add(pod.name);
    return {
      groups: { ...view.groups, acting: unhealthy, leaving: condemned },
      get counted() {
        return view.counted;
      },
      count: (what) => view.count(what),
      at: (slot) => view.at(slot),
      entries: (slots) => view.entries(slots),
      every: () => view.every(),
      pods: () => view.pods(),
    };
  }
}

/** Keeps an index as the shell does, writes that are not answered included, and holds each plan against a fresh one. */
function twinOf(set: StatefulSet, options: Options) {
  const model = new Model(set);
  const memory = new PlanMemory();
  return new IndexTwin(
    {
      model,
      index: (writes: LateWrites) => model.index(writes.pods),
      looking: (writes: LateWrites) => model.index(writes.pods, LookingIndex),
      plan: (index: SetIndex, _: number, fresh: boolean) =>
        planStatefulSet(
          statefulSetState({
            options,
            now: model.now,
            random: noChance,
            observed: model.observed(index),
            ...(fresh ? {} : { memory }),
          }),
        ),
    },
    withoutBrokenStates,
  );
}
type Twin = ReturnType<typeof twinOf>;

/** All writes are answered, and all kubelets at work, until there should be peace. */
function settle(twin: Twin): void {
  for (let round = 0; round < 12; round++) {
    twin.send();
    while (twin.writes.size > 0) twin.answer();
    for (const name of [...twin.model.pods.keys()]) twin.model.kubelet(name);
    twin.model.now += 300;
  }
}

const budget = fc.oneof(fc.integer({ min: 1, max: 6 }), fc.constantFrom("1%", "40%", "100%"));
const byRank: { orderPriority: { orderedKey: string }[] } = { orderPriority: [{ orderedKey: "rank" }] };
const rolling = fc.record({
  podUpdatePolicy: fc.constantFrom("ReCreate", "InPlaceIfPossible", "InPlaceIfPossible", "InPlaceOnly"),
  partition: fc.constantFrom(0, 0, 0, 2, 5),
  maxUnavailable: budget,
  minReadySeconds: fc.constantFrom(0, 0, 1),
  paused: fc.constantFrom(false, false, false, true),
  inPlaceUpdateStrategy: fc.record({ gracePeriodSeconds: fc.constantFrom(0, 0, 1) }),
  unorderedUpdate: fc.oneof(
    { weight: 2, arbitrary: fc.constant(undefined) },
    { weight: 1, arbitrary: fc.constant({ priorityStrategy: byRank }) },
  ),
});
const strategy = fc.oneof(
  { weight: 9, arbitrary: fc.record({ type: fc.constant("RollingUpdate"), rollingUpdate: rolling }) },
  { weight: 1, arbitrary: fc.constant({ type: "OnDelete" }) },
);
const window = fc.record({
  replicas: fc.integer({ min: 0, max: 8 }),
  reserveOrdinals: fc.array(
    fc.oneof(fc.integer({ min: 0, max: 7 }), fc.constantFrom("0-1", "2-3", "3-5", "x")),
    { maxLength: 2 },
  ),
  ordinals: fc.record({ start: fc.constantFrom(0, 0, 2) }),
});

const which = fc.nat(30);
const happenings = {
  kubelet: (model: Model, { name }: Pod) => {
    model.kubelet(name);
  },
  unready: (model: Model, pod: Pod) => befall(model, pod, "unready"),
  failed: (model: Model, pod: Pod) => befall(model, pod, "failed"),
  delete: (model: Model, pod: Pod) => befall(model, pod, "delete"),
  gone: (model: Model, { name }: Pod) => model.pods.delete(name),
  specify: (model: Model, pod: Pod) => label(model, pod, { [SPECIFIED_DELETE]: "true" }),
  hold: (model: Model, pod: Pod) => label(model, pod, { [STATE_LABEL]: "PreparingUpdate", [HOOK]: "true" }),
  "let go": (model: Model, pod: Pod) => label(model, pod, { [STATE_LABEL]: "Normal", [HOOK]: "false" }),
  rank: (model: Model, pod: Pod) => label(model, pod, { rank: `r${pod.name.length % 3}` }),
  lose: (model: Model, pod: Pod) => label(model, pod, { app: "another" }),
  fit: (model: Model, pod: Pod) => label(model, pod, { app: "app" }),
  rename: (model: Model, pod: Pod) => label(model, pod, { [POD_NAME_LABEL]: "" }),
  orphan: (model: Model, { name }: Pod) => model.change(name, { controller: undefined }),
  break: (model: Model, { name, annotations }: Pod) =>
    model.change(name, { annotations: { ...annotations, [STATE_ANNOTATION]: "{" } }),
  "own without an ordinal": (model: Model, pod: Pod) =>
    model.place({ ...pod, name: "app-x", uid: `${pod.uid}-x` }),
  take: (model: Model, pod: Pod) => {
    const controller = { group: "apps", kind: "ReplicaSet", name: "another", uid: "another" };
    model.place({ ...pod, name: "app-4", uid: `${pod.uid}-4`, controller });
  },
  "claim going": (model: Model, { name }: Pod) => changeClaim(model, name, { deletionAt: model.now }),
  "claim lost": (model: Model, { name }: Pod) => model.claims.delete(`data-${name}`),
  "claim grown": (model: Model, { name }: Pod) => {
    const amount = { storage: "2Gi" };
    changeClaim(model, name, { requests: amount, capacity: amount });
  },
  "claim stolen": (model: Model, { name }: Pod) => changeClaim(model, name, { owners: [] }),
} as const;

function label(model: Model, pod: Pod, labels: Record<string, string>): void {
  model.change(pod.name, { labels: { ...pod.labels, ...labels } });
}

function changeClaim(model: Model, pod: string, change: Partial<PersistentVolumeClaim>): void {
  const claim = model.claims.get(`data-${pod}`);
  if (claim !== undefined) model.claims.set(claim.name, { ...claim, ...change });
}

const rare = [
  ...(["rank", "lose", "fit", "rename", "orphan", "break", "own without an ordinal", "take"] as const),
  ...(["claim going", "claim lost", "claim grown", "claim stolen", "gone", "hold", "let go"] as const),
];
const step = fc.oneof(
  { weight: 14, arbitrary: fc.record({ do: fc.constant("plan" as const) }) },
  { weight: 14, arbitrary: lateStep.map((late) => ({ do: "late" as const, late })) },
  { weight: 16, arbitrary: fc.record({ do: fc.constant("kubelet" as const), which }) },
  { weight: 3, arbitrary: fc.record({ do: fc.constant("wait" as const), ms: fc.constantFrom(200, 1100) }) },
  ...templateSteps,
  { weight: 2, arbitrary: fc.record({ do: fc.constant("spec" as const), change: window }) },
  {
    weight: 1,
    arbitrary: strategy.map((updateStrategy) => ({ do: "spec" as const, change: { updateStrategy } })),
  },
  {
    weight: 1,
    arbitrary: fc.constantFrom("Delete", "Retain").map((whenScaled) => ({
      do: "spec" as const,
      change: { persistentVolumeClaimRetentionPolicy: { whenScaled, whenDeleted: "Delete" } },
    })),
  },
  {
    weight: 3,
    arbitrary: fc.record({ do: fc.constantFrom("unready", "failed", "delete", "specify"), which }),
  },
  { weight: 3, arbitrary: fc.record({ do: fc.constantFrom(...rare), which }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant("withdraw" as const) }) },
);
type Step = typeof step extends fc.Arbitrary<infer S> ? S : never;

function take(twin: Twin, one: Step): void {
  const { model } = twin;
  model.now += 20;
  if (one.do === "plan") twin.send();
  else if (one.do === "late") takeLate(twin.writes, one.late, (action) => twin.perform(action));
  else if (one.do === "withdraw") twin.writes.withdraw(2);
  else if (one.do === "wait") model.now += one.ms;
  else if (one.do === "image" || one.do === "env") changeTemplate(model, one.do, one.tag);
  else if (one.do === "spec") model.changeSpec((spec) => Object.assign(spec, one.change));
  else {
    const pods = [...model.pods.values()];
    const pod = pods[one.which % Math.max(1, pods.length)];
    if (pod !== undefined) happenings[one.do](model, pod);
  }
}

const claimTemplates = (storage: string) => [
  { metadata: { name: "data" }, spec: { resources: { requests: { storage } } } },
];
const more = fc.record({
  area: window,
  limit: fc.constantFrom(undefined, undefined, 2),
  hooked: fc.boolean(),
  settled: fc.boolean(),
  claims: fc.boolean(),
  options: fc.record({
    preparingUpdateAsUpdate: fc.boolean(),
    deletesClaims: fc.boolean(),
    resizesClaims: fc.constantFrom(false, false, true),
  }),
});

for (const podManagementPolicy of ["Parallel", "OrderedReady"]) {
  t.test(
    `property: from event to event the same plans as from nothing, ${podManagementPolicy}`,
    async (t) => {
      let plans = 0;
      let inFlight = 0;
      fc.assert(
        fc.property(
          fc.array(step, { minLength: 40, maxLength: 160 }),
          strategy,
          more,
          (steps, updateStrategy, { area, limit, hooked, settled, claims, options }) => {
            const hook = { labelsHandler: { [HOOK]: "true" } };
            const set = statefulSet("app", {
              ...area,
              podManagementPolicy,
              updateStrategy,
              ...(hooked ? { lifecycle: { preDelete: hook, inPlaceUpdate: hook } } : {}),
              ...(limit === undefined ? {} : { scaleStrategy: { maxUnavailable: limit } }),
              ...(claims ? { volumeClaimTemplates: claimTemplates("1Gi") } : {}),
              revisionHistoryLimit: 1,
              volumeClaimUpdateStrategy: { type: "OnPodRollingUpdate" },
            });
            const twin = twinOf(set, { ...defaultOptions, ...options });
            if (settled) {
              settle(twin);
              changeTemplate(twin.model, "image", 2);
            }
            for (const one of steps) take(twin, one);
            settle(twin);
            twin.model.set.metadata.deletionTimestamp = "2026-01-01T00:00:00Z";
            twin.plan();
            plans += twin.plans;
            inFlight += twin.inFlight;
          },
        ),
        { seed: 20_261_121, numRuns: 500 },
      );
      t.ok(plans > 10_000, `${plans} plans`);
      t.ok(inFlight > 3_000, `${inFlight} pods of plans had a write in flight`);
    },
  );
}

/** A set that is at rest, and how often a pod of it is looked at. */
function plainSet(count: number) {
  const updateStrategy = { type: "RollingUpdate", rollingUpdate: { minReadySeconds: 1 } };
  const spec = { replicas: count, podManagementPolicy: "Parallel", updateStrategy };
  const model = new Model(statefulSet("app", spec));
  const kept = new KeptIndex({
    model,
    index: () => model.index(),
    plan: (index: SetIndex) =>
      planStatefulSet(
        statefulSetState({
          observed: model.observed(index),
          options: defaultOptions,
          now: model.now,
          random: noChance,
        }),
      ),
  });
  const looked = new Set<string>();
  const plan = () => {
    looked.clear();
    const made = kept.plan();
    for (const action of made.actions) model.perform(action);
    return made;
  };
  const watched = (pod: Pod): Pod => ({
    ...pod,
    get phase() {
      looked.add(pod.name);
      return pod.phase;
    },
  });
  return { model, plan, looked, watched };
}

t.test("an event of one pod is one pod's work, however many there are", async (t) => {
  const { model, plan, looked, watched } = plainSet(200);
  for (let round = 0; round < 10; round++) {
    plan();
    for (const name of [...model.pods.keys()]) model.kubelet(name);
    model.now += 300;
  }
  t.equal(plan().status.availableReplicas, 200);
  for (const pod of model.owned()) model.place(watched(pod));
  plan();
  t.equal(looked.size, 200);
  const pod = model.pods.get("app-7");
  if (pod === undefined) throw new Error("no pod");
  befall(model, pod, "unready");
  t.equal(plan().status.availableReplicas, 199);
  t.same([...looked], [], "no other pod is looked at");
});

t.test("a refresh that fails in its midst forgets nothing", async (t) => {
  const { model, plan } = plainSet(0);
  const controller = { group: "apps.kruise.io", kind: "StatefulSet", name: "app", uid: "set-app" };
  for (const name of ["app-1", "app-2"]) model.place(barePod(name, { labels: { app: "app" }, controller }));
  plan();
  const broken = model.pods.get("app-2");
  if (broken === undefined) throw new Error("no pod");
  model.place({
    ...broken,
    get phase(): string {
      throw new Error("cannot be classified");
    },
  });
  model.pods.delete("app-1");
  t.throws(plan, { message: "cannot be classified" });
  model.place({ ...broken, phase: "Failed" });
  t.equal(plan().status.replicas, 1);
});
