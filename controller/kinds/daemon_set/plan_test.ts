/** Properties of DaemonSets that hold for random histories, crashes between any two writes included. */
import fc from "fast-check";
import t from "tap";
import {
  type DaemonWorld,
  HOOK,
  nodeNames,
  rolling,
  settleDaemons,
  slowStep,
  step,
  take,
} from "../../../testkit/controller/daemon_set_history.ts";
import { daemonSet, defaultOptions, Model, Refused } from "../../../testkit/controller/daemon_set_model.ts";
import { changeTemplate, randomOf } from "../../../testkit/controller/workload_history.ts";
import { nodeOf } from "../../rollout/pods/node_pods.ts";
import type { Action } from "../../rollout/writes/actions.ts";
import { nodeEligibility } from "./eligibility.ts";
import { planDaemonSet } from "./plan.ts";
import { daemonSetState } from "./state.ts";
import { daemonSetStrategyOf, isDaemonAvailable, REVISION_LABEL } from "./strategy.ts";

function plan(model: Model, random: () => number) {
  model.failed.observe(model.set.status?.observedGeneration);
  const planned = planDaemonSet(
    daemonSetState({ observed: model.observed(), options: defaultOptions, now: model.now, random }),
  );
  for (const node of planned.failedOn) model.failed.replaced(node);
  return planned;
}

function eligibilities(model: Model): Map<string, string> {
  const eligibility = nodeEligibility(model.set.spec.template.spec);
  return new Map([...model.nodes.values()].map((node) => [node.name, eligibility(node)]));
}

function strategy(model: Model) {
  const desired = [...eligibilities(model).values()].filter((eligibility) => eligibility === "run").length;
  return daemonSetStrategyOf(model.set, desired);
}

function podsOn(model: Model, node: string) {
  return model.owned().filter((pod) => nodeOf(pod) === node);
}

function livingOn(model: Model, node: string) {
  return podsOn(model, node).filter((pod) => pod.deletionAt === undefined && pod.phase !== "Failed");
}

function isUp(model: Model, node: string): boolean {
  const { minReadySeconds } = strategy(model);
  return livingOn(model, node).some((pod) => isDaemonAvailable(pod, minReadySeconds, model.now));
}

/** Rules that hold at every single write, whatever happened before. */
function performChecked(model: Model, action: Action, stopAfter?: number): void {
  const byNode = eligibilities(model);
  const wanted = [...byNode].filter(([, eligibility]) => eligibility === "run").map(([name]) => name);
  const node = action.type === "delete pod" || action.type === "patch pod" ? nodeOf(action.pod) : undefined;
  const released =
    "pod" in action && (action.pod.labels["app"] !== "app" || action.pod.controller === undefined);
  const alone =
    !released && node !== undefined && wanted.includes(node) && livingOn(model, node).length === 1;
  const wasUp = alone && isUp(model, node);
  if (action.type === "create pod") checkCreation(model, action, byNode);
  try {
    model.perform(action, stopAfter);
  } catch (error) {
    if (error instanceof Refused) return;
    throw error;
  }
  if (!wasUp || node === undefined || isUp(model, node)) return;
  const { rolling, paused, maxUnavailable, maxSurge, partition, nodeSelector } = strategy(model);
  if (!rolling || paused) throw new Error(`${action.type} took ${node} down while nothing may be updated`);
  const down = wanted.filter((name) => !isUp(model, name));
  if (maxSurge > 0) throw new Error(`${action.type} took ${node} down, although a surge was asked for`);
  if (partition > 0 || nodeSelector !== undefined) return;
  if (down.length > maxUnavailable)
    throw new Error(`${action.type} left ${down.join()} down, maxUnavailable ${maxUnavailable}`);
}

function checkCreation(
  model: Model,
  action: Extract<Action, { type: "create pod" }>,
  byNode: ReadonlyMap<string, string>,
): void {
  const node = nodeOf(action.after);
  const { surges, maxSurge } = strategy(model);
  if (byNode.get(node) !== "run") throw new Error(`a pod for ${node}, which is ${byNode.get(node)}`);
  if (!surges && podsOn(model, node).length > 0) throw new Error(`a second pod for ${node} without surge`);
  const living = livingOn(model, node);
  if (living.length > 1) throw new Error(`a third pod for ${node}`);
  if (living.length === 0 || !isUp(model, node)) return;
  const pairs = [...model.nodes.keys()].filter((name) => livingOn(model, name).length > 1);
  if (pairs.length >= maxSurge) throw new Error(`${node} beside ${pairs.join()}, maxSurge ${maxSurge}`);
}

function worldOf(model: Model, random: () => number): DaemonWorld {
  return {
    model,
    plan: () => plan(model, random),
    perform: (action, stopAfter) => performChecked(model, action, stopAfter),
  };
}

/** What the set comes to when nobody disturbs it any more. */
function checkSettled(model: Model): void {
  const byNode = eligibilities(model);
  const hash = model.set.status?.updateRevision;
  const { rolling, paused, partition, nodeSelector, desired } = strategy(model);
  let old = 0;
  for (const [name, eligibility] of byNode) {
    const pods = podsOn(model, name);
    if (eligibility === "none" && pods.length > 0) throw new Error(`${name} still has ${pods.length} pods`);
    if (eligibility === "keep" && pods.length > 1) throw new Error(`${name} keeps ${pods.length} pods`);
    if (eligibility !== "run") continue;
    if (pods.length !== 1 || !isUp(model, name))
      throw new Error(`${name} has ${pods.length} pods, not one that is up`);
    old += Number(pods[0]?.labels[REVISION_LABEL] !== hash);
  }
  const held = !rolling || paused || nodeSelector !== undefined;
  if (!held && old > partition) throw new Error(`${old} nodes are old, partition ${partition}`);
  for (const pod of model.pods.values()) {
    if (pod.controller === undefined && pod.labels["app"] === "app")
      throw new Error(`${pod.name} is an orphan`);
  }
  const { status } = model.set;
  if (status?.desiredNumberScheduled !== desired || status.numberReady !== desired)
    throw new Error(`status says ${JSON.stringify(status)}, ${desired} nodes are wanted`);
  if (status.updatedNumberScheduled !== desired - old || (status.numberAvailable ?? 0) !== desired)
    throw new Error(`status says ${JSON.stringify(status)}, ${old} of ${desired} are old`);
}

t.test("property: one pod a node, budgets at every write, and in the end what was asked for", async (t) => {
  fc.assert(
    fc.property(fc.array(step, { maxLength: 60 }), rolling, fc.nat(), (steps, first, seed) => {
      const random = randomOf(seed);
      const model = new Model(
        daemonSet({
          updateStrategy: { type: "RollingUpdate", rollingUpdate: first },
          lifecycle: { preDelete: { labelsHandler: { [HOOK]: "true" } } },
        }),
        nodeNames.slice(0, 4),
      );
      const world = worldOf(model, random);
      settleDaemons(world);
      for (const one of steps) take(world, one);
      settleDaemons(world);
      checkSettled(model);
    }),
    { seed: 20_261_121, numRuns: 600 },
  );
  t.pass("for all histories");
});

t.test("property: budgets hold however late and in whatever order writes are answered", async (t) => {
  fc.assert(
    fc.property(fc.array(slowStep, { minLength: 40, maxLength: 150 }), rolling, (steps, first) => {
      const random = randomOf(steps.length);
      const model = new Model(
        daemonSet({ updateStrategy: { type: "RollingUpdate", rollingUpdate: { ...first, paused: false } } }),
        nodeNames,
      );
      const world = worldOf(model, random);
      settleDaemons(world);
      changeTemplate(model, "image", 2);
      for (const one of steps) take(world, one);
      settleDaemons(world);
      checkSettled(model);
    }),
    { seed: 20_261_121, numRuns: 300 },
  );
  t.pass("for all orders");
});
