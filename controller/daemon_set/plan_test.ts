/** Properties of DaemonSets that hold for random histories, crashes between any two writes included. */
import fc from "fast-check";
import t from "tap";
import type { DaemonSet } from "../../crds/index.ts";
import type { Action } from "../rollout/actions.ts";
import { STATE_LABEL } from "../rollout/lifecycle.ts";
import { nodeVerdicts } from "./eligibility.ts";
import { daemonSet, defaultOptions, foreignPod, Model, Refused } from "./model.ts";
import { isDaemonAvailable, nodeOf, REVISION_LABEL, strategyOf } from "./observe.ts";
import { planDaemonSet } from "./plan.ts";

const nodeNames = ["node-1", "node-2", "node-3", "node-4", "node-5"];
const HOOK = "hold";

function randomOf(seed: number): () => number {
  let state = seed;
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return state / 2 ** 32;
  };
}

function plan(model: Model, random: () => number) {
  model.failed.observe(model.set.status?.observedGeneration);
  const planned = planDaemonSet({ seen: model.seen(), options: defaultOptions, now: model.now, random });
  for (const node of planned.failedOn) model.failed.replaced(node);
  return planned;
}

function verdicts(model: Model): Map<string, string> {
  const verdict = nodeVerdicts(model.set.spec.template.spec);
  return new Map([...model.nodes.values()].map((node) => [node.name, verdict(node)]));
}

function strategy(model: Model) {
  const desired = [...verdicts(model).values()].filter((verdict) => verdict === "run").length;
  return strategyOf(model.set, desired);
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
  const judged = verdicts(model);
  const wanted = [...judged].filter(([, verdict]) => verdict === "run").map(([name]) => name);
  const node = action.type === "delete pod" || action.type === "patch pod" ? nodeOf(action.pod) : undefined;
  const released =
    "pod" in action && (action.pod.labels["app"] !== "app" || action.pod.controller === undefined);
  const alone =
    !released && node !== undefined && wanted.includes(node) && livingOn(model, node).length === 1;
  const wasUp = alone && isUp(model, node);
  if (action.type === "create pod") checkCreation(model, action, judged);
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
  judged: ReadonlyMap<string, string>,
): void {
  const node = nodeOf(action.after);
  const { surges, maxSurge } = strategy(model);
  if (judged.get(node) !== "run") throw new Error(`a pod for ${node}, which is ${judged.get(node)}`);
  if (!surges && podsOn(model, node).length > 0) throw new Error(`a second pod for ${node} without surge`);
  const living = livingOn(model, node);
  if (living.length > 1) throw new Error(`a third pod for ${node}`);
  if (living.length === 0 || !isUp(model, node)) return;
  const pairs = [...model.nodes.keys()].filter((name) => livingOn(model, name).length > 1);
  if (pairs.length >= maxSurge) throw new Error(`${node} beside ${pairs.join()}, maxSurge ${maxSurge}`);
}

/** Whoever hooked the deletion lets go. */
function releaseHooks(model: Model): boolean {
  let released = false;
  for (const pod of model.owned()) {
    if (pod.labels[STATE_LABEL] !== "PreparingDelete" || pod.labels[HOOK] !== "true") continue;
    const { [HOOK]: _, ...labels } = pod.labels;
    model.change(pod.name, { labels });
    released = true;
  }
  return released;
}

/** The server answers writes that are under way, the oldest first. */
function answerAll(model: Model): void {
  for (const action of model.inFlight.splice(0)) performChecked(model, action);
}

/** Runs plan, writes and kubelets without faults until nothing moves. */
function settle(model: Model, random: () => number, rounds = 900): void {
  answerAll(model);
  for (let round = 0; round < rounds; round++) {
    const { actions, status, wakeAfterMs } = plan(model, random);
    for (const action of actions) performChecked(model, action);
    model.set = { ...model.set, status };
    let moved = actions.some((action) => action.type !== "event");
    for (const name of [...model.pods.keys()]) if (model.kubelet(name)) moved = true;
    if (releaseHooks(model)) moved = true;
    if (!moved && wakeAfterMs === undefined) return;
    model.now += moved ? 50 : (wakeAfterMs ?? 50);
  }
  throw new Error(`nothing settled after ${rounds} rounds: ${JSON.stringify(plan(model, random).waiting)}`);
}

type RollingUpdate = NonNullable<NonNullable<DaemonSet["spec"]["updateStrategy"]>["rollingUpdate"]>;

const amount = fc.oneof(fc.integer({ min: 1, max: 4 }), fc.constantFrom("20%", "50%", "100%"));
const rolling: fc.Arbitrary<RollingUpdate> = fc
  .record({
    how: fc.constantFrom("unavailable", "unavailable", "surge", "in place"),
    amount,
    partition: fc.constantFrom(0, 0, 1, 3, "50%"),
    paused: fc.constantFrom(false, false, false, true),
    selected: fc.constantFrom(false, false, false, true),
  })
  .map(({ how, amount, partition, paused, selected }) => ({
    rollingUpdateType: how === "in place" ? "InPlaceIfPossible" : "Standard",
    maxUnavailable: how === "surge" ? 0 : amount,
    maxSurge: how === "surge" ? amount : 0,
    partition,
    paused,
    ...(selected ? { selector: { matchLabels: { color: "blue" } } } : {}),
  }));

const which = fc.nat(10);
const on = fc.constantFrom(...nodeNames);
const step = fc.oneof(
  {
    weight: 9,
    arbitrary: fc.record({
      do: fc.constant("reconcile" as const),
      fail: fc.integer({ min: 0, max: 7 }),
      stopAfter: fc.integer({ min: 1, max: 2 }),
    }),
  },
  { weight: 4, arbitrary: fc.record({ do: fc.constant("send" as const) }) },
  {
    weight: 4,
    arbitrary: fc.record({ do: fc.constant("answer" as const), last: fc.boolean() }),
  },
  { weight: 9, arbitrary: fc.record({ do: fc.constant("kubelet" as const), which }) },
  {
    weight: 2,
    arbitrary: fc.record({ do: fc.constant("image" as const), tag: fc.integer({ min: 1, max: 3 }) }),
  },
  {
    weight: 1,
    arbitrary: fc.record({ do: fc.constant("env" as const), tag: fc.integer({ min: 1, max: 3 }) }),
  },
  { weight: 2, arbitrary: fc.record({ do: fc.constant("strategy" as const), rolling }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant("on delete" as const) }) },
  {
    weight: 1,
    arbitrary: fc.record({
      do: fc.constant("taint" as const),
      on,
      effect: fc.constantFrom("", "NoSchedule", "NoExecute"),
    }),
  },
  {
    weight: 1,
    arbitrary: fc.record({ do: fc.constant("color" as const), on, color: fc.constantFrom("blue", "red") }),
  },
  { weight: 1, arbitrary: fc.record({ do: fc.constant("node gone" as const), on }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant("node back" as const), on }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant("unready" as const), which }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant("failed" as const), which }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant("delete" as const), which }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant("foreign" as const), on, number: fc.nat(3) }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant("release" as const), which }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant("hook" as const), which }) },
);
type Step = typeof step extends fc.Arbitrary<infer S> ? S : never;

function take(model: Model, action: Step, random: () => number): void {
  const names = [...model.pods.keys()];
  const pick = "which" in action ? names[action.which % Math.max(1, names.length)] : undefined;
  const pod = pick === undefined ? undefined : model.pods.get(pick);
  model.now += 20;
  // What changes the world while a write is under way cannot be blamed on the plan that sent it.
  if (!["send", "answer", "kubelet"].includes(action.do)) answerAll(model);
  switch (action.do) {
    case "reconcile":
      reconcile(model, random, action.fail, action.stopAfter);
      return;
    case "send":
      send(model, random);
      return;
    case "answer":
      answerOne(model, action.last);
      return;
    case "kubelet":
      if (pick !== undefined) model.kubelet(pick);
      return;
    case "image":
    case "env":
      changeTemplate(model, action.do, action.tag);
      return;
    case "strategy":
      model.changeSpec((spec) => {
        spec.updateStrategy = { type: "RollingUpdate", rollingUpdate: action.rolling };
      });
      return;
    case "on delete":
      model.changeSpec((spec) => {
        spec.updateStrategy = { type: "OnDelete" };
      });
      return;
    case "taint": {
      const taints = action.effect === "" ? [] : [{ key: "k", value: "", effect: action.effect }];
      if (model.nodes.has(action.on)) model.changeNode(action.on, { taints });
      return;
    }
    case "color":
      if (model.nodes.has(action.on)) model.changeNode(action.on, { labels: { color: action.color } });
      return;
    case "node gone":
      model.nodes.delete(action.on);
      return;
    case "node back":
      model.changeNode(action.on, {});
      return;
    case "foreign":
      if (!model.pods.has(`foreign-${action.number}`))
        model.place(foreignPod(`foreign-${action.number}`, action.on, { createdAt: model.now }));
      return;
    default:
      if (pod !== undefined) disturb(model, pod, action.do);
  }
}

/** Answers come in any order. */
function answerOne(model: Model, last: boolean): void {
  const action = last ? model.inFlight.pop() : model.inFlight.shift();
  if (action !== undefined) performChecked(model, action);
}

/** Starts the writes of a plan and does not wait for them; one pod has at most one write under way. */
function send(model: Model, random: () => number): void {
  const { busy } = model.seen();
  const planned = plan(model, random);
  for (const action of planned.actions) {
    if ("pod" in action && busy.has(action.pod.uid)) throw new Error(`${action.pod.name} is written twice`);
    if (action.type.endsWith(" pod")) model.inFlight.push(action);
    else performChecked(model, action);
  }
}

function reconcile(model: Model, random: () => number, fail: number, stopAfter: number): void {
  answerAll(model);
  const planned = plan(model, random);
  for (const [index, one] of planned.actions.entries()) {
    // The process dies in the middle of the list, perhaps in the middle of one pod's requests.
    if (fail > 0 && index === fail) {
      performChecked(model, one, stopAfter);
      return;
    }
    performChecked(model, one);
  }
  model.set = { ...model.set, status: planned.status };
}

function changeTemplate(model: Model, what: "image" | "env", tag: number): void {
  model.changeSpec((spec) => {
    for (const container of spec.template.spec.containers) {
      if (what === "image") container.image = `app:${tag}`;
      else container.env = [{ name: "A", value: `${tag}` }];
    }
  });
}

type Harm = "unready" | "failed" | "delete" | "release" | "hook";

function disturb(model: Model, pod: ReturnType<Model["owned"]>[number], what: Harm): void {
  switch (what) {
    case "unready":
      model.change(pod.name, {
        containerStatuses: pod.containerStatuses.map((status) => ({ ...status, ready: false })),
        conditions: pod.conditions.map((one) =>
          one.type === "Ready" || one.type === "ContainersReady"
            ? { ...one, status: "False", lastTransitionAt: model.now }
            : one,
        ),
      });
      return;
    case "failed":
      model.change(pod.name, { phase: "Failed", conditions: [] });
      return;
    case "delete":
      model.deletePod(pod.name);
      return;
    case "release":
      model.change(pod.name, { labels: { ...pod.labels, app: "other" } });
      return;
    case "hook":
      model.change(pod.name, { labels: { ...pod.labels, [HOOK]: "true" } });
  }
}

/** What the set comes to when nobody disturbs it any more. */
function checkSettled(model: Model): void {
  const judged = verdicts(model);
  const hash = model.set.status?.updateRevision;
  const { rolling, paused, partition, nodeSelector, desired } = strategy(model);
  let old = 0;
  for (const [name, verdict] of judged) {
    const pods = podsOn(model, name);
    if (verdict === "none" && pods.length > 0) throw new Error(`${name} still has ${pods.length} pods`);
    if (verdict === "keep" && pods.length > 1) throw new Error(`${name} keeps ${pods.length} pods`);
    if (verdict !== "run") continue;
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
      settle(model, random);
      for (const one of steps) take(model, one, random);
      settle(model, random);
      checkSettled(model);
    }),
    { seed: 20_261_121, numRuns: 600 },
  );
  t.pass("for all histories");
});

const slowStep = fc.oneof(
  { weight: 3, arbitrary: fc.record({ do: fc.constant("send" as const) }) },
  { weight: 3, arbitrary: fc.record({ do: fc.constant("answer" as const), last: fc.boolean() }) },
  { weight: 6, arbitrary: fc.record({ do: fc.constant("kubelet" as const), which }) },
);

t.test("property: budgets hold however late and in whatever order writes are answered", async (t) => {
  fc.assert(
    fc.property(fc.array(slowStep, { minLength: 40, maxLength: 150 }), rolling, (steps, first) => {
      const random = randomOf(steps.length);
      const model = new Model(
        daemonSet({ updateStrategy: { type: "RollingUpdate", rollingUpdate: { ...first, paused: false } } }),
        nodeNames,
      );
      settle(model, random);
      changeTemplate(model, "image", 2);
      for (const one of steps) take(model, one, random);
      settle(model, random);
      checkSettled(model);
    }),
    { seed: 20_261_121, numRuns: 300 },
  );
  t.pass("for all orders");
});
