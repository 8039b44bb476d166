import assert from "node:assert/strict";
import fc from "fast-check";
import { test } from "tap";
import {
  injectedListAnnotation,
  type SidecarSet,
  sidecarInPlaceStateAnnotation,
  sidecarSetHashAnnotation,
  sidecarSetHashWithoutImageAnnotation,
  upgradableCondition,
  workingHotUpgradeAnnotation,
} from "../../../crds/index.ts";
import type { Pod } from "../../../kube/index.ts";
import { LateWrites } from "../../../testkit/controller/late_writes_model.ts";
import { noChance } from "../../../testkit/controller/no_chance.ts";
import { IndexTwin } from "../../../testkit/controller/pod_index_model.ts";
import { injectedPod, SidecarModel, sidecarSetOf } from "../../../testkit/controller/sidecar_set_model.ts";
import {
  befall,
  lateStep,
  makeUnready,
  settle,
  takeLate,
} from "../../../testkit/controller/workload_history.ts";
import { isActive } from "../../rollout/pods/pod_state.ts";
import type { Action, PodPatchAction } from "../../rollout/writes/actions.ts";
import { matchedNamespaces, usesBudget } from "./classify.ts";
import { planSidecarSet } from "./plan.ts";
import { memberOf, rolloutOf } from "./rollout.ts";
import { sidecarSetState } from "./state.ts";
import { unmanagedReason } from "./unmanaged.ts";
import { reportedUpgradable } from "./upgradable.ts";

const systemNamespace = "kruise-system";

const container = (image: number, env = 0) => ({
  name: "side",
  image: `side:${image}`,
  env: [{ name: "A", value: `${env}` }],
});
const pair = (image: number) => ({
  name: "mesh",
  image: `mesh:${image}`,
  upgradeStrategy: { upgradeType: "HotUpgrade", hotUpgradeEmptyImage: "empty:1" },
});

/** Ready pods of the present set. */
function runningModel(spec: Partial<SidecarSet["spec"]>, pods: number): SidecarModel {
  const model = new SidecarModel(sidecarSetOf(spec));
  for (let count = 0; count < pods; count++) model.inject();
  for (const name of model.pods.keys()) while (model.kubelet(name));
  return model;
}

const planOf = (model: SidecarModel, writes = new LateWrites()) =>
  planSidecarSet(
    sidecarSetState({
      observed: model.observed(model.index(writes.pods)),
      options: { systemNamespace },
      now: model.now,
      random: noChance,
    }),
  );

const world = (model: SidecarModel) => ({
  model,
  plan: () => {
    const { actions, status, waiting } = planOf(model);
    return { actions, status, waiting };
  },
  perform: (action: Action, stopAfter?: number) => model.perform(action, stopAfter),
});

const disrupts = ({ effects }: PodPatchAction) => effects.some(({ type }) => type === "spend budget");
const isReported = ({ effects }: PodPatchAction) => effects.some(({ type }) => type === "event");

/** How many pods the next plan takes for an update, once the revision exists. */
function taken(model: SidecarModel): string[] {
  for (const action of planOf(model).actions) if (action.type === "create revision") model.perform(action);
  return planOf(model).actions.flatMap((action) => (action.type === "patch pod" ? [action.pod.name] : []));
}

const image = (tag: number) => (spec: SidecarSet["spec"]) => {
  spec.containers = [container(tag)];
};

test("a changed image reaches every pod, and nothing else is done afterwards", async (t) => {
  const model = runningModel({ containers: [container(1)] }, 4);
  settle(world(model), 10);
  t.match(model.set.status, { matchedPods: 4, updatedPods: 4, readyPods: 4, updatedReadyPods: 4 });
  model.changeSpec(image(2));
  settle(world(model), 60);
  t.match(model.set.status, { matchedPods: 4, updatedPods: 4, readyPods: 4, updatedReadyPods: 4 });
  for (const pod of model.active()) t.equal(reportedUpgradable(pod, "set"), true);
  t.same(planOf(model).actions, []);
  t.end();
});

test("pods that updateStrategy.selector leaves out are what the rollout waits for", async (t) => {
  const model = runningModel({ containers: [container(1)] }, 3);
  settle(world(model), 10);
  model.changeSpec((spec) => {
    spec.containers = [container(2)];
    spec.updateStrategy = { selector: { matchLabels: { canary: "true" } } };
  });
  settle(world(model), 10);
  const message = "3 pods keep their old sidecars: updateStrategy.selector does not match them";
  const until = "the selector matches them or is removed";
  t.same(planOf(model).waiting, [{ reason: "Selector", message, until }]);
  t.end();
});

test("a set says that new pods are refused while the revision that they are to get is not there", async (t) => {
  const model = runningModel({ containers: [container(1)] }, 1);
  settle(world(model), 10);
  const [revision = ""] = model.revisions.keys();
  const refusals = () =>
    planOf(model).actions.flatMap((action) => (action.type === "event" ? [action.event.message] : []));
  const pin = (injectionStrategy: SidecarSet["spec"]["injectionStrategy"]) =>
    model.changeSpec((spec) => Object.assign(spec, { injectionStrategy }));
  pin({ revision: { revisionName: revision } });
  t.same(refusals(), []);
  for (const [gone, named] of [
    [{ revisionName: "gone" }, "name gone"],
    [{ customVersion: "7" }, "custom version 7"],
  ] as const) {
    pin({ revision: gone });
    const message = `new pods that the selector matches are refused: the ControllerRevision to inject is not found: none has ${named}`;
    t.same(refusals(), [message]);
    t.match(planOf(model).waiting, [{ reason: "InjectionRevision", message }]);
    pin({ revision: gone, paused: true });
    t.same(refusals(), [], "nothing is injected at all");
  }
  t.end();
});

test("why pods with the set's labels are not its own", async (t) => {
  const set = sidecarSetOf({ containers: [container(1)] });
  const model = runningModel({ containers: [container(1)] }, 1);
  const [pod] = model.active();
  assert.ok(pod !== undefined);
  const context = { rollout: rolloutOf(set), namespaces: { has: () => true, version: 0 } };
  t.equal(unmanagedReason(pod, context), undefined);
  t.equal(unmanagedReason({ ...pod, phase: "Succeeded" }, context), "inactive");
  t.equal(unmanagedReason({ ...pod, annotations: {} }, context), "not injected");
  t.equal(unmanagedReason({ ...pod, containers: [] }, context), "lacks containers");
  const labelsOf = (name: string) => (name === pod.namespace ? { team: "a" } : undefined);
  for (const [team, want] of [
    ["a", undefined],
    ["b", "namespace"],
  ] as const) {
    const namespaces = matchedNamespaces({ matchLabels: { team } }, labelsOf, 1);
    t.equal(unmanagedReason(pod, { ...context, namespaces }), want);
    t.notOk(namespaces.has("absent"));
  }
  t.end();
});

test("pods that were injected with two of a plain init container are followed as all others", async (t) => {
  const setup = { name: "setup", image: "setup:1", upgradeStrategy: pair(1).upgradeStrategy };
  const model = new SidecarModel(sidecarSetOf({ containers: [pair(1)], initContainers: [setup] }));
  const working = "kruise.io/sidecarset-working-hotupgrade-container";
  for (const former of [true, false]) {
    const { name, ...pod } = model.inject();
    if (!former) continue;
    const record = {
      [working]: '{"mesh":"mesh-1","setup":"setup-1"}',
      "version.sidecarset.kruise.io/setup-1": "1",
    };
    model.pods.set(name, { name, ...pod, annotations: { ...pod.annotations, ...record } });
  }
  for (const name of model.pods.keys()) while (model.kubelet(name));
  settle(world(model), 10);
  t.match(model.set.status, { matchedPods: 2, updatedPods: 2, readyPods: 2 });
  model.changeSpec((spec) => {
    spec.containers = [pair(2)];
  });
  settle(world(model), 60);
  t.match(model.set.status, { matchedPods: 2, updatedPods: 2, readyPods: 2, updatedReadyPods: 2 });
  t.same(
    model.active().map(({ annotations }) => annotations[working]),
    ['{"mesh":"mesh-2","setup":"setup-1"}', '{"mesh":"mesh-2"}'],
  );
  t.end();
});

test("partition and maxUnavailable, as numbers and percentages", async (t) => {
  const cases = [
    { pods: 5, strategy: { partition: "99%", maxUnavailable: 10 }, want: 1 },
    { pods: 5, strategy: { partition: "1%", maxUnavailable: 10 }, want: 4 },
    { pods: 5, strategy: { partition: "100%", maxUnavailable: 10 }, want: 0 },
    { pods: 5, strategy: { partition: 3, maxUnavailable: 10 }, want: 2 },
    { pods: 2, strategy: { partition: "50%", maxUnavailable: "50%" }, want: 1 },
    { pods: 5, strategy: { maxUnavailable: "21%" }, want: 2 },
    { pods: 5, strategy: { maxUnavailable: 0 }, want: 0 },
    { pods: 5, strategy: {}, want: 1 },
    { pods: 5, strategy: { maxUnavailable: 5, paused: true }, want: 0 },
    { pods: 5, strategy: { maxUnavailable: 5, type: "NotUpdate" }, want: 0 },
    { pods: 5, strategy: { maxUnavailable: "many", partition: "few" }, want: 0 },
  ];
  for (const { pods, strategy, want } of cases) {
    const model = runningModel({ containers: [container(1)], updateStrategy: strategy }, pods);
    model.changeSpec(image(2));
    t.equal(taken(model).length, want, JSON.stringify(strategy));
  }
});

test("of 30 updated pods 4 are not ready: 6 of 10 may follow", async (t) => {
  const updateStrategy = { maxUnavailable: 10, partition: 70 };
  const model = runningModel({ containers: [container(1)], updateStrategy }, 100);
  model.changeSpec(image(2));
  settle(world(model), 100);
  const rollout = rolloutOf(model.set);
  const updated = model.active().filter((pod) => memberOf(pod, false, rollout)?.updated);
  t.equal(updated.length, 30);
  for (const pod of updated.slice(0, 4)) makeUnready(model, pod);
  model.changeSpec((spec) => {
    spec.updateStrategy = { maxUnavailable: 10 };
  });
  t.equal(taken(model).length, 6);
});

test("a pod that is not ready is updated free of the budget, and first", async (t) => {
  const model = runningModel({ containers: [container(1)] }, 3);
  const [, second] = model.active();
  if (second !== undefined) makeUnready(model, second);
  model.changeSpec(image(2));
  t.same(taken(model)[0], "pod-1");
  t.equal(taken(model).length, 2);
});

test("more than images differ: pods are left alone, marked so, and counted in one event", async (t) => {
  const model = runningModel({ containers: [container(1)] }, 3);
  settle(world(model), 10);
  model.changeSpec((spec) => {
    spec.containers = [container(2, 1)];
  });
  settle(world(model), 10);
  t.match(model.set.status, { matchedPods: 3, updatedPods: 0, readyPods: 3 });
  for (const pod of model.active()) {
    t.match(
      pod.conditions.find(({ type }) => type === "SidecarSetUpgradable"),
      {
        status: "False",
        reason: "UpdateImmutableField",
        message: '{"set":false}',
      },
    );
  }
  t.same(
    model.events.map(({ message }) => message),
    ["SidecarSet in-place update detected 3 not upgradable pod(s) in this round, will skip them."],
  );
  model.changeSpec(image(1));
  settle(world(model), 10);
  for (const pod of model.active()) t.equal(reportedUpgradable(pod, "set"), true, "reverted");
});

test("metadata is patched with an update, and a pod where that is impossible holds up no other", async (t) => {
  const patchPodMetadata: SidecarSet["spec"]["patchPodMetadata"] = [
    { annotations: { log: '{"c":2}' }, patchPolicy: "MergePatchJson" },
    { annotations: { kept: "new", added: "new" }, patchPolicy: "Retain" },
  ];
  const model = runningModel({ containers: [container(1)], patchPodMetadata }, 3);
  settle(world(model), 10);
  for (const [index, log] of ["broken", '{"a":1,"c":1}', ""].entries()) {
    const pod = model.pods.get(`pod-${index}`);
    model.change(`pod-${index}`, { annotations: { ...pod?.annotations, log, kept: "old" } });
  }
  t.same(planOf(model).actions, [], "a patch alone updates nothing");
  model.changeSpec(image(2));
  settle(world(model), 60);
  t.match(model.set.status, { matchedPods: 3, updatedPods: 2 });
  t.match(planOf(model).waiting, [{ reason: "PodMetadata", pods: ["pod-0"] }]);
  t.match(model.pods.get("pod-1")?.annotations, { log: '{"a":1,"c":2}', kept: "old", added: "new" });
  t.match(model.pods.get("pod-2")?.annotations, { log: '{"c":2}' });
});

test("history: as many revisions as are allowed, an older one comes back under its name", async (t) => {
  const model = runningModel({}, 0);
  const withSecret = (name: string) => {
    model.changeSpec((spec) => {
      spec.imagePullSecrets = [{ name }];
    });
    settle(world(model), 10);
  };
  const numbers = () => model.sortedRevisions().map(({ revision }) => revision);
  for (let count = 1; count <= 15; count++) withSecret(`secret-${count}`);
  t.same(numbers(), [6, 7, 8, 9, 10, 11, 12, 13, 14, 15]);
  const twelfth = model.sortedRevisions()[6]?.name;
  withSecret("secret-12");
  t.same(numbers(), [6, 7, 8, 9, 10, 11, 13, 14, 15, 16]);
  t.equal(model.sortedRevisions().at(-1)?.name, twelfth);
  t.equal(model.set.status?.latestRevision, twelfth);
  const [latest] = model.sortedRevisions().slice(-1);
  t.match(latest?.labels, { "kruise.io/sidecarset-name": "set" });
  model.changeSpec((spec) => {
    spec.customVersion = "7";
  });
  t.match(planOf(model).actions, [
    {
      type: "patch revision",
      name: twelfth,
      effects: [
        { patch: { body: { metadata: { labels: { "apps.kruise.io/sidecarset-custom-version": "7" } } } } },
      ],
    },
  ]);
});

test("history: revisions of pods, and those that are to be injected, stay", async (t) => {
  const model = runningModel({ revisionHistoryLimit: 1, containers: [container(1)] }, 2);
  settle(world(model), 10);
  model.changeSpec((spec) => {
    spec.updateStrategy = { maxUnavailable: 1, partition: 1 };
    spec.containers = [container(2)];
  });
  settle(world(model), 30);
  model.changeSpec((spec) => {
    spec.containers = [container(3, 1)];
  });
  settle(world(model), 30);
  const names = model.sortedRevisions().map(({ revision }) => revision);
  t.same(names, [2, 3], "a pod says that it has the second");
  const [second = undefined] = model.sortedRevisions();
  for (const name of [...model.pods.keys()]) model.pods.delete(name);
  model.changeSpec((spec) => {
    spec.injectionStrategy = { revision: { revisionName: second?.name ?? "" } };
  });
  settle(world(model), 30);
  t.equal(model.revisions.size, 2);
  model.changeSpec((spec) => {
    delete spec.injectionStrategy;
  });
  settle(world(model), 30);
  t.same(
    model.sortedRevisions().map(({ revision }) => revision),
    [3],
  );
});

test("history: the revision that a pod is leaving stays until the write is answered", async (t) => {
  const model = runningModel({ revisionHistoryLimit: 1, containers: [container(1)] }, 1);
  model.changeSpec(image(2));
  settle(world(model), 60);
  model.changeSpec(image(3));
  for (const action of planOf(model).actions) model.perform(action);
  const writes = new LateWrites();
  const deleted = () =>
    planOf(model, writes).actions.flatMap((action) =>
      action.type === "delete revision" ? [action.name] : [],
    );
  t.same(deleted(), []);
  for (const action of planOf(model).actions) writes.begin(action, model.now);
  t.equal(writes.size, 1);
  t.same(deleted(), [], "it may be refused");
  writes.answer(0, (action) => model.perform(action));
  t.equal(deleted().length, 1);
});

test("a pod whose pair is put to rest uses the budget at once, also when the set has changed again (rules 30, 35)", async (t) => {
  const model = runningModel({ containers: [pair(1)] }, 2);
  settle(world(model), 10);
  const change = (tag: number): void =>
    model.changeSpec((spec) => {
      spec.containers = [pair(tag)];
    });
  change(2);
  t.same(taken(model), ["pod-0"]);
  for (const action of planOf(model).actions) model.perform(action);
  while (model.kubelet("pod-0"));
  change(3);
  t.same(taken(model), ["pod-0"], "mesh-1 of it is put to rest, so pod-1 waits");
  t.end();
});

test("a pod that fails while its condition is written uses the budget before that is answered (rule 35)", async (t) => {
  const model = runningModel({ containers: [container(1)] }, 2);
  settle(world(model), 10);
  model.changeSpec(image(2));
  t.same(taken(model), ["pod-0"]);
  for (const action of planOf(model).actions) model.perform(action);
  model.changeSpec((spec) => Object.assign(spec.updateStrategy ?? {}, { partition: 1 }));
  while (model.kubelet("pod-0"));
  const writes = new LateWrites();
  for (const action of planOf(model).actions) writes.begin(action, model.now);
  t.equal(writes.size, 1, "the condition of pod-0 is under way");
  const [pod] = model.active();
  if (pod !== undefined) makeUnready(model, pod);
  model.changeSpec((spec) => Object.assign(spec.updateStrategy ?? {}, { partition: 0 }));
  t.same(planOf(model, writes).actions, [], "pod-1 waits");
  t.end();
});

test("the states of a pair over two upgrades and a broken one", async (t) => {
  const model = runningModel({ containers: [pair(1)] }, 1);
  const read = () => {
    const [pod] = model.active();
    const at = (key: string) => pod?.annotations[`${key}.sidecarset.kruise.io/mesh-1`] ?? "";
    const alt = (key: string) => pod?.annotations[`${key}.sidecarset.kruise.io/mesh-2`] ?? "";
    const images = pod?.containers.slice(1).map((one) => one.image);
    return [...(images ?? []), at("version"), at("versionalt"), alt("version"), alt("versionalt")].join(" ");
  };
  const states: string[] = [];
  const follow = (): void => {
    for (let round = 0; round < 20; round++) {
      for (const action of planOf(model).actions) model.perform(action);
      if (states.at(-1) !== read()) states.push(read());
      for (const name of [...model.pods.keys()]) while (model.kubelet(name));
    }
  };
  const upgrade = (tag: number, version: string): void => {
    model.changeSpec((spec) => {
      spec.containers = [pair(tag)];
    });
    model.set.metadata.resourceVersion = version;
    follow();
  };
  follow();
  upgrade(2, "201");
  upgrade(3, "302");
  t.same(states, [
    "mesh:1 empty:1 1 0 0 1",
    "mesh:1 mesh:2 1 201 201 1",
    "empty:1 mesh:2 0 201 201 0",
    "mesh:3 mesh:2 302 201 201 302",
    "mesh:3 empty:1 302 0 0 302",
  ]);
  t.equal(model.events.filter(({ reason }) => reason === "ResetContainerSucceed").length, 2);
  const events = model.events.length;
  states.length = 0;
  // A bad image: mesh-1 goes on serving; the former image comes back.
  model.changeSpec((spec) => {
    spec.containers = [pair(4)];
  });
  model.set.metadata.resourceVersion = "403";
  for (const action of planOf(model).actions) model.perform(action);
  for (const action of planOf(model).actions) model.perform(action);
  t.equal(read(), "mesh:3 mesh:4 302 403 403 302");
  const [pod] = model.active();
  const failed = (pod?.containerStatuses ?? []).map((status) =>
    status.name === "mesh-2" ? { ...status, image: "mesh:4", imageID: "", ready: false } : status,
  );
  const conditions = (pod?.conditions ?? []).map((one) =>
    one.type === "Ready" ? { ...one, status: "False" } : one,
  );
  model.change("pod-0", { containerStatuses: failed, conditions });
  model.changeSpec((spec) => {
    spec.containers = [pair(3)];
  });
  for (let round = 0; round < 3; round++) for (const action of planOf(model).actions) model.perform(action);
  t.equal(read(), "mesh:3 empty:1 302 0 0 302");
  t.equal(model.events.length, events);
});

const app = { name: "app", image: "app:1", resources: {}, env: [], resizePolicy: {} };
const withoutSidecars = { annotations: {}, containers: [app] };

const what = fc.oneof(
  {
    weight: 3,
    arbitrary: fc.constantFrom(
      "unready",
      "one unready",
      "failed",
      "delete",
      "foreign",
      "relabelled",
      "unreported",
    ),
  },
  {
    weight: 1,
    arbitrary: fc.constantFrom(
      "no hash",
      "garbled hash",
      "garbled images",
      "garbled pair",
      "garbled state",
      "garbled condition",
      "not listed",
      "broken json",
    ),
  },
);
type What = typeof what extends fc.Arbitrary<infer W> ? W : never;

const canaries = { matchLabels: { canary: "true" } };
const labels = fc.record(
  {
    canary: fc.constant("true"),
    zone: fc.constantFrom("a", "b"),
    order: fc.constantFrom("n-1", "n-10", "x"),
  },
  { requiredKeys: [] },
);
type Strategy = NonNullable<SidecarSet["spec"]["updateStrategy"]>;
const strategies: fc.Arbitrary<Strategy> = fc
  .record(
    {
      partition: fc.constantFrom(0, 0, 0, 1, 3, "1%", "50%", "100%"),
      maxUnavailable: fc.constantFrom(0, 1, 2, 2, "1%", "50%", "100%"),
      priorityStrategy: fc.constantFrom<NonNullable<Strategy["priorityStrategy"]>>(
        { weightPriority: [{ weight: 10, matchSelector: canaries }] },
        { orderPriority: [{ orderedKey: "zone" }, { orderedKey: "order" }] },
      ),
      scatterStrategy: fc.constant<NonNullable<Strategy["scatterStrategy"]>>([{ key: "zone", value: "*" }]),
    },
    { requiredKeys: [] },
  )
  .chain((strategy) =>
    fc.constantFrom<Strategy>(
      ...Array.from({ length: 5 }, () => strategy),
      { ...strategy, type: "NotUpdate" },
      { ...strategy, paused: true },
      { ...strategy, selector: canaries },
    ),
  );
type Patches = NonNullable<SidecarSet["spec"]["patchPodMetadata"]>;
const patches: fc.Arbitrary<Patches> = fc.array(
  fc.record({
    annotations: fc.constantFrom<Record<string, string>>({ log: '{"c":2}' }, { note: "new" }),
    patchPolicy: fc.constantFrom("Retain", "Overwrite", "MergePatchJson"),
  }),
  { maxLength: 2 },
);

const tag = fc.integer({ min: 1, max: 3 });
const step = fc.oneof(
  { weight: 16, arbitrary: fc.record({ do: fc.constant("plan" as const) }) },
  { weight: 12, arbitrary: lateStep },
  { weight: 8, arbitrary: fc.record({ do: fc.constant("kubelet" as const), which: fc.nat(30) }) },
  { weight: 6, arbitrary: fc.record({ do: fc.constant("kubelets" as const) }) },
  {
    weight: 4,
    arbitrary: fc.record({
      do: fc.constant("images" as const),
      images: fc.oneof(fc.record({ side: tag }), fc.record({ log: tag }), fc.record({ mesh: tag })),
    }),
  },
  {
    weight: 2,
    arbitrary: fc.record({ do: fc.constant("env" as const), env: fc.constantFrom(0, 0, 0, 1) }),
  },
  {
    weight: 2,
    arbitrary: fc.record({
      do: fc.constant("create" as const),
      of: fc.constantFrom("now", "now", "the first", "nothing"),
      labels,
    }),
  },
  { weight: 5, arbitrary: fc.record({ do: fc.constant("befall" as const), which: fc.nat(30), what }) },
  { weight: 3, arbitrary: fc.record({ do: fc.constant("strategy" as const), strategies }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant("patches" as const), patches }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant("pin" as const), which: fc.nat(4) }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant("history" as const), limit: fc.constantFrom(1, 10) }) },
  {
    weight: 1,
    arbitrary: fc.record({ do: fc.constant("version" as const), version: fc.constantFrom("", "7") }),
  },
);

function disturb(model: SidecarModel, pod: Pod, what: What): void {
  const annotate = (change: Record<string, string>) =>
    model.change(pod.name, { annotations: { ...pod.annotations, ...change } });
  switch (what) {
    case "one unready": {
      const failing = Math.floor(model.now / 50) % Math.max(1, pod.containerStatuses.length);
      const { containerStatuses } = pod;
      makeUnready(model, pod);
      model.change(pod.name, {
        containerStatuses: containerStatuses.map((one, at) =>
          at === failing ? { ...one, ready: false } : one,
        ),
      });
      return;
    }
    case "unready":
    case "failed":
    case "delete":
      befall(model, pod, what);
      return;
    case "foreign":
      annotate({ foreign: String(model.now) });
      return;
    case "relabelled":
      model.change(pod.name, { labels: { app: "app", canary: "true" } });
      return;
    case "unreported":
      model.change(pod.name, { containerStatuses: pod.containerStatuses.slice(1) });
      return;
    case "no hash": {
      const { [sidecarSetHashAnnotation]: _, ...annotations } = pod.annotations;
      model.change(pod.name, { annotations });
      return;
    }
    case "garbled condition":
      model.change(pod.name, {
        conditions: pod.conditions.map((one) =>
          one.type === upgradableCondition ? { ...one, message: "{" } : one,
        ),
      });
      return;
    case "broken json":
      annotate({ log: "broken" });
      return;
    default:
      annotate({ [garbled[what]]: what === "not listed" ? "others" : "{" });
  }
}

const garbled = {
  "garbled hash": sidecarSetHashAnnotation,
  "garbled images": sidecarSetHashWithoutImageAnnotation,
  "garbled pair": workingHotUpgradeAnnotation,
  "garbled state": sidecarInPlaceStateAnnotation,
  "not listed": injectedListAnnotation,
} as const;

/** Rule 29, plainly. */
function isManaged({ annotations, containers }: Pod, isHot: boolean): boolean {
  if (!annotations[injectedListAnnotation]?.split(",").includes("set")) return false;
  if (containers.length === 1) return false;
  return !isHot || annotations[workingHotUpgradeAnnotation]?.includes("mesh") === true;
}

const portionOf = (value: number | string, total: number): number =>
  typeof value === "number" ? value : Math.ceil((total * Number.parseInt(value, 10)) / 100);

/** Rule 35. */
function keptOf({ partition = 0 }: Strategy, total: number): number {
  const share = portionOf(partition, total);
  return typeof partition === "string" && partition !== "100%" && total > 1
    ? Math.min(share, total - 1)
    : share;
}

test("random histories: the index agrees with one made from nothing, the budget holds, everything ends updated", async (t) => {
  const reached = { updates: 0, resets: 0, refusals: 0, bare: 0, free: 0, kept: 0 };
  fc.assert(
    fc.property(
      fc.boolean(),
      fc.integer({ min: 2, max: 8 }),
      fc.array(step, { minLength: 30, maxLength: 90 }),
      (isHot, pods, steps) => {
        let env = 0;
        const tags = { side: 1, log: 1, mesh: 1 };
        const containers = () => [
          container(tags.side, env),
          { name: "log", image: `log:${tags.log}` },
          ...(isHot ? [pair(tags.mesh)] : []),
        ];
        const model = runningModel({ containers: containers() }, pods);
        const first = model.set;
        const twin = new IndexTwin({
          model,
          index: (writes) => model.index(writes.pods),
          plan: (index) =>
            planSidecarSet(
              sidecarSetState({
                observed: model.observed(index),
                options: { systemNamespace },
                now: model.now,
                random: noChance,
              }),
            ),
        });
        /** Taken while they were not ready: those use no budget until they are. */
        const free = new Set<string>();
        /** Nobody can tell any more what they ran before their update. */
        const unsure = new Set<string>();
        const shown = () => {
          const rollout = rolloutOf(model.set);
          return model.active().flatMap((pod) => memberOf(pod, false, rollout) ?? []);
        };
        /** The same with the writes that are under way. */
        const planned = () => {
          const rollout = rolloutOf(model.set);
          const pods = model.active().map((pod) => twin.writes.pods.get(pod.uid) ?? pod);
          return pods.filter(isActive).flatMap((pod) => memberOf(pod, false, rollout) ?? []);
        };
        const checkPatch = (action: PodPatchAction): void => {
          const { type, paused, selector } = model.set.spec.updateStrategy ?? {};
          const { pod, concern } = action;
          if (!isManaged(pod, isHot)) throw new Error(`${pod.name} has no sidecars of the set`);
          if (disrupts(action)) reached.updates++;
          if (isReported(action)) reached.resets++;
          if (type === "NotUpdate") throw new Error(`${pod.name} is written to with NotUpdate`);
          if (concern === "refresh") reached.refusals++;
          else if (paused) throw new Error(`${pod.name} is updated while none may be`);
          else if (!isReported(action) && selector !== undefined && pod.labels["canary"] !== "true")
            throw new Error(`${pod.name} is updated, and not selected`);
          if (isHot) checkPair(action, unsure);
          if (pod.deletionAt !== undefined || pod.phase === "Failed")
            throw new Error(`${pod.name} is written to and is on its way out`);
        };
        const send = (): void => {
          const strategy = model.set.spec.updateStrategy ?? {};
          const members = planned();
          const total = members.length;
          const candidates = members.filter(
            ({ updated, selected, upgradable, settling }) => !updated && selected && upgradable && !settling,
          );
          const plan = twin.send();
          const updates = plan.actions.flatMap((action) => {
            if (action.type === "delete revision") checkHistory(model, action.name, isHot);
            if (action.type !== "patch pod") return [];
            checkPatch(action);
            return action.concern === "update" && !isReported(action) ? [action] : [];
          });
          const rollout = rolloutOf(model.set);
          const begun = updates.filter(({ pod }) => {
            const isReady = memberOf(pod, false, rollout)?.ready === true;
            if (isReady) free.delete(pod.uid);
            else free.add(pod.uid);
            return isReady;
          }).length;
          reached.free += updates.length - begun;
          const kept = keptOf(strategy, total);
          if (kept > 0 && updates.length > 0) reached.kept++;
          if (updates.length > Math.max(0, candidates.length - kept))
            throw new Error(`${updates.length} of ${candidates.length} are updated, ${kept} are kept`);
          if (begun === 0) return;
          const used = members.filter((member) => usesBudget(member) && !free.has(member.pod.uid)).length;
          const most = portionOf(strategy.maxUnavailable ?? 1, total);
          if (used + begun > most) throw new Error(`${used} and ${begun} pods are out, ${most} may be`);
        };
        const change = (spec: Partial<SidecarSet["spec"]>) =>
          model.changeSpec((old) => Object.assign(old, spec));
        for (const one of steps) {
          model.now += 50;
          const names = [...model.pods.keys()];
          if ("late" in one) {
            takeLate(twin.writes, one, (action) => twin.perform(action));
            continue;
          }
          const name = "which" in one ? (names[one.which % Math.max(1, names.length)] ?? "") : "";
          const pod = model.pods.get(name);
          switch (one.do) {
            case "plan":
              send();
              break;
            case "kubelet":
              model.kubelet(name);
              break;
            case "kubelets":
              for (const each of names) model.kubelet(each);
              break;
            case "create": {
              const change = { labels: { app: "app", ...one.labels } };
              if (one.of === "nothing") model.inject({ ...change, ...withoutSidecars });
              else if (one.of === "now") model.inject(change);
              else {
                const { name: _, ...made } = injectedPod(first, "first");
                model.inject({ annotations: made.annotations, containers: made.containers, ...change });
              }
              break;
            }
            case "strategy":
              change({ updateStrategy: one.strategies });
              break;
            case "patches":
              change({ patchPodMetadata: one.patches });
              break;
            case "history":
              change({ revisionHistoryLimit: one.limit });
              break;
            case "version":
              change({ customVersion: one.version });
              break;
            case "pin": {
              const revisionName = model.sortedRevisions()[one.which]?.name ?? "";
              change({ injectionStrategy: revisionName === "" ? {} : { revision: { revisionName } } });
              break;
            }
            case "befall":
              if (pod !== undefined) disturb(model, pod, one.what);
              if (one.what === "garbled state") unsure.add(pod?.uid ?? "");
              break;
            default:
              if (one.do === "env") env = one.env;
              else Object.assign(tags, one.images);
              change({ containers: containers() });
          }
        }
        while (twin.writes.size > 0) twin.answer();
        change({ updateStrategy: { maxUnavailable: 1 }, patchPodMetadata: [] });
        settle({ ...world(model), plan: () => twin.plan(), perform: (action) => twin.perform(action) }, 400);
        const members = shown();
        const left = model.active().filter((pod) => !isManaged(pod, isHot));
        reached.bare += left.length;
        if (members.length + left.length !== model.active().length) throw new Error("others are managed");
        for (const { pod, updated, upgradable, ready, consistent } of members) {
          if (!ready || !consistent) throw new Error(`${pod.name} is left behind`);
          if (!updated && upgradable) throw new Error(`${pod.name} stayed as it was`);
          if (!updated && reportedUpgradable(pod, "set") !== false)
            throw new Error(`${pod.name} heard nothing`);
          if (updated && reportedUpgradable(pod, "set") === false)
            throw new Error(`${pod.name} heard the wrong thing`);
          if (updated) checkImages(pod, tags, isHot);
        }
        const updated = members.filter((member) => member.updated).length;
        const { status } = model.set;
        const count = members.length;
        if (status?.matchedPods !== count || status.readyPods !== count || status.updatedPods !== updated)
          throw new Error(JSON.stringify(status));
      },
    ),
    { seed: 3, numRuns: 300 },
  );
  const { updates, refusals, resets, bare, free, kept } = reached;
  const isMet = updates > 250 && refusals > 100 && resets > 10 && bare > 50 && free > 10 && kept > 10;
  t.ok(isMet, JSON.stringify(reached));
});

/** Its sidecars run what the set says, and of a pair one is at rest. */
function checkImages(pod: Pod, tags: { side: number; log: number; mesh: number }, isHot: boolean): void {
  const imageOf = (name: string) => pod.containers.find((one) => one.name === name)?.image;
  const found = [imageOf("side"), imageOf("log"), ...[imageOf("mesh-1"), imageOf("mesh-2")].sort()];
  const pair = isHot ? ["empty:1", `mesh:${tags.mesh}`] : [undefined, undefined];
  const want = [`side:${tags.side}`, `log:${tags.log}`, ...pair];
  if (found.join() !== want.join()) throw new Error(`${pod.name} runs ${found.join()}, not ${want.join()}`);
  if (!isHot) return;
  const working = imageOf(JSON.parse(pod.annotations[workingHotUpgradeAnnotation] ?? "{}").mesh ?? "");
  if (working !== `mesh:${tags.mesh}`) throw new Error(`of ${pod.name} serves ${working}`);
}

/** Rules 41 and 43: of a pair one always serves, and goes on undisturbed. */
function checkPair({ pod, after, ...action }: PodPatchAction, unsure: ReadonlySet<string>): void {
  const workingOf = ({ annotations }: Pod): string =>
    JSON.parse(annotations[workingHotUpgradeAnnotation] ?? "{}").mesh;
  const imageOf = ({ containers }: Pod, name: string) => containers.find((one) => one.name === name)?.image;
  const serves = (name: string): boolean =>
    pod.containerStatuses.some(
      (status) => status.name === name && status.ready && status.image === imageOf(pod, name),
    );
  const [before, now] = [workingOf(pod), workingOf(after)];
  if (imageOf(after, now) === "empty:1") throw new Error(`of ${pod.name} serves ${now}, which is at rest`);
  if (unsure.has(pod.uid)) return;
  if (isReported({ pod, after, ...action }) && !serves(now))
    throw new Error(`${before} of ${pod.name} is put to rest, and ${now} does not serve`);
  if (
    serves(before) &&
    imageOf(pod, before) !== imageOf(after, before) &&
    !isReported({ pod, after, ...action })
  )
    throw new Error(`${before} of ${pod.name} serves, and gets another image`);
}

/** Rule 28. */
function checkHistory(model: SidecarModel, name: string, isHot: boolean): void {
  const { spec } = model.set;
  if (name === spec.injectionStrategy?.revision?.revisionName) throw new Error(`${name} is to be injected`);
  const entry = `"controllerRevision":"${name}"`;
  for (const pod of model.active())
    if (isManaged(pod, isHot) && pod.annotations[sidecarSetHashAnnotation]?.includes(entry))
      throw new Error(`${name} is gone, and ${pod.name} has it`);
}
