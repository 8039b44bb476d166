/** Properties of DaemonSets that hold for random histories, crashes between any two writes included. */
import fc from "fast-check";
import t from "tap";
import type { DaemonSet } from "../../../crds/index.ts";
import type { Pod } from "../../../kube/index.ts";
import {
  type DaemonWorld,
  HOOK_FINALIZER,
  letGoStep,
  lifecycles,
  nodeNames,
  rolling,
  settleDaemons,
  slowStep,
  step,
  take,
} from "../../../testkit/controller/daemon_set_history.ts";
import { daemonSet, defaultOptions, Model, Refused } from "../../../testkit/controller/daemon_set_model.ts";
import { changeTemplate, HOOK, randomOf } from "../../../testkit/controller/workload_history.ts";
import { STATE_LABEL } from "../../rollout/lifecycle/lifecycle.ts";
import { nodeOf } from "../../rollout/pods/node_pods.ts";
import type { Action } from "../../rollout/writes/actions.ts";
import { nodeEligibility } from "./eligibility.ts";
import { planDaemonSet } from "./plan.ts";
import { daemonSetState } from "./state.ts";
import { daemonSetStrategyOf, isDaemonAvailable, REVISION_LABEL } from "./strategy.ts";

type Options = typeof defaultOptions;

function plan(model: Model, options: Options, random: () => number) {
  model.failed.observe(model.set.status?.observedGeneration);
  const planned = planDaemonSet(
    daemonSetState({ observed: model.observed(), options, now: model.now, random }),
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

/** One that is not selected any more is let go, and runs on. */
function podsOn(model: Model, node: string) {
  return model.owned().filter((pod) => nodeOf(pod) === node && pod.labels["app"] === "app");
}

function livingOn(model: Model, node: string) {
  return podsOn(model, node).filter((pod) => pod.deletionAt === undefined && pod.phase !== "Failed");
}

const isPreparing = ({ labels }: Pod) => labels[STATE_LABEL] === "PreparingDelete";

/** A lean update leaves the conditions as they are until its containers run. */
function runsItsImages({ containers, containerStatuses }: Pod): boolean {
  return containers.every(({ name, image }) =>
    containerStatuses.some((status) => status.name === name && status.image === image),
  );
}

function isUp(model: Model, node: string): boolean {
  const { minReadySeconds } = strategy(model);
  return livingOn(model, node).some(
    (pod) => isDaemonAvailable(pod, minReadySeconds, model.now) && runsItsImages(pod),
  );
}

/** What the rules of a write are asked with. `hash`: of the update revision. */
interface Asked {
  readonly model: Model;
  readonly options: Options;
  readonly hash: string;
}

/** Rules 25 and 26: the nodes that the rollout reaches. */
function reachedNodes({ model, options, hash }: Asked): string[] {
  const { partition, nodeSelector } = strategy(model);
  const byNode = eligibilities(model);
  const known = [...model.nodes.values()]
    .filter(({ name }) => {
      const isWanted = byNode.get(name) === "run";
      return isWanted || (!options.pruneIneligible && podsOn(model, name).length > 0);
    })
    .sort((a, b) => (a.name < b.name ? 1 : -1));
  const groups: string[][] = [[], [], []];
  for (const { name, labels } of known) {
    const living = livingOn(model, name);
    const old = living.filter((pod) => pod.labels[REVISION_LABEL] !== hash);
    if (old.length < living.length || living.length > 1) groups[0]?.push(name);
    else if (old.every(isPreparing)) groups[1]?.push(name);
    else if (nodeSelector?.matches(labels) ?? true) groups[2]?.push(name);
  }
  return groups.flat().slice(0, Math.max(0, known.length - partition));
}

/** Rule 27. */
function isOut(model: Model, node: string): boolean {
  const living = livingOn(model, node);
  return living.length !== 1 || living.some(isPreparing) || !isUp(model, node);
}

/** Rules that hold at every single write, whatever happened before. */
function performChecked(asked: Asked, action: Action, stopAfter?: number): void {
  const { model } = asked;
  const byNode = eligibilities(model);
  const node = action.type === "delete pod" || action.type === "patch pod" ? nodeOf(action.pod) : undefined;
  const isOwn = "pod" in action && action.pod.labels["app"] === "app" && action.pod.controller !== undefined;
  const isKept = node !== undefined && ["run", "keep"].includes(byNode.get(node) ?? "");
  const living = isOwn && isKept ? livingOn(model, node) : [];
  // One whose hook was asked goes when it lets go, whatever is asked for by then (rule 42).
  const wasUp = node !== undefined && living.length === 1 && !living.some(isPreparing) && isUp(model, node);
  const reached = reachedNodes(asked);
  if (action.type === "create pod") checkCreation(asked, action, byNode);
  try {
    model.perform(action, stopAfter);
  } catch (error) {
    if (error instanceof Refused) return;
    throw error;
  }
  if (!wasUp || !isOut(model, node)) return;
  const { rolling, paused, maxUnavailable, maxSurge } = strategy(model);
  if (!rolling || paused) throw new Error(`${action.type} took ${node} down while nothing may be updated`);
  if (maxSurge > 0) {
    // A pod without use on a node where no other is made.
    if (byNode.get(node) === "run")
      throw new Error(`${action.type} took ${node} down, although a surge was asked for`);
    return;
  }
  if (!reached.includes(node))
    throw new Error(`${action.type} took ${node} down, the rollout reaches ${reached.join()}`);
  const out = reached.filter((name) => isOut(model, name));
  if (out.length > maxUnavailable)
    throw new Error(`${action.type} left ${out.join()} out, maxUnavailable ${maxUnavailable}`);
}

function checkCreation(
  { model, hash }: Asked,
  action: Extract<Action, { type: "create pod" }>,
  byNode: ReadonlyMap<string, string>,
): void {
  const node = nodeOf(action.after);
  const { surges, maxSurge, partitionedScaling, desired, partition } = strategy(model);
  if (byNode.get(node) !== "run") throw new Error(`a pod for ${node}, which is ${byNode.get(node)}`);
  if (!surges && podsOn(model, node).length > 0) throw new Error(`a second pod for ${node} without surge`);
  const living = livingOn(model, node);
  if (living.length > 1) throw new Error(`a third pod for ${node}`);
  if (living.length === 0 && partitionedScaling) {
    const isUpdated = (name: string) =>
      podsOn(model, name).some((pod) => pod.deletionAt === undefined && pod.labels[REVISION_LABEL] === hash);
    const updated = [...byNode].filter(([name, each]) => each === "run" && isUpdated(name)).length;
    if (updated >= desired - partition)
      throw new Error(`a pod for ${node}: ${updated} of ${desired} have one, partition ${partition}`);
  }
  if (living.length === 0 || !isUp(model, node)) return;
  const pairs = [...model.nodes.keys()].filter((name) => livingOn(model, name).length > 1);
  if (pairs.length >= maxSurge) throw new Error(`${node} beside ${pairs.join()}, maxSurge ${maxSurge}`);
}

function worldOf(model: Model, random: () => number, options = defaultOptions): DaemonWorld {
  let hash = "";
  return {
    model,
    plan: () => {
      const planned = plan(model, options, random);
      hash = planned.status.updateRevision ?? "";
      const { burst } = strategy(model);
      for (const type of ["create pod", "delete pod"]) {
        const count = planned.actions.filter((action) => action.type === type).length;
        if (count > burst) throw new Error(`${count} times ${type} at once, burstReplicas ${burst}`);
      }
      return planned;
    },
    perform: (action, stopAfter) => performChecked({ model, options, hash }, action, stopAfter),
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
    const [pod] = pods;
    const isOld = pod?.labels[REVISION_LABEL] !== hash;
    old += Number(isOld);
    const image = model.set.spec.template.spec.containers[0]?.image;
    if (!isOld && pod?.containers[0]?.image !== image)
      throw new Error(`${name} runs ${pod?.containers[0]?.image}, not ${image}`);
  }
  const held = !rolling || paused || nodeSelector !== undefined;
  if (!held && old > partition) throw new Error(`${old} nodes are old, partition ${partition}`);
  for (const pod of model.pods.values()) {
    if (pod.controller === undefined && pod.labels["app"] === "app")
      throw new Error(`${pod.name} is an orphan`);
    if (isPreparing(pod) && model.nodes.has(nodeOf(pod))) throw new Error(`${pod.name} was let go and stays`);
  }
  const { status } = model.set;
  if (status?.desiredNumberScheduled !== desired || status.numberReady !== desired)
    throw new Error(`status says ${JSON.stringify(status)}, ${desired} nodes are wanted`);
  if (status.updatedNumberScheduled !== desired - old || (status.numberAvailable ?? 0) !== desired)
    throw new Error(`status says ${JSON.stringify(status)}, ${old} of ${desired} are old`);
}

/** Nothing holds the rollout back any more. */
function unblock(model: Model): void {
  model.changeSpec((spec) => {
    const { selector: _, ...before } = spec.updateStrategy?.rollingUpdate ?? {};
    spec.updateStrategy = {
      type: "RollingUpdate",
      rollingUpdate: { ...before, partition: 0, paused: false },
    };
    spec.burstReplicas = 1;
  });
}

/** As the webhook of pods has them, so that hooks can mark them. */
const template: DaemonSet["spec"]["template"] = {
  metadata: { labels: { app: "app" } },
  spec: {
    readinessGates: [{ conditionType: "KruisePodReady" }],
    containers: [{ name: "main", image: "app:1" }],
  },
};

const hookedTemplate: typeof template = {
  ...template,
  metadata: { labels: { app: "app", [HOOK]: "true" }, finalizers: [HOOK_FINALIZER] },
};

const given = fc.record({
  first: rolling,
  gates: fc.record({ pruneIneligible: fc.boolean(), assignByScheduler: fc.boolean() }),
  lean: fc.constantFrom("false", "true"),
  seed: fc.nat(),
});

t.test("property: one pod a node, budgets at every write, and in the end what was asked for", async (t) => {
  fc.assert(
    fc.property(fc.array(step, { maxLength: 60 }), given, (steps, { first, gates, lean, seed }) => {
      const set = daemonSet({
        updateStrategy: { type: "RollingUpdate", rollingUpdate: first },
        lifecycle: { preDelete: { labelsHandler: { [HOOK]: "true" } } },
        template,
      });
      const model = new Model(set, nodeNames.slice(0, 4));
      model.annotate({ "refit.dev/lean-rollout": lean });
      const world = worldOf(model, randomOf(seed), { ...defaultOptions, ...gates });
      settleDaemons(world);
      for (const one of steps) take(world, one);
      settleDaemons(world);
      const { burst, partitionedScaling } = strategy(model);
      if (burst > 0 && !partitionedScaling) checkSettled(model);
      unblock(model);
      settleDaemons(world);
      checkSettled(model);
    }),
    { seed: 20_261_121, numRuns: 1500 },
  );
  t.pass("for all histories");
});

const late = fc.record({
  minReadySeconds: fc.constantFrom(0, 0, 2),
  burstReplicas: fc.constantFrom(250, 2),
  lifecycle: fc.constantFrom(...lifecycles),
});

t.test("property: budgets hold however late and in whatever order writes are answered", async (t) => {
  const steps = fc.array(fc.oneof({ weight: 12, arbitrary: slowStep }, { weight: 1, arbitrary: letGoStep }), {
    minLength: 40,
    maxLength: 150,
  });
  fc.assert(
    fc.property(steps, given, late, (steps, { first, gates, lean, seed }, late) => {
      const set = daemonSet({
        updateStrategy: { type: "RollingUpdate", rollingUpdate: { ...first, paused: false } },
        template: hookedTemplate,
        ...late,
      });
      const model = new Model(set, nodeNames);
      model.annotate({ "refit.dev/lean-rollout": lean });
      const world = worldOf(model, randomOf(seed), { ...defaultOptions, ...gates });
      settleDaemons(world);
      changeTemplate(model, "image", 2);
      for (const one of steps) take(world, one);
      settleDaemons(world);
      checkSettled(model);
    }),
    { seed: 20_261_121, numRuns: 400 },
  );
  t.pass("for all orders");
});
