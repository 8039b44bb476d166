/** A pod that its workload's selector does not match any more is let go, and counts no more from then on: of every kind. */
import t from "tap";
import type { Pod } from "../kube/index.ts";
import * as cloneSets from "../testkit/controller/clone_set_model.ts";
import * as daemonSets from "../testkit/controller/daemon_set_model.ts";
import * as statefulSets from "../testkit/controller/stateful_set_model.ts";
import { randomOf } from "../testkit/controller/workload_history.ts";
import { planCloneSet } from "./kinds/clone_set/plan.ts";
import { cloneSetState } from "./kinds/clone_set/state.ts";
import { planDaemonSet } from "./kinds/daemon_set/plan.ts";
import { daemonSetState } from "./kinds/daemon_set/state.ts";
import { planStatefulSet } from "./kinds/stateful_set/plan.ts";
import { statefulSetState } from "./kinds/stateful_set/state.ts";
import type { Action } from "./rollout/writes/actions.ts";

interface Workload {
  readonly model: {
    readonly pods: Map<string, Pod>;
    perform(action: Action): void;
    kubelet(name: string): boolean;
    now: number;
  };
  plan(): { readonly actions: readonly Action[]; readonly status: object };
}

const random = randomOf(29);

function cloneSet(): Workload {
  const model = new cloneSets.Model(cloneSets.cloneSet("app"));
  const options = cloneSets.defaultOptions;
  const plan = () =>
    planCloneSet(cloneSetState({ observed: model.observed(), options, now: model.now, random }));
  return { model, plan };
}

function statefulSet(): Workload {
  const model = new statefulSets.Model(statefulSets.statefulSet("app"));
  const options = statefulSets.defaultOptions;
  const plan = () =>
    planStatefulSet(statefulSetState({ observed: model.observed(), options, now: model.now, random }));
  return { model, plan };
}

function daemonSet(): Workload {
  const model = new daemonSets.Model(daemonSets.daemonSet(), ["node-1", "node-2", "node-3"]);
  const options = daemonSets.defaultOptions;
  const plan = () =>
    planDaemonSet(daemonSetState({ observed: model.observed(), options, now: model.now, random }));
  return { model, plan };
}

function settle({ model, plan }: Workload): void {
  for (let round = 0; round < 50; round++) {
    for (const action of plan().actions) model.perform(action);
    for (const name of [...model.pods.keys()]) model.kubelet(name);
    model.now += 50;
  }
}

const counts = (pods: number) => ({ readyReplicas: pods, availableReplicas: pods, updatedReplicas: pods });
const workloads = {
  // Spec: cloneset, rule 1.
  CloneSet: { made: cloneSet, before: counts(3), after: counts(2) },
  // Spec: statefulset, rule 6.
  StatefulSet: {
    made: statefulSet,
    before: { ...counts(3), currentReplicas: 3 },
    after: { ...counts(2), currentReplicas: 2 },
  },
  // Spec: daemonset, rule 15.
  DaemonSet: {
    made: daemonSet,
    before: { numberReady: 3, numberAvailable: 3, updatedNumberScheduled: 3, currentNumberScheduled: 3 },
    after: { numberReady: 2, numberAvailable: 2, updatedNumberScheduled: 2, currentNumberScheduled: 2 },
  },
};

for (const [kind, { made, before, after }] of Object.entries(workloads))
  t.test(`${kind}: the pass that lets a pod go counts it no more`, async (t) => {
    const workload = made();
    const { model } = workload;
    settle(workload);
    t.match(workload.plan(), { actions: [], status: before });
    const [name, pod] = [...model.pods][0] ?? [];
    if (name === undefined || pod === undefined) throw new Error("there are no pods");
    model.pods.set(name, { ...pod, labels: { ...pod.labels, app: "other" } });
    const { actions, status } = workload.plan();
    t.ok(
      actions.some((action) => action.type === "patch pod" && action.pod.name === name),
      "it is let go",
    );
    t.match(status, after);
    settle(workload);
    t.equal(model.pods.get(name)?.controller, undefined);
  });
