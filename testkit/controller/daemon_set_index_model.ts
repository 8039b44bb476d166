/** Indexes of one DaemonSet's nodes, kept up and made from nothing. */
import fc from "fast-check";
import {
  type DaemonContext,
  DaemonIndex,
  type DaemonView,
  newGroups,
} from "../../controller/kinds/daemon_set/classify.ts";
import { planDaemonSet } from "../../controller/kinds/daemon_set/plan.ts";
import { daemonSetState } from "../../controller/kinds/daemon_set/state.ts";
import { PlanMemory } from "../../controller/rollout/plan_memory.ts";
import { nodeNames, type rolling } from "./daemon_set_history.ts";
import { daemonSet, defaultOptions, Model } from "./daemon_set_model.ts";
import { IndexTwin, withoutBrokenStates } from "./pod_index_model.ts";
import { HOOK, randomOf } from "./workload_history.ts";

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
      pods: () => view.pods(),
    };
  }
}

/** `explains`: whether plans say what they wait for, which a reconciler does not ask. */
export function planningOf(model: Model, seed: number, explains: boolean) {
  const memory = new PlanMemory();
  return {
    model,
    writes: model.writes,
    byGeneration: true,
    index: () => model.index(),
    looking: () => model.index(LookingIndex),
    plan: (index: DaemonIndex, nth: number, fresh: boolean) => {
      model.failed.observe(model.set.status?.observedGeneration);
      const plan = planDaemonSet(
        daemonSetState({
          options: defaultOptions,
          now: model.now,
          observed: model.observed(index),
          random: randomOf(seed + nth),
          explains,
          ...(fresh ? {} : { memory }),
        }),
      );
      if (fresh) for (const name of plan.failedOn) model.failed.replaced(name);
      return plan;
    },
  };
}
export const newTwin = (model: Model, seed: number) =>
  new IndexTwin(planningOf(model, seed, true), withoutBrokenStates);
export type Twin = ReturnType<typeof newTwin>;

export const options = fc.record({
  minReadySeconds: fc.constantFrom(0, 0, 1),
  hooked: fc.boolean(),
  partitionedScaling: fc.boolean(),
  burstReplicas: fc.constantFrom(250, 2),
  nodes: fc.constantFrom(4, 5, 30),
});
type Options = typeof options extends fc.Arbitrary<infer O> ? O : never;
type First = typeof rolling extends fc.Arbitrary<infer R> ? R : never;

export function twinOf(first: First, more: Options, seed: number): Twin {
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
