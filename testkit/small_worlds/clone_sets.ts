/** Small worlds of one CloneSet. Spec: cloneset 4.3 to 4.6. */
import { planCloneSet } from "../../controller/kinds/clone_set/plan.ts";
import { cloneSetState } from "../../controller/kinds/clone_set/state.ts";
import { SPECIFIED_DELETE } from "../../controller/rollout/pods/pod_state.ts";
import type { CloneSet } from "../../crds/index.ts";
import { cloneSet, defaultOptions, Model } from "../controller/clone_set_model.ts";
import {
  atRest,
  type Numbers,
  type RolledOutKind,
  type RolloutStage,
  type Scenario,
  stagesOf,
} from "./rollout_world.ts";

type Rolling = NonNullable<NonNullable<CloneSet["spec"]["updateStrategy"]>["rollingUpdate"]>;

const inPlace: Rolling = {
  podUpdatePolicy: "InPlaceIfPossible",
  maxUnavailable: 1,
  maxSurge: 0,
  partition: 0,
};
const recreated: Rolling = { ...inPlace, podUpdatePolicy: "ReCreate" };

export function cloneSetScenarios(replicas: number, mishaps: number): Scenario<CloneSet>[] {
  const { before, after } = stagesOf(replicas, stage);
  const surging = { ...recreated, maxUnavailable: 0, maxSurge: 1 };
  const two = { ...inPlace, maxUnavailable: 2 };
  const held = { ...inPlace, partition: 1 };
  return [
    scenario("in place", before(inPlace), after("a new image", inPlace)),
    scenario("in place, two at a time", before(two), after("a new image", two, { least: replicas - 2 })),
    scenario("recreated", before(recreated), after("a new image", recreated)),
    scenario(
      "with a surge",
      before(surging),
      after("a new image", surging, { least: replicas, most: replicas + 1 }),
    ),
    scenario(
      "held by its partition, then let go",
      before(inPlace),
      after("a new image", held, { mayBeNewest: replicas - 1 }),
      after("no partition", inPlace),
    ),
    scenario(
      "paused, then resumed",
      before(inPlace),
      // What somebody deletes comes back with the new image: a pause holds updates (rule 26).
      after("a new image", { ...inPlace, paused: true }, { mayBeNewest: mishaps }),
      after("resumed", inPlace),
    ),
    scenario(
      "undone",
      before(inPlace),
      after("a new image", inPlace),
      after("the old image", inPlace, { newest: "app:1" }),
    ),
    scenario(
      "scaled in and out",
      before(inPlace),
      stage("one less, and a new image", inPlace, {
        replicas: replicas - 1,
        newest: "app:2",
        least: replicas - 2,
        most: replicas,
        mayBeNewest: replicas - 1,
      }),
      after("one more", inPlace),
    ),
  ];
}

function scenario(name: string, ...stages: Scenario<CloneSet>["stages"]): Scenario<CloneSet> {
  return { name: `CloneSet ${name}`, kind: planned(), stages };
}

function planned(): RolledOutKind<CloneSet> {
  const model = new Model(cloneSet("app", { replicas: 0 }));
  return {
    model,
    namesMatter: false,
    // Rule 23: those that are marked to be deleted are not counted.
    isFree: (_, { deletionAt, labels }) => deletionAt === undefined && SPECIFIED_DELETE in labels,
    plan(inFlight, random) {
      const observed = model.observed(model.index(inFlight));
      return planCloneSet(cloneSetState({ observed, options: defaultOptions, now: model.now, random }));
    },
  };
}

function stage(name: string, rollingUpdate: Rolling, numbers: Numbers): RolloutStage<CloneSet> {
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
      if (status.replicas !== replicas || status.availableReplicas !== replicas)
        return `${status.availableReplicas} of ${status.replicas} replicas available in its status`;
      if (status.updatedAvailableReplicas !== mayBeNewest)
        return `${status.updatedAvailableReplicas} updated replicas in its status`;
      return atRest(pods, numbers);
    },
  };
}
