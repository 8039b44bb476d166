/** Small worlds of one StatefulSet. Spec: statefulset 4.3 to 4.6. */
import { planStatefulSet } from "../../controller/kinds/stateful_set/plan.ts";
import { statefulSetState } from "../../controller/kinds/stateful_set/state.ts";
import type { StatefulSet } from "../../crds/index.ts";
import { noChance } from "../controller/no_chance.ts";
import { defaultOptions, Model, statefulSet } from "../controller/stateful_set_model.ts";
import {
  atRest,
  type Numbers,
  type RolledOutKind,
  type RolloutStage,
  type Scenario,
  stagesOf,
} from "./rollout_world.ts";

type Rolling = NonNullable<NonNullable<StatefulSet["spec"]["updateStrategy"]>["rollingUpdate"]>;
type Management = NonNullable<StatefulSet["spec"]["podManagementPolicy"]>;

const inPlace: Rolling = { podUpdatePolicy: "InPlaceIfPossible", maxUnavailable: 1, partition: 0 };
const recreated: Rolling = { ...inPlace, podUpdatePolicy: "ReCreate" };

export function statefulSetScenarios(replicas: number, mishaps: number): Scenario<StatefulSet>[] {
  const { before, after } = stagesOf(replicas, stage);
  const two = { ...inPlace, maxUnavailable: 2 };
  const held = { ...inPlace, partition: 1 };
  const fewer = stage("one less, and a new image", inPlace, {
    replicas: replicas - 1,
    newest: "app:2",
    least: replicas - 2,
    most: replicas,
    mayBeNewest: replicas - 1,
  });
  return [
    scenario("in place", "OrderedReady", before(inPlace), after("a new image", inPlace)),
    scenario(
      "in place, two at a time",
      "Parallel",
      before(two),
      after("a new image", two, { least: replicas - 2 }),
    ),
    scenario("recreated", "OrderedReady", before(recreated), after("a new image", recreated)),
    scenario(
      "held by its partition, then let go",
      "OrderedReady",
      before(inPlace),
      after("a new image", held, { mayBeNewest: replicas - 1 }),
      after("no partition", inPlace),
    ),
    scenario(
      "paused, then resumed",
      "Parallel",
      before(inPlace),
      after("a new image", { ...inPlace, paused: true }, { mayBeNewest: mishaps }),
      after("resumed", inPlace),
    ),
    scenario(
      "undone",
      "OrderedReady",
      before(inPlace),
      after("a new image", inPlace),
      after("the old image", inPlace, { newest: "app:1" }),
    ),
    scenario("scaled in and out", "OrderedReady", before(inPlace), fewer, after("one more", inPlace)),
    scenario("scaled in and out at once", "Parallel", before(inPlace), fewer, after("one more", inPlace)),
  ];
}

function scenario(
  name: string,
  podManagementPolicy: Management,
  ...stages: Scenario<StatefulSet>["stages"]
): Scenario<StatefulSet> {
  return { name: `StatefulSet ${name}`, kind: planned(podManagementPolicy), stages };
}

function planned(podManagementPolicy: Management): RolledOutKind<StatefulSet> {
  const model = new Model(statefulSet("app", { replicas: 0, podManagementPolicy }));
  return {
    model,
    namesMatter: true,
    plan(inFlight) {
      const observed = model.observed(model.index(inFlight));
      const { now } = model;
      return planStatefulSet(statefulSetState({ observed, options: defaultOptions, now, random: noChance }));
    },
  };
}

function stage(name: string, rollingUpdate: Rolling, numbers: Numbers): RolloutStage<StatefulSet> {
  const { replicas, newest, mayBeNewest } = numbers;
  return {
    name,
    ...numbers,
    change(spec) {
      spec.replicas = replicas;
      spec.updateStrategy = { type: "RollingUpdate", rollingUpdate };
      for (const container of spec.template.spec.containers) container.image = newest;
    },
    unsettled(pods, { metadata, status }) {
      if (status === undefined) return "no status";
      if (status.observedGeneration !== metadata.generation)
        return `a status of generation ${status.observedGeneration}`;
      const expected = Array.from({ length: replicas }, (_, ordinal) => `app-${ordinal}`).join();
      const names = pods
        .map(({ name }) => name)
        .sort()
        .join();
      if (names !== expected) return `the pods ${names}, not ${expected}`;
      if (status.replicas !== replicas || status.availableReplicas !== replicas)
        return `${status.availableReplicas} of ${status.replicas} replicas available in its status`;
      if (status.updatedReplicas !== mayBeNewest)
        return `${status.updatedReplicas} updated replicas in its status`;
      return atRest(pods, numbers);
    },
  };
}
