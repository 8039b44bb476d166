/** An index that is kept up from event to event leads to the same plans as one that looks at every node in each pass. */
import fc from "fast-check";
import t from "tap";
import {
  rolling,
  send,
  settleDaemons,
  slowStep,
  step,
  take,
} from "../../../testkit/controller/daemon_set_history.ts";
import { newTwin, options, planningOf, twinOf } from "../../../testkit/controller/daemon_set_index_model.ts";
import { daemonSet, Model } from "../../../testkit/controller/daemon_set_model.ts";
import { KeptIndex, lookedUp } from "../../../testkit/controller/pod_index_model.ts";
import { changeTemplate, makeUnready } from "../../../testkit/controller/workload_history.ts";
import { nodeOf } from "../../rollout/pods/node_pods.ts";

/** A set on many nodes, and the nodes that a pass looks at. */
function watched(nodes: number, spec: Parameters<typeof daemonSet>[0] = {}) {
  const names = Array.from({ length: nodes }, (_, index) => `n${String(index).padStart(4, "0")}`);
  const model = new Model(daemonSet(spec), names);
  const kept = new KeptIndex(planningOf(model, 1, false));
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
    pass();
    t.same([...looked], [nodeOf(first)]);
    const explained = new KeptIndex(planningOf(model, 1, true)).plan();
    t.equal(
      explained.waiting.filter(({ reason }) => reason === "InPlace").length,
      nodes / 2 - 1,
      "those reported",
    );
  }
});
