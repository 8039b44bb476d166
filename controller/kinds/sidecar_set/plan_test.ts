import assert from "node:assert/strict";
import fc from "fast-check";
import { test } from "tap";
import type { SidecarSet } from "../../../crds/index.ts";
import { LateWrites } from "../../../testkit/controller/late_writes_model.ts";
import { noChance } from "../../../testkit/controller/no_chance.ts";
import { IndexTwin } from "../../../testkit/controller/pod_index_model.ts";
import { SidecarModel, sidecarSetOf } from "../../../testkit/controller/sidecar_set_model.ts";
import { lateStep, makeUnready, settle, takeLate } from "../../../testkit/controller/workload_history.ts";
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

const step = fc.oneof(
  { weight: 6, arbitrary: fc.record({ do: fc.constant("plan" as const) }) },
  { weight: 6, arbitrary: lateStep },
  { weight: 6, arbitrary: fc.record({ do: fc.constant("kubelet" as const), which: fc.nat(30) }) },
  {
    weight: 2,
    arbitrary: fc.record({ do: fc.constant("image" as const), tag: fc.integer({ min: 1, max: 3 }) }),
  },
  {
    weight: 1,
    arbitrary: fc.record({ do: fc.constant("env" as const), tag: fc.integer({ min: 0, max: 1 }) }),
  },
  {
    weight: 1,
    arbitrary: fc.record({
      do: fc.constant("create" as const),
      injected: fc.constantFrom(true, true, false),
    }),
  },
  {
    weight: 2,
    arbitrary: fc.record({
      do: fc.constant("befall" as const),
      which: fc.nat(30),
      what: fc.constantFrom("unready" as const, "failed" as const, "delete" as const, "foreign" as const),
    }),
  },
  {
    weight: 1,
    arbitrary: fc.record({
      do: fc.constant("strategy" as const),
      paused: fc.constantFrom(false, false, false, true),
      partition: fc.constantFrom(0, 0, 1, "50%"),
      maxUnavailable: fc.constantFrom(1, 2, "50%"),
    }),
  },
);

test("random histories: the index agrees with one made from nothing, the budget holds, everything ends updated", async (t) => {
  const reached = { updates: 0, resets: 0, refusals: 0, bare: 0 };
  fc.assert(
    fc.property(
      fc.boolean(),
      fc.integer({ min: 1, max: 5 }),
      fc.array(step, { minLength: 30, maxLength: 90 }),
      (isHot, pods, steps) => {
        let env = 0;
        const containers = (tag: number) => [container(tag, env), ...(isHot ? [pair(tag)] : [])];
        const model = runningModel({ containers: containers(1) }, pods);
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
        /** Created while no webhook looked. */
        const bare = new Set<string>();
        /** Taken while they were not ready: those use no budget until they are. */
        const free = new Set<string>();
        const shown = () => {
          const rollout = rolloutOf(model.set);
          return model.active().flatMap((pod) => memberOf(pod, false, rollout) ?? []);
        };
        const send = (): void => {
          const before = twin.writes.pods.size;
          const budget = model.set.spec.updateStrategy?.maxUnavailable ?? 1;
          const plan = twin.send();
          for (const action of plan.actions) {
            if (action.type !== "patch pod") continue;
            if (bare.has(action.pod.name)) throw new Error(`${action.pod.name} has no sidecars of the set`);
            if (disrupts(action)) reached.updates++;
            if (isReported(action)) reached.resets++;
            if (action.concern === "refresh") reached.refusals++;
          }
          const rollout = rolloutOf(model.set);
          const begun = plan.actions.filter((action) => {
            if (action.type !== "patch pod" || !disrupts(action) || isReported(action)) return false;
            const isReady = memberOf(action.pod, false, rollout)?.ready === true;
            if (!isReady) free.add(action.pod.uid);
            return isReady;
          }).length;
          if (begun === 0 || before > 0) return;
          const used = shown().filter((member) => usesBudget(member) && !free.has(member.pod.uid)).length;
          const total = shown().length;
          const most =
            typeof budget === "number" ? budget : Math.ceil((total * Number.parseInt(budget, 10)) / 100);
          if (used + begun > most) throw new Error(`${used} and ${begun} pods are out, ${most} may be`);
        };
        for (const one of steps) {
          model.now += 50;
          const names = [...model.pods.keys()];
          if ("late" in one) {
            takeLate(twin.writes, one, (action) => twin.perform(action));
            continue;
          }
          const name = "which" in one ? (names[one.which % Math.max(1, names.length)] ?? "") : "";
          const pod = model.pods.get(name);
          if (one.do === "plan") send();
          else if (one.do === "kubelet") model.kubelet(name);
          else if (one.do === "create") {
            if (one.injected) model.inject();
            else bare.add(model.inject(withoutSidecars).name);
          } else if (one.do === "strategy") {
            const { do: _, ...strategy } = one;
            model.changeSpec((spec) => {
              spec.updateStrategy = strategy;
            });
          } else if (one.do === "befall") {
            if (pod === undefined) continue;
            if (one.what === "unready") makeUnready(model, pod);
            else if (one.what === "failed") model.change(name, { phase: "Failed", conditions: [] });
            else if (one.what === "delete") model.deletePod(name);
            else model.change(name, { annotations: { ...pod.annotations, foreign: String(model.now) } });
          } else {
            if (one.do === "env") env = one.tag;
            model.changeSpec((spec) => {
              spec.containers = containers(one.tag);
            });
          }
        }
        while (twin.writes.size > 0) twin.answer();
        model.changeSpec((spec) => {
          spec.updateStrategy = { maxUnavailable: 1 };
        });
        settle({ ...world(model), plan: () => twin.plan(), perform: (action) => twin.perform(action) }, 400);
        const members = shown();
        const left = model.active().filter(({ name }) => bare.has(name));
        reached.bare += left.length;
        if (members.some(({ pod }) => bare.has(pod.name)))
          throw new Error("a pod without sidecars is managed");
        if (left.some((pod) => reportedUpgradable(pod, "set") !== undefined))
          throw new Error("a pod without sidecars was written to");
        for (const { pod, updated, upgradable, ready, consistent } of members) {
          if (!ready || !consistent) throw new Error(`${pod.name} is left behind`);
          if (updated !== upgradable)
            throw new Error(`${pod.name}: updated ${updated}, upgradable ${upgradable}`);
          if (!upgradable && reportedUpgradable(pod, "set") !== false)
            throw new Error(`${pod.name} heard nothing`);
          if (updated && reportedUpgradable(pod, "set") === false)
            throw new Error(`${pod.name} heard the wrong thing`);
        }
        const status = model.set.status;
        const count = members.length;
        if (status?.matchedPods !== count || status.readyPods !== count)
          throw new Error(JSON.stringify(status));
      },
    ),
    { seed: 3, numRuns: 200 },
  );
  const { updates, refusals, resets, bare } = reached;
  t.ok(updates > 250 && refusals > 100 && resets > 10 && bare > 50, JSON.stringify(reached));
});
