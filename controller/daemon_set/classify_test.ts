/** An index that is kept up from event to event leads to the same plans as one that looks at every node in each pass. */
import fc from "fast-check";
import t from "tap";
import {
  HOOK,
  happen,
  nodeNames,
  rolling,
  send,
  settleDaemons,
  slowStep,
  step,
  take,
} from "../../testkit/controller/daemon_set_history.ts";
import { daemonSet, defaultOptions, Model } from "../../testkit/controller/daemon_set_model.ts";
import { IndexTwin, KeptIndex, lookedUp } from "../../testkit/controller/pod_index_model.ts";
import { plainNode } from "../../testkit/controller/projection_builder.ts";
import {
  changeTemplate,
  lateStep,
  makeUnready,
  randomOf,
  takeLate,
} from "../../testkit/controller/workload_history.ts";
import { nodeOf } from "../rollout/node_pods.ts";
import { type DaemonContext, DaemonIndex, type DaemonView, newGroups } from "./classify.ts";
import { planDaemonSet } from "./plan.ts";

/** The full computation: every node is looked at, whatever could be a count and a name. */
class LookingIndex extends DaemonIndex {
  override refresh(context: DaemonContext): DaemonView {
    const view = super.refresh(context);
    const { lost, toRelease, toAdopt } = view.groups;
    const groups = { ...newGroups(), lost, toRelease, toAdopt };
    for (const { name, daemons, eligibility } of view.every())
      if (daemons.length > 0 || eligibility === "run") groups.open.add(name);
    return {
      groups,
      get counted() {
        return view.counted;
      },
      count: (what) => (what === "starting" || what === "held" ? 0 : view.count(what)),
      at: (slot) => view.at(slot),
      entries: (slots) => view.entries(slots),
      every: () => view.every(),
    };
  }
}

function planningOf(model: Model, seed: number) {
  const settled = new WeakMap<object, boolean>();
  return {
    model,
    writes: model.writes,
    byGeneration: true,
    index: () => model.index(),
    looking: () => model.index(LookingIndex),
    plan: (index: DaemonIndex, nth: number, fresh: boolean) => {
      model.failed.observe(model.set.status?.observedGeneration);
      const plan = planDaemonSet({
        options: defaultOptions,
        now: model.now,
        seen: model.seen(index),
        random: randomOf(seed + nth),
        ...(fresh ? {} : { settled }),
      });
      if (fresh) for (const name of plan.failedOn) model.failed.replaced(name);
      return plan;
    },
  };
}
const newTwin = (model: Model, seed: number) => new IndexTwin(planningOf(model, seed));
type Twin = ReturnType<typeof newTwin>;

/** A set on many nodes, and the nodes that a pass looks at. */
function watched(nodes: number, spec: Parameters<typeof daemonSet>[0] = {}) {
  const names = Array.from({ length: nodes }, (_, index) => `n${String(index).padStart(4, "0")}`);
  const model = new Model(daemonSet(spec), names);
  const kept = new KeptIndex(planningOf(model, 1));
  const looked = lookedUp(model.nodes);
  return {
    kept,
    model,
    looked,
    pass: () => {
      looked.clear();
      const plan = kept.plan();
      for (const action of plan.actions) kept.perform(action);
      model.writeStatus(plan.status);
      return plan;
    },
    send: () => {
      looked.clear();
      return kept.send();
    },
    /** Kubelets and time. */
    live: () => {
      for (const name of [...model.pods.keys()]) model.kubelet(name);
      model.now += 50;
    },
  };
}

const options = fc.record({
  minReadySeconds: fc.constantFrom(0, 0, 1),
  hooked: fc.boolean(),
  partitionedScaling: fc.boolean(),
  burstReplicas: fc.constantFrom(250, 2),
  nodes: fc.constantFrom(4, 5, 30),
});
type Options = typeof options extends fc.Arbitrary<infer O> ? O : never;
type First = typeof rolling extends fc.Arbitrary<infer R> ? R : never;

function twinOf(first: First, more: Options, seed: number): Twin {
  const { minReadySeconds, hooked, partitionedScaling, burstReplicas, nodes } = more;
  const set = daemonSet({
    updateStrategy: { type: "RollingUpdate", rollingUpdate: first },
    ...(hooked ? { lifecycle: { preDelete: { labelsHandler: { [HOOK]: "true" } } } } : {}),
    scaleStrategy: { partitionedScaling },
    minReadySeconds,
    burstReplicas,
  });
  const names = Array.from({ length: nodes }, (_, index) => nodeNames[index] ?? `n${index}`);
  return newTwin(new Model(set, names), seed);
}

t.test("property: from event to event the same plans as from nothing", async (t) => {
  let plans = 0;
  fc.assert(
    fc.property(
      fc.array(fc.oneof(slowStep, slowStep, step), { minLength: 20, maxLength: 100 }),
      rolling,
      options,
      fc.nat(),
      (steps, first, more, seed) => {
        const twin = twinOf(first, more, seed);
        settleDaemons(twin);
        changeTemplate(twin.model, "image", 2);
        for (const one of steps) take(twin, one);
        settleDaemons(twin);
        plans += twin.plans;
      },
    ),
    { seed: 20_261_121, numRuns: 700 },
  );
  t.ok(plans > 10_000, `${plans} plans`);
});

const masses = fc.record({ many: fc.constantFrom("pods lost", "nodes join", "nodes leave") });
type Masses = typeof masses extends fc.Arbitrary<infer M> ? M : never;

function takeMasses({ model }: Twin, what: Masses["many"]): void {
  // Names between those that are there, before and behind them.
  const joining = Array.from({ length: 20 }, (_, index) => `${["a", "n1", "z"][index % 3]}${index}`);
  if (what === "pods lost") for (const { name } of model.owned()) model.pods.delete(name);
  else if (what === "nodes leave") for (const name of joining) model.nodes.delete(name);
  else for (const name of joining) if (!model.nodes.has(name)) model.nodes.set(name, plainNode(name));
}

t.test("property: the same plans while many nodes are missing their pod", async (t) => {
  let plans = 0;
  fc.assert(
    fc.property(
      fc.array(fc.oneof({ weight: 6, arbitrary: fc.oneof(slowStep, step) }, masses), {
        minLength: 20,
        maxLength: 80,
      }),
      rolling,
      fc.record({ options, begun: fc.boolean() }),
      fc.nat(),
      (steps, first, { options, begun }, seed) => {
        const twin = twinOf(first, { ...options, nodes: 30 }, seed);
        if (begun) settleDaemons(twin);
        for (const one of steps) {
          if ("many" in one) takeMasses(twin, one.many);
          else take(twin, one);
        }
        settleDaemons(twin);
        plans += twin.plans;
      },
    ),
    { seed: 20_261_121, numRuns: 300 },
  );
  t.ok(plans > 5000, `${plans} plans`);
});

/** What slow servers do to writes, and time; nothing waits for an answer. */
const burstStep = fc.oneof(
  { weight: 10, arbitrary: lateStep },
  { weight: 14, arbitrary: fc.oneof(slowStep, slowStep, step) },
  { weight: 2, arbitrary: fc.record({ do: fc.constant("wait"), ms: fc.constantFrom(500, 2500) }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constantFrom("vanish", "orphan"), pod: fc.nat(30) }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant("image" as const), tag: fc.constantFrom(1, 2) }) },
);
type BurstStep = typeof burstStep extends fc.Arbitrary<infer S> ? S : never;

function takeBurst(twin: Twin, one: BurstStep): void {
  const { model } = twin;
  const { generation } = model.set.metadata;
  if ("ms" in one) model.now += one.ms;
  else if ("pod" in one) {
    const name = [...model.pods.keys()][one.pod % Math.max(1, model.pods.size)] ?? "";
    if (one.do === "vanish") model.pods.delete(name);
    else model.change(name, { controller: undefined });
  } else if ("late" in one) takeLate(model.writes, one, (action) => twin.perform(action));
  else happen(twin, one);
  // What is not on its way to the server is withdrawn with the spec that wanted it.
  if (model.set.metadata.generation !== generation) model.writes.withdraw(3);
}

t.test("property: the same plans while many writes are under way", async (t) => {
  let plans = 0;
  let most = 0;
  fc.assert(
    fc.property(
      fc.array(burstStep, { minLength: 20, maxLength: 100 }),
      rolling,
      fc.record({ options, begun: fc.boolean() }),
      fc.nat(),
      (steps, first, { options, begun }, seed) => {
        const twin = twinOf(first, options, seed);
        const { writes } = twin.model;
        if (begun) settleDaemons(twin);
        for (const one of steps) {
          takeBurst(twin, one);
          most = Math.max(most, writes.size);
        }
        writes.arriveLate((action) => twin.perform(action));
        settleDaemons(twin);
        plans += twin.plans;
      },
    ),
    { seed: 20_261_121, numRuns: 700 },
  );
  t.ok(plans > 10_000, `${plans} plans`);
  t.ok(most >= 30, `${most} writes under way`);
});

t.test(
  "a pod with a write in flight is looked at while time alone may change what it counts as",
  async (t) => {
    const update = { rollingUpdateType: "InPlaceIfPossible", maxUnavailable: 1, maxSurge: 0 } as const;
    const spec = {
      updateStrategy: { type: "RollingUpdate", rollingUpdate: update },
      minReadySeconds: 5,
    } as const;
    const twin = newTwin(new Model(daemonSet(spec), ["n1"]), 1);
    const { model } = twin;
    settleDaemons(twin);
    const [pod] = model.owned();
    if (pod === undefined) throw new Error("no pod was made");
    makeUnready(model, pod);
    for (let count = 0; count < 3; count++) model.kubelet(pod.name);
    changeTemplate(model, "image", 2);
    for (const action of twin.plan().actions) twin.perform(action);
    t.match(send(twin).status, { numberReady: 1, numberUnavailable: 1 });
    t.match(twin.plan().status, { numberReady: 1, numberUnavailable: 1 });
    t.equal(model.writes.size, 1, "it is updated");
    model.now += 10_000;
    t.match(twin.plan().status, { numberAvailable: 1 });
  },
);

t.test("a pod that goes while it is being adopted is missed", async (t) => {
  const twin = newTwin(new Model(daemonSet(), ["n1"]), 1);
  const { model } = twin;
  settleDaemons(twin);
  const [pod] = model.owned();
  if (pod === undefined) throw new Error("no pod was made");
  makeUnready(model, pod);
  model.change(pod.name, { controller: undefined });
  send(twin);
  t.same([...model.writes.pods.keys()], [pod.uid], "it is being adopted");
  send(twin);
  model.pods.delete(pod.name);
  send(twin);
  t.equal(model.writes.size, 2, "and another one made");
});

t.test("once all is settled a pass looks at no node, and after an event at one", async (t) => {
  const { model, looked, pass, live } = watched(100);
  for (let count = 0; count < 20; count++) {
    pass();
    live();
  }
  t.equal(model.set.status?.numberAvailable, 100);
  pass();
  t.same([...looked], []);
  const [pod] = model.owned();
  if (pod === undefined) throw new Error("no pod was made");
  model.change(pod.name, { conditions: [], containerStatuses: [] });
  const plan = pass();
  t.same([...looked], [nodeOf(pod)]);
  t.match(plan.status, { desiredNumberScheduled: 100, numberAvailable: 99, numberUnavailable: 1 });
});

t.test("while thousands of nodes have no pod a pass looks at those alone that just got one", async (t) => {
  const { model, looked, pass } = watched(5000, { burstReplicas: 50 });
  pass();
  for (let count = 0; count < 10; count++) {
    const plan = pass();
    t.equal(plan.actions.filter(({ type }) => type === "create pod").length, 50);
    t.match(plan.status, { desiredNumberScheduled: 5000, currentNumberScheduled: 50 * count });
    const last = [...looked].filter((name) => Number(name.slice(1)) >= 50 * (count - 2));
    t.ok(looked.size <= 100, `${looked.size} of the 5000 nodes`);
    t.equal(last.length, looked.size, "they got their pod from the last two passes");
  }
  t.equal(model.owned().map(nodeOf).sort().at(-1), "n0499", "lowest names first");
});

t.test("a pass looks at as many nodes however many creations are in flight", async (t) => {
  for (const nodes of [200, 2000]) {
    const { model, looked, pass, send, kept } = watched(nodes, { burstReplicas: 10_000 });
    pass();
    t.equal(send().actions.length, nodes, "all creations are in flight");
    send();
    t.equal(model.writes.size, nodes);
    for (let count = 1; count <= 10; count++) {
      kept.answer();
      t.match(send().status, { desiredNumberScheduled: nodes, currentNumberScheduled: count });
      t.ok(looked.size <= 2, `${looked.size} of ${nodes} nodes`);
    }
    model.nodes.delete("n0100");
    t.match(send().status, { desiredNumberScheduled: nodes - 1 });
    t.ok(looked.size <= 2, `${looked.size} of ${nodes} nodes, one of which is gone`);
  }
});

t.test("a pass looks at as many nodes however many kubelets are at work on an update in place", async (t) => {
  const update = { rollingUpdateType: "InPlaceIfPossible", maxUnavailable: "50%", maxSurge: 0 } as const;
  for (const nodes of [20, 200]) {
    const spec = { updateStrategy: { type: "RollingUpdate", rollingUpdate: update } } as const;
    const { model, looked, pass, live } = watched(nodes, { ...spec, burstReplicas: 1000 });
    for (let count = 0; count < 20; count++) {
      pass();
      live();
    }
    t.match(model.set.status, { numberAvailable: nodes });
    changeTemplate(model, "image", 2);
    pass();
    t.equal(pass().actions.length, nodes / 2, "half of them are updated");
    for (let count = 0; count < 3; count++) pass();
    const [first] = model.owned().filter(({ containers }) => containers[0]?.image === "app:2");
    if (first === undefined) throw new Error("no pod was updated");
    model.kubelet(first.name);
    const plan = pass();
    t.same([...looked], [nodeOf(first)]);
    t.equal(plan.waiting.filter(({ reason }) => reason === "InPlace").length, nodes / 2 - 1, "those told of");
  }
});
