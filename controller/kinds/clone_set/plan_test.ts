import fc from "fast-check";
import t from "tap";
import type { CloneSet } from "../../../crds/index.ts";
import { cloneSet, defaultOptions, Model, Refused } from "../../../testkit/controller/clone_set_model.ts";
import {
  answerHook,
  answerHooks,
  changeTemplate,
  faultyPass,
  hooked,
  hookStep,
  makeUnready,
  randomOf,
  reconcile,
  settle,
  templateSteps,
  type World,
} from "../../../testkit/controller/workload_history.ts";
import { inPlaceState } from "../../rollout/in_place/state.ts";
import { isActive, isAvailable, SPECIFIED_DELETE } from "../../rollout/pods/pod_state.ts";
import { sameRevision } from "../../rollout/revisions/revisions.ts";
import type { Action, PodPatchAction } from "../../rollout/writes/actions.ts";
import { planCloneSet } from "./plan.ts";
import { cloneSetState } from "./state.ts";
import { cloneSetStrategyOf, REVISION_LABEL } from "./strategy.ts";

function plan(model: Model, random: () => number, options = defaultOptions) {
  return planCloneSet(cloneSetState({ observed: model.observed(), options, now: model.now, random }));
}

const requestsOf = ({ effects }: PodPatchAction) => effects.filter(({ type }) => type === "patch").length;

/** Every write that takes an available pod away must leave at least N − maxUnavailable of them. */
function performChecked(model: Model, action: Action, stopAfter?: number): void {
  const before = model.available();
  try {
    model.perform(action, stopAfter);
  } catch (error) {
    if (error instanceof Refused) return;
    throw error;
  }
  const after = model.available();
  if (after >= before) return;
  const { limits } = cloneSetStrategyOf(model.set, defaultOptions);
  if (after < limits.replicas - limits.maxUnavailable) {
    throw new Error(
      `${action.type} left ${after} available of ${limits.replicas}, maxUnavailable ${limits.maxUnavailable} (before ${before})`,
    );
  }
}

function worldOf(model: Model, random: () => number, options = defaultOptions): World<CloneSet> {
  return {
    model,
    plan: () => plan(model, random, options),
    perform: (action, stopAfter) => performChecked(model, action, stopAfter),
  };
}

const amount = fc.oneof(
  fc.integer({ min: 0, max: 6 }),
  fc.integer({ min: 0, max: 100 }).map((percent) => `${percent}%`),
);

const strategy = fc.record({
  podUpdatePolicy: fc.constantFrom("ReCreate", "InPlaceIfPossible"),
  partition: amount,
  maxUnavailable: amount,
  maxSurge: amount,
  paused: fc.constantFrom(false, false, false, true),
  inPlaceUpdateStrategy: fc.record({ gracePeriodSeconds: fc.constantFrom(0, 0, 3) }),
  scatterStrategy: fc.constantFrom<{ key: string; value: string }[]>([], [], [{ key: "app", value: "app" }]),
});

/** Gates that change how pods are counted or chosen. */
const gates = fc
  .record({
    partitionRollback: fc.boolean(),
    preparingUpdateAsUpdate: fc.boolean(),
    excludePreparingDelete: fc.boolean(),
    shortHash: fc.boolean(),
    recreateOnClaimChange: fc.boolean(),
  })
  .map((chosen) => ({ ...defaultOptions, ...chosen }));

const step = fc.oneof(
  { weight: 8, arbitrary: faultyPass(3) },
  { weight: 8, arbitrary: fc.record({ do: fc.constant("kubelet" as const), which: fc.nat(10) }) },
  ...templateSteps,
  {
    weight: 2,
    arbitrary: fc.record({ do: fc.constant("scale" as const), replicas: fc.integer({ min: 0, max: 7 }) }),
  },
  { weight: 1, arbitrary: fc.record({ do: fc.constant("strategy" as const), strategy }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant("crash" as const), which: fc.nat(10) }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant("delete" as const), which: fc.nat(10) }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant("specify" as const), which: fc.nat(10) }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant("name" as const), which: fc.nat(10) }) },
  {
    weight: 1,
    arbitrary: fc.record({
      do: fc.constant("pace" as const),
      minReadySeconds: fc.constantFrom(0, 0, 2),
      scaleLimit: fc.option(fc.integer({ min: 1, max: 3 }), { nil: undefined }),
      enablePVCReuse: fc.boolean(),
    }),
  },
  { weight: 2, arbitrary: hookStep },
  { weight: 3, arbitrary: fc.record({ do: fc.constant("answer" as const), which: fc.nat(10) }) },
);
type Step = typeof step extends fc.Arbitrary<infer S> ? S : never;

function take(world: World<CloneSet>, model: Model, action: Step): void {
  const names = [...model.pods.keys()];
  const pick = "which" in action ? names[action.which % Math.max(1, names.length)] : undefined;
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
    case "scale":
      model.changeSpec((spec) => {
        spec.replicas = action.replicas;
      });
      return;
    case "strategy":
      model.changeSpec((spec) => {
        spec.updateStrategy = { type: "RollingUpdate", rollingUpdate: action.strategy };
      });
      return;
    case "pace":
      model.changeSpec((spec) => {
        spec.minReadySeconds = action.minReadySeconds;
        spec.scaleStrategy = {
          ...spec.scaleStrategy,
          enablePVCReuse: action.enablePVCReuse,
          ...(action.scaleLimit === undefined ? {} : { maxUnavailable: action.scaleLimit }),
        };
      });
      return;
    case "name":
      model.changeSpec((spec) => {
        if (pick !== undefined) spec.scaleStrategy = { ...spec.scaleStrategy, podsToDelete: [pick] };
      });
      return;
    case "crash": {
      const pod = pick === undefined ? undefined : model.pods.get(pick);
      if (pod !== undefined) makeUnready(model, pod);
      return;
    }
    case "delete":
      if (pick !== undefined) model.deletePod(pick);
      return;
    case "hooks":
      model.changeSpec((spec) => {
        spec.lifecycle = action.lifecycle;
      });
      return;
    case "answer": {
      const pod = pick === undefined ? undefined : model.pods.get(pick);
      if (pod !== undefined) answerHook(model, pod);
      return;
    }
    case "specify": {
      const pod = pick === undefined ? undefined : model.pods.get(pick);
      if (pod !== undefined)
        model.change(pod.name, { labels: { ...pod.labels, [SPECIFIED_DELETE]: "true" } });
      return;
    }
  }
}

/** A strategy under which every rollout can end: something may move. */
function unblock(model: Model): void {
  model.changeSpec((spec) => {
    const rolling = spec.updateStrategy?.rollingUpdate ?? {};
    spec.updateStrategy = {
      type: "RollingUpdate",
      rollingUpdate: { ...rolling, maxUnavailable: 2, partition: 0, maxSurge: 0, paused: false },
    };
  });
}

const volumeClaimTemplates = [
  { metadata: { name: "data" }, spec: { resources: { requests: { storage: "1Gi" } } } },
];

t.test("budgets hold at every write and every history ends as its spec says", async (t) => {
  fc.assert(
    fc.property(
      strategy,
      gates,
      fc.array(step, { minLength: 5, maxLength: 60 }),
      fc.integer(),
      (first, options, steps, seed) => {
        const model = new Model(
          hooked(
            cloneSet("app", {
              updateStrategy: { type: "RollingUpdate", rollingUpdate: first },
              volumeClaimTemplates,
            }),
          ),
        );
        const world = worldOf(model, randomOf(seed), options);
        for (const one of steps) take(world, model, one);
        unblock(model);
        settle(world, 600, () => answerHooks(model));
        const active = model.active();
        const update = model.set.status?.updateRevision ?? "";
        if (active.length !== (model.set.spec.replicas ?? 1))
          throw new Error(`${active.length} pods of ${model.set.spec.replicas}`);
        for (const pod of active) {
          if (!sameRevision(pod.labels[REVISION_LABEL] ?? "", update))
            throw new Error(`${pod.name} stayed behind`);
          if (!isAvailable(pod, 0, model.now))
            throw new Error(`${pod.name} is not available: ${JSON.stringify(pod)}`);
          const image = model.set.spec.template.spec.containers[0]?.image;
          if (pod.containers[0]?.image !== image)
            throw new Error(`${pod.name} runs ${pod.containers[0]?.image}, not ${image}`);
        }
        const { status } = model.set;
        if (status?.updatedReplicas !== active.length || status.currentRevision !== update)
          throw new Error("status lies");
      },
    ),
    { numRuns: 1500, seed: 20260101 },
  );
  t.pass("1500 histories");
});

t.test("while paused no pod is touched but for its own readiness", async (t) => {
  fc.assert(
    fc.property(strategy, fc.integer({ min: 1, max: 6 }), fc.integer(), (rolling, replicas, seed) => {
      const random = randomOf(seed);
      const model = new Model(
        cloneSet("app", {
          replicas,
          updateStrategy: { type: "RollingUpdate", rollingUpdate: { ...rolling, paused: true } },
        }),
      );
      settle(worldOf(model, random), 400);
      const before = new Map(model.active().map((pod) => [pod.uid, pod.containers]));
      model.changeSpec((spec) => {
        for (const container of spec.template.spec.containers) container.image = "app:2";
      });
      settle(worldOf(model, random), 400);
      const after = model.active();
      if (after.length !== replicas) throw new Error("scaling stopped as well");
      for (const pod of after) {
        if (before.get(pod.uid) !== pod.containers || inPlaceState(pod).value !== undefined)
          throw new Error(`${pod.name} was touched`);
      }
    }),
    { numRuns: 200, seed: 7 },
  );
  t.pass("200 paused sets");
});

t.test("partition keeps its pods at the old revision", async (t) => {
  fc.assert(
    fc.property(
      fc.integer({ min: 1, max: 8 }),
      amount,
      fc.constantFrom("ReCreate", "InPlaceIfPossible"),
      fc.integer(),
      (replicas, partition, policy, seed) => {
        const random = randomOf(seed);
        const model = new Model(
          cloneSet("app", {
            replicas,
            updateStrategy: {
              type: "RollingUpdate",
              rollingUpdate: { podUpdatePolicy: policy, partition, maxUnavailable: 2 },
            },
          }),
        );
        settle(worldOf(model, random), 400);
        model.changeSpec((spec) => {
          for (const container of spec.template.spec.containers) container.image = "app:2";
        });
        settle(worldOf(model, random), 400);
        const kept = cloneSetStrategyOf(model.set, defaultOptions).limits.partition;
        const old = model.active().filter((pod) => pod.containers[0]?.image === "app:1").length;
        if (old !== kept) throw new Error(`${old} old pods, partition ${kept} of ${replicas}`);
      },
    ),
    { numRuns: 300, seed: 11 },
  );
  t.pass("300 partitions");
});

t.test("an image change costs three requests a pod and keeps it", async (t) => {
  const random = randomOf(1);
  const model = new Model(
    cloneSet("app", {
      updateStrategy: {
        type: "RollingUpdate",
        rollingUpdate: { podUpdatePolicy: "InPlaceIfPossible", maxUnavailable: 1 },
      },
    }),
  );
  settle(worldOf(model, random), 400);
  const before = model
    .active()
    .map((pod) => pod.uid)
    .sort();
  changeTemplate(model, "image", 2);
  let requests = 0;
  for (let round = 0; round < 60; round++) {
    const { actions, status } = plan(model, random);
    for (const action of actions) {
      if (action.type === "patch pod") requests += requestsOf(action);
      performChecked(model, action);
    }
    model.set = { ...model.set, status };
    for (const name of model.pods.keys()) model.kubelet(name);
    model.now += 50;
  }
  t.same(
    model
      .active()
      .map((pod) => pod.uid)
      .sort(),
    before,
    "the same pods",
  );
  t.ok(
    model.active().every((pod) => pod.containerStatuses[0]?.restartCount === 1),
    "each restarted once",
  );
  t.equal(requests, 9, "gate off, spec, gate on: three for each of three pods");
  t.equal(model.events.filter((event) => event.reason === "SuccessfulUpdatePodInPlace").length, 3);
});

t.test("a lean image change costs one request a pod and keeps the budget", async (t) => {
  const random = randomOf(1);
  const model = new Model(
    cloneSet("app", {
      replicas: 5,
      updateStrategy: {
        type: "RollingUpdate",
        rollingUpdate: { podUpdatePolicy: "InPlaceIfPossible", maxUnavailable: 2 },
      },
    }),
  );
  settle(worldOf(model, random), 400);
  model.set = {
    ...model.set,
    metadata: { ...model.set.metadata, annotations: { "refit.dev/lean-rollout": "true" } },
  };
  changeTemplate(model, "image", 2);
  let requests = 0;
  for (let round = 0; round < 60; round++) {
    const { actions, status } = plan(model, random);
    for (const action of actions) {
      if (action.type === "patch pod") requests += requestsOf(action);
      performChecked(model, action);
    }
    t.ok(model.available() >= 3, "two at once");
    model.set = { ...model.set, status };
    for (const name of model.pods.keys()) if (round % 3 === 0) model.kubelet(name);
    model.now += 50;
  }
  t.equal(requests, 5);
  t.equal(model.set.status?.updatedAvailableReplicas, 5);
  t.ok(model.active().every((pod) => pod.containerStatuses[0]?.restartCount === 1));
});

t.test("a set that is being deleted is left alone", async (t) => {
  const random = randomOf(1);
  const model = new Model(cloneSet("app"));
  settle(worldOf(model, random), 400);
  model.set = {
    ...model.set,
    metadata: { ...model.set.metadata, deletionTimestamp: "2026-01-01T00:00:00Z" },
  };
  const pod = [...model.pods.values()].find(isActive);
  model.deletePod(pod?.name ?? "");
  t.same(plan(model, random).actions, []);
});

t.test(
  "of what a former owner left, the revision of the template is adopted, and nothing else",
  async (t) => {
    const random = randomOf(1);
    const model = new Model(cloneSet("app", { replicas: 2 }));
    settle(worldOf(model, random), 400);
    changeTemplate(model, "image", 2);
    settle(worldOf(model, random), 400);
    const updateRevision = model.set.status?.updateRevision ?? "";
    const orphans = model.owned().map((pod) => pod.uid);
    for (const pod of model.owned()) model.change(pod.name, { controller: undefined });
    const keeper = { apiVersion: "v1", kind: "ConfigMap", name: "keeper", uid: "uid-keeper" };
    for (const [name, revision] of model.revisions)
      model.revisions.set(name, { ...revision, owners: [keeper] });
    model.set = { metadata: { ...model.set.metadata, uid: "uid-next" }, spec: model.set.spec };
    settle(worldOf(model, random), 400);
    t.equal(model.set.status?.updateRevision, updateRevision);
    t.equal(model.revisions.size, 2);
    for (const [name, { owners }] of model.revisions) {
      t.same(
        owners.map(({ uid }) => uid),
        name === updateRevision ? ["uid-keeper", "uid-next"] : ["uid-keeper"],
      );
    }
    t.equal(model.owned().length, 2);
    const left = [...model.pods.values()].filter((pod) => orphans.includes(pod.uid));
    t.same(
      left.map(({ controller }) => controller),
      [undefined, undefined],
      "orphans stay without an owner",
    );
  },
);
