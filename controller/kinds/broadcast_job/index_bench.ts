/**
 * What one event costs a BroadcastJob of many nodes: a pod that restarts once more, with the plan after it.
 * `npx node --expose-gc controller/kinds/broadcast_job/index_bench.ts 5000`
 */
import type { Pod } from "../../../kube/index.ts";
import { broadcastJob, defaultOptions, Model } from "../../../testkit/controller/broadcast_job_model.ts";
import { printCost } from "../../../testkit/controller/event_cost.ts";
import type { TaskIndex } from "./classify.ts";
import { planBroadcastJob } from "./plan.ts";
import { broadcastJobState } from "./state.ts";

const nodes = Number(process.argv[2] ?? 5000);
const names = Array.from({ length: nodes }, (_, index) => `node-${String(index).padStart(5, "0")}`);
const model = new Model(broadcastJob(), names);

function pass(index: TaskIndex): void {
  const observed = model.observed(index);
  const plan = planBroadcastJob(
    broadcastJobState({
      observed,
      options: defaultOptions,
      now: model.now,
      random: Math.random,
      explains: false,
    }),
  );
  for (const action of plan.actions) model.perform(action);
  model.set = { ...model.set, status: plan.status };
}

for (let round = 0; round < 4; round++) {
  pass(model.index());
  for (const { name } of model.owned()) model.place(name);
}
const [pod] = model.owned();
if (pod === undefined || model.set.status?.active !== nodes) throw new Error("the job did not start");
const other: Pod = { ...pod, resourceVersion: "other" };
const kept = model.index();
for (let round = 0; round < 3; round++) pass(kept);

let isOther = false;
function event(): void {
  kept.podChanged(isOther ? other : pod, isOther ? pod : other);
  isOther = !isOther;
}

printCost(`every node of ${nodes}`, 40, () => {
  event();
  pass(model.index());
});
printCost("the node of the event", 400, () => {
  event();
  pass(kept);
});
