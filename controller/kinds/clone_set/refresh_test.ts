import t from "tap";
import { cloneSet, defaultOptions, Model } from "../../../testkit/controller/clone_set_model.ts";
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
  t.match(reported, [{ message: /waits for container main still runs its old image$/ }]);
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
