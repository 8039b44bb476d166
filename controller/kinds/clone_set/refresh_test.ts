import t from "tap";
import { cloneSet, defaultOptions, Model } from "../../../testkit/controller/clone_set_model.ts";
import { SPECIFIED_DELETE } from "../../rollout/pods/pod_state.ts";
import type { Plan } from "../../rollout/writes/actions.ts";
import { planCloneSet } from "./plan.ts";
import { cloneSetState } from "./state.ts";

let drawn = 0;

function plan(model: Model, options = defaultOptions): Plan<object> {
  return planCloneSet(
    cloneSetState({ observed: model.observed(), options, now: model.now, random: () => (drawn++ % 97) / 97 }),
  );
}

function pass(model: Model): number {
  const { actions } = plan(model);
  for (const action of actions) model.perform(action);
  return actions.filter((action) => action.type !== "event").length;
}

/** Two pods of which one is at the new image, and its node has not said so yet. */
function waitingForNode(): Model {
  const model = new Model(
    cloneSet("web", {
      replicas: 2,
      updateStrategy: { rollingUpdate: { podUpdatePolicy: "InPlaceIfPossible", maxUnavailable: 1 } },
    }),
  );
  for (let moved = true; moved; ) {
    moved = pass(model) > 0;
    for (const name of [...model.pods.keys()]) if (model.kubelet(name)) moved = true;
  }
  model.changeSpec((spec) => {
    spec.template = { ...spec.template, spec: { containers: [{ name: "main", image: "app:2" }] } };
  });
  while (pass(model) > 0);
  return model;
}

const waitsForNode = ({ waiting }: Plan<object>) => waiting.filter(({ reason }) => reason === "InPlace");

t.test("a pod that waits for its node is reported in every pass, until the node reports", async (t) => {
  const model = waitingForNode();
  const reported = waitsForNode(plan(model));
  const [name] = reported[0]?.pods ?? [];
  t.match(reported, [{ message: /^pod web-\w+: container main still runs its old image$/ }]);
  t.same(waitsForNode(plan(model)), reported);
  t.same(plan(model).actions, []);
  t.same(waitsForNode(plan(model, { ...defaultOptions, verticalScaling: true })), reported, "other options");
  if (name === undefined) throw new Error("no pod waits");
  model.kubelet(name);
  t.same(waitsForNode(plan(model)), []);
  t.match(plan(model).actions, [{ type: "patch pod", pod: { name }, concern: "refresh" }]);
});

t.test("a pod that waits for its node and lacks a gate of ours gets it at once", async (t) => {
  const model = waitingForNode();
  const [name] = waitsForNode(plan(model))[0]?.pods ?? [];
  if (name === undefined) throw new Error("no pod waits");
  const gates = [...(model.pods.get(name)?.readinessGates ?? []), "KruisePodReady"];
  model.change(name, { readinessGates: gates });
  t.match(plan(model).actions, [{ type: "patch pod", pod: { name } }]);
  t.match(
    plan(model).actions,
    [{ type: "patch pod", pod: { name } }],
    "and again, as long as it is not written",
  );
});

t.test("a pod that is to be deleted is not refreshed, and goes after others came into service", async (t) => {
  const model = new Model(cloneSet("web", { replicas: 2 }));
  while (pass(model) > 0);
  const aboutPods = () => plan(model).actions.filter(({ type }) => type !== "event");
  for (const { name } of model.owned()) model.change(name, { nodeName: "node" });
  t.match(aboutPods(), [{ concern: "refresh" }, { concern: "refresh" }], "their gates are due");
  const [pod] = model.owned();
  if (pod === undefined) throw new Error("no pod was made");
  model.change(pod.name, { labels: { ...pod.labels, [SPECIFIED_DELETE]: "true" } });
  t.match(aboutPods(), [{ concern: "refresh" }, { type: "delete pod", pod: { name: pod.name } }]);
  t.equal(aboutPods().length, 2);
});

t.test("time alone makes a ready pod available: the set is looked at again then", async (t) => {
  const model = new Model(cloneSet("web", { replicas: 1, minReadySeconds: 10 }));
  for (let moved = true; moved; ) {
    moved = pass(model) > 0;
    for (const name of [...model.pods.keys()]) if (model.kubelet(name)) moved = true;
  }
  const { requeueAfterMs = 0 } = plan(model);
  t.ok(requeueAfterMs > 0 && requeueAfterMs <= 10_000, `${requeueAfterMs} ms`);
  model.now += 20_000;
  t.equal(plan(model).requeueAfterMs, undefined);
});

t.test("nothing is updated in a pass that creates or deletes pods", async (t) => {
  for (const replicas of [2, 4]) {
    const model = new Model(
      cloneSet("web", {
        replicas: 3,
        updateStrategy: { rollingUpdate: { podUpdatePolicy: "InPlaceIfPossible", maxUnavailable: "100%" } },
      }),
    );
    for (let moved = true; moved; ) {
      moved = pass(model) > 0;
      for (const name of [...model.pods.keys()]) if (model.kubelet(name)) moved = true;
    }
    model.changeSpec((spec) => {
      spec.replicas = replicas;
      spec.template = { ...spec.template, spec: { containers: [{ name: "main", image: "app:2" }] } };
    });
    pass(model);
    const kindsOf = () =>
      new Set(plan(model).actions.flatMap(({ type }) => (type === "event" ? [] : [type])));
    t.same([...kindsOf()], [replicas === 4 ? "create pod" : "delete pod"], `${replicas} replicas`);
    pass(model);
    t.same([...kindsOf()], ["patch pod"]);
  }
});
