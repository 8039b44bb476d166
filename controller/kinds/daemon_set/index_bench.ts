/**
 * What one event costs a DaemonSet of many nodes: a pod that turns unready and ready again, with the plan after each;
 * one of a node while all nodes wait for their pod, or a tenth of them for a kubelet; and the answer to a creation while
 * thousands are in flight.
 * `npx node --expose-gc controller/kinds/daemon_set/index_bench.ts 5000`
 */
import type { Pod } from "../../../kube/index.ts";
import { daemonSet, defaultOptions, Model } from "../../../testkit/controller/daemon_set_model.ts";
import { printCost } from "../../../testkit/controller/event_cost.ts";
import { PlanMemory } from "../../rollout/plan_memory.ts";
import type { DaemonIndex } from "./classify.ts";
import { planDaemonSet } from "./plan.ts";
import { daemonSetState } from "./state.ts";

const nodes = Number(process.argv[2] ?? 5000);
const names = Array.from({ length: nodes }, (_, index) => `node-${String(index).padStart(5, "0")}`);
const model = new Model(daemonSet({ burstReplicas: nodes }), names);
const memory = new PlanMemory();

function planOf(index: DaemonIndex, model: Model) {
  const observed = model.observed(index);
  return planDaemonSet(
    daemonSetState({
      observed,
      options: defaultOptions,
      now: model.now,
      random: Math.random,
      explains: false,
      memory,
    }),
  );
}

function pass(index: DaemonIndex, model: Model): void {
  const plan = planOf(index, model);
  for (const action of plan.actions) model.perform(action);
  model.set = { ...model.set, status: plan.status };
}

function live(model: Model, rounds: number): void {
  for (let round = 0; round < rounds; round++) {
    pass(model.index(), model);
    for (const name of [...model.pods.keys()]) model.kubelet(name);
    model.now += 50;
  }
}

live(model, 10);
const [pod] = model.owned();
if (pod === undefined || model.set.status?.numberAvailable !== nodes)
  throw new Error("the set did not settle");
const unready: Pod = { ...pod, conditions: [], resourceVersion: "unready" };
const kept = model.index();
for (let round = 0; round < 3; round++) pass(kept, model);

let isReady = true;
function event(): void {
  kept.podChanged(isReady ? pod : unready, isReady ? unready : pod);
  isReady = !isReady;
}

printCost(`every node of ${nodes}`, 40, () => {
  event();
  pass(model.index(), model);
});
printCost("the node of the event", 400, () => {
  event();
  pass(kept, model);
});
const empty = new Model(daemonSet({ burstReplicas: 0 }), names);
const waiting = empty.index();
for (let round = 0; round < 3; round++) pass(waiting, empty);
printCost(`a node's, while ${nodes} have no pod`, 100, () => {
  waiting.touch("node-00000");
  pass(waiting, empty);
});

const burst = new Model(daemonSet({ burstReplicas: nodes }), names);
const bursting = burst.index();
pass(bursting, burst);
function send(): void {
  const plan = planOf(bursting, burst);
  for (const action of plan.actions) burst.writes.begin(action, burst.now);
  burst.set = { ...burst.set, status: plan.status };
}
send();
if (burst.writes.size !== nodes) throw new Error("the creations were not begun");
printCost(`the answer to one of up to ${nodes} creations in flight`, 100, () => {
  burst.writes.answer(0, (action) => {
    burst.perform(action);
    if (action.type === "create pod") bursting.podChanged(undefined, burst.pods.get(action.after.name));
  });
  send();
});

const rollingUpdate = { rollingUpdateType: "InPlaceIfPossible", maxUnavailable: "10%", maxSurge: 0 } as const;
const updateStrategy = { type: "RollingUpdate", rollingUpdate } as const;
const rolling = new Model(daemonSet({ burstReplicas: nodes, updateStrategy }), names);
live(rolling, 12);
rolling.changeSpec((spec) => {
  for (const container of spec.template.spec.containers) container.image = "app:2";
});
for (let round = 0; round < 2; round++) pass(rolling.index(), rolling);
const updating = rolling.index();
for (let round = 0; round < 3; round++) pass(updating, rolling);
const updated = rolling.owned().filter(({ containers }) => containers[0]?.image === "app:2");
printCost(`a node's, while ${updated.length} kubelets are at work on an update in place`, 300, () => {
  updating.touch("node-00000");
  pass(updating, rolling);
});
