/** Small worlds of one DaemonSet. Spec: daemonset 4.3 to 4.6. */
import { planDaemonSet } from "../../controller/kinds/daemon_set/plan.ts";
import { daemonSetState } from "../../controller/kinds/daemon_set/state.ts";
import { nodeOf } from "../../controller/rollout/pods/node_pods.ts";
import type { DaemonSet } from "../../crds/index.ts";
import { daemonSet, defaultOptions, Model } from "../controller/daemon_set_model.ts";
import {
  atRest,
  type Numbers,
  type RolledOutKind,
  type RolloutStage,
  type Scenario,
  stagesOf,
} from "./rollout_world.ts";

type Rolling = NonNullable<NonNullable<DaemonSet["spec"]["updateStrategy"]>["rollingUpdate"]>;

const standard: Rolling = { rollingUpdateType: "Standard", maxUnavailable: 1, maxSurge: 0, partition: 0 };
const inPlace: Rolling = { ...standard, rollingUpdateType: "InPlaceIfPossible" };
const surging: Rolling = { ...standard, maxUnavailable: 0, maxSurge: 1 };

export function daemonSetScenarios(nodes: number, mishaps: number): Scenario<DaemonSet>[] {
  const { before, after } = stagesOf(nodes, stage);
  const two = { ...standard, maxUnavailable: 2 };
  const held = { ...standard, partition: 1 };
  return [
    scenario(nodes, "recreated", before(standard), after("a new image", standard)),
    scenario(nodes, "recreated, two at a time", before(two), after("a new image", two, { least: nodes - 2 })),
    scenario(nodes, "in place", before(inPlace), after("a new image", inPlace)),
    scenario(
      nodes,
      "with a surge",
      before(surging),
      after("a new image", surging, { least: nodes, most: nodes + 1 }),
    ),
    scenario(
      nodes,
      "held by its partition, then let go",
      before(standard),
      // Nodes that the partition holds use up no budget (rule 26); what somebody deletes comes back new (rule 31).
      after("a new image", held, { least: nodes - 2, mayBeNewest: nodes - 1 + mishaps }),
      after("no partition", standard),
    ),
    scenario(
      nodes,
      "paused, then resumed",
      before(standard),
      after("a new image", { ...standard, paused: true }, { mayBeNewest: mishaps }),
      after("resumed", standard),
    ),
    scenario(
      nodes,
      "undone",
      before(inPlace),
      after("a new image", inPlace),
      after("the old image", inPlace, { newest: "app:1" }),
    ),
  ];
}

function scenario(
  nodes: number,
  name: string,
  ...stages: Scenario<DaemonSet>["stages"]
): Scenario<DaemonSet> {
  return { name: `DaemonSet ${name}`, kind: planned(nodes), stages };
}

function planned(nodes: number): RolledOutKind<DaemonSet> {
  const names = Array.from({ length: nodes }, (_, at) => `node-${at + 1}`);
  const model = new Model(daemonSet(), names);
  return {
    model,
    namesMatter: false,
    placeOf: nodeOf,
    plan(inFlight, random) {
      model.writes.pods.clear();
      for (const [id, pod] of inFlight) model.writes.pods.set(id, pod);
      return planDaemonSet(
        daemonSetState({ observed: model.observed(), options: defaultOptions, now: model.now, random }),
      );
    },
  };
}

function stage(name: string, rollingUpdate: Rolling, numbers: Numbers): RolloutStage<DaemonSet> {
  const { replicas, newest, mayBeNewest } = numbers;
  return {
    name,
    ...numbers,
    change(spec) {
      spec.updateStrategy = { type: "RollingUpdate", rollingUpdate };
      for (const container of spec.template.spec.containers) container.image = newest;
    },
    unsettled(pods, { metadata, status }) {
      if (status === undefined) return "no status";
      if (status.observedGeneration !== metadata.generation)
        return `a status of generation ${status.observedGeneration}`;
      if (new Set(pods.map(nodeOf)).size !== pods.length) return "two pods on one node";
      if (status.numberAvailable !== replicas) return `${status.numberAvailable} available in its status`;
      if (status.updatedNumberScheduled !== mayBeNewest)
        return `${status.updatedNumberScheduled} updated pods in its status`;
      return atRest(pods, numbers);
    },
  };
}
