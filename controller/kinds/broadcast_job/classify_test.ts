/** An index that is kept up from event to event leads to the same plans as one that is made again for each pass. */
import fc from "fast-check";
import t from "tap";
import {
  broadcastJob,
  counting,
  defaultOptions,
  Model,
  node,
} from "../../../testkit/controller/broadcast_job_model.ts";
import { LateWrites } from "../../../testkit/controller/late_writes_model.ts";
import { IndexTwin, KeptIndex, lookedUp } from "../../../testkit/controller/pod_index_model.ts";
import { lateStep, takeLate } from "../../../testkit/controller/workload_history.ts";
import { nodeOf } from "../../rollout/pods/node_pods.ts";
import type { TaskIndex } from "./classify.ts";
import { planBroadcastJob } from "./plan.ts";
import { broadcastJobState } from "./state.ts";

/** `explains`: whether plans say what they wait for, which a reconciler does not ask. */
function planningOf(model: Model, writes: LateWrites, explains: boolean) {
  return {
    model,
    writes,
    byGeneration: true,
    index: () => model.index(writes.pods),
    plan: (index: TaskIndex) => {
      const isTaken = (name: string): boolean => model.pods.has(name) || writes.pods.has(`in-flight/${name}`);
      const observed = { ...model.observed(index), isTaken };
      return planBroadcastJob(
        broadcastJobState({
          observed,
          options: defaultOptions,
          now: model.now,
          random: counting(),
          explains,
        }),
      );
    },
  };
}

const twinOf = (model: Model) => new IndexTwin(planningOf(model, new LateWrites(), true));
type Twin = ReturnType<typeof twinOf>;

const act = <Name extends string>(name: Name) => fc.constant(name);
const step = fc.oneof(
  { weight: 6, arbitrary: fc.record({ do: act("pass") }) },
  { weight: 10, arbitrary: lateStep },
  { weight: 4, arbitrary: fc.record({ do: act("place"), which: fc.nat(9) }) },
  { weight: 2, arbitrary: fc.record({ do: act("end"), which: fc.nat(9), fails: fc.boolean() }) },
  fc.record({ do: act("delete"), which: fc.nat(9) }),
  fc.record({ do: act("vanish"), which: fc.nat(9) }),
  fc.record({ do: act("restart"), which: fc.nat(9) }),
  fc.record({ do: act("copy"), which: fc.nat(9) }),
  fc.record({
    do: act("node"),
    which: fc.nat(7),
    change: fc.constantFrom("join", "leave", "cordon", "free"),
  }),
  fc.record({ do: act("edit"), parallelism: fc.integer({ min: 0, max: 6 }), paused: fc.boolean() }),
);
type Step = typeof step extends fc.Arbitrary<infer S> ? S : never;

function take(twin: Twin, each: Step): void {
  const { model } = twin;
  model.now += 1000;
  if ("late" in each) takeLate(twin.writes, each, (action) => twin.perform(action));
  else if (each.do === "pass") twin.send();
  else if (each.do === "node") changeNode(model, `n${each.which}`, each.change);
  else if (each.do === "edit") {
    const { parallelism, paused } = each;
    // What is not on its way to the server is withdrawn with the spec that wanted it.
    twin.writes.withdraw(2);
    model.changeSpec((spec) => Object.assign(spec, { parallelism, paused }));
  } else changePod(model, each);
}

function changeNode(model: Model, name: string, change: string): void {
  if (change === "leave") model.nodes.delete(name);
  else if (change === "join") model.changeNode(name, node(name));
  else model.changeNode(name, { unschedulable: change === "cordon" });
}

function changePod(model: Model, each: Extract<Step, { which: number }>): void {
  const pods = model.owned();
  const pod = pods[each.which % Math.max(1, pods.length)];
  if (pod === undefined) return;
  if (each.do === "place") model.place(pod.name);
  else if (each.do === "end" && pod.phase === "Running")
    model.end(pod.name, each.fails ? "Failed" : "Succeeded");
  else if (each.do === "delete") model.deletePod(pod.name);
  else if (each.do === "vanish") model.pods.delete(pod.name);
  else if (each.do === "restart") model.restart(pod.name, 1);
  else if (each.do === "copy") {
    const name = `${pod.name}-copy`;
    model.pods.set(name, { ...pod, name, uid: `copy-of-${pod.uid}`, createdAt: model.now });
  }
}

t.test("property: from event to event the same plans as from nothing", async (t) => {
  let plans = 0;
  const property = fc.property(
    fc.array(step, { minLength: 20, maxLength: 120 }),
    fc.constantFrom("Continue", "Pause", "FailFast"),
    fc.constantFrom("Never", "OnFailure"),
    (steps, type, restartPolicy) => {
      const spec = { failurePolicy: { type, restartLimit: 1 }, completionPolicy: { type: "Never" } };
      const twin = twinOf(new Model(broadcastJob(spec, { restartPolicy }), ["n0", "n1", "n2", "n3", "n4"]));
      for (const each of steps) take(twin, each);
      twin.writes.arriveLate((action) => twin.perform(action));
      twin.send();
      plans += twin.plans;
    },
  );
  fc.assert(property, { seed: 20_261_121, numRuns: 700 });
  t.ok(plans > 4000, `${plans} plans`);
});

t.test("no pod is made in place of one whose deletion is not answered", async (t) => {
  const model = new Model(broadcastJob({ parallelism: 1 }), ["n0", "n1"]);
  const { kept, writes } = begun(model);
  const [pod] = model.owned();
  if (pod === undefined) throw new Error("no pod was made");
  model.changeNode(nodeOf(pod), { unschedulable: true });
  t.match(kept.send().actions, [{ type: "delete pod" }]);
  t.same(kept.send().actions, [], "it may be stored before that");
  writes.arrive(0, (action) => kept.perform(action));
  t.match(kept.send().actions, [{ type: "create pod" }], "the pod shows that it goes");
});

/** Its first pods are made, and run. */
function begun(model: Model) {
  const writes = new LateWrites();
  const kept = new KeptIndex(planningOf(model, writes, false));
  for (let count = 0; count < 5; count++) {
    kept.send();
    while (writes.size > 0) kept.answer();
    for (const { name } of model.owned()) model.place(name);
  }
  return { kept, writes };
}

/** A job on many nodes, and the nodes that a pass looks at. */
function watched(nodes: number) {
  const names = Array.from({ length: nodes }, (_, index) => `n${String(index).padStart(4, "0")}`);
  const model = new Model(broadcastJob(), names);
  const kept = new KeptIndex(planningOf(model, new LateWrites(), false));
  const looked = lookedUp(model.nodes);
  const send = () => {
    looked.clear();
    return kept.send();
  };
  return { kept, model, looked, send, writes: kept.writes };
}

t.test("once all pods run a pass looks at no node, and after an event at one", async (t) => {
  const { model, writes, looked, send, kept } = watched(100);
  for (let count = 0; count < 5; count++) {
    send();
    while (writes.size > 0) kept.answer();
    for (const { name } of model.owned()) model.place(name);
  }
  t.equal(model.row(), "100 100 0 0");
  send();
  send();
  t.same([...looked], []);
  const [pod] = model.owned();
  if (pod === undefined) throw new Error("no pod was made");
  model.end(pod.name, "Succeeded");
  send();
  t.same([...looked], [nodeOf(pod)]);
  t.equal(model.row(), "100 99 1 0");
});

t.test("a pass looks at as many nodes however many creations are in flight", async (t) => {
  for (const nodes of [200, 2000]) {
    const { kept, writes, looked, send } = watched(nodes);
    t.equal(send().actions.length, nodes, "all creations are in flight");
    send();
    t.equal(writes.size, nodes);
    for (let count = 1; count <= 10; count++) {
      kept.answer();
      t.match(send().status, { desired: nodes, active: count });
      t.ok(looked.size <= 2, `${looked.size} of ${nodes} nodes`);
    }
  }
});
