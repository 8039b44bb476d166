/** Which pods a pass updates, and the status, against a plain reading of the rules, which shares no code with the plan. Spec: sidecarset 29 to 35. */
import fc from "fast-check";
import t from "tap";
import type { SidecarSet } from "../../../crds/index.ts";
import type { Pod } from "../../../kube/index.ts";
import { noChance } from "../../../testkit/controller/no_chance.ts";
import { injectedPod, SidecarModel, sidecarSetOf } from "../../../testkit/controller/sidecar_set_model.ts";
import { planSidecarSet } from "./plan.ts";
import { sidecarSetState } from "./state.ts";

const given = fc.record({
  has: fc.constantFrom("old", "old", "old", "old", "new", "other"),
  injected: fc.constantFrom(true, true, true, true, true, true, true, false),
  ready: fc.constantFrom(true, true, true, false),
  /** The node has not told of every container. */
  reported: fc.constantFrom(true, true, true, true, true, false),
  phase: fc.constantFrom("Running", "Running", "Running", "Running", "Pending", "Failed"),
  terminating: fc.constantFrom(false, false, false, false, false, true),
  scheduled: fc.constantFrom(true, true, true, true, false),
  since: fc.integer({ min: 0, max: 2 }),
  restarts: fc.integer({ min: 0, max: 1 }),
  age: fc.integer({ min: 0, max: 2 }),
  labels: fc.record(
    {
      canary: fc.constant("true"),
      zone: fc.constantFrom("a", "b"),
      order: fc.constantFrom("n-1", "n-10", "n-9", "x"),
    },
    { requiredKeys: [] },
  ),
});
/** Only pods that run are ready. */
const serves = ({ ready, phase }: Given) => ready && phase === "Running";

type Given = typeof given extends fc.Arbitrary<infer G> ? G : never;

const portion = fc.constantFrom<number | string>(0, 1, 2, 5, 100, "0%", "1%", "20%", "50%", "99%", "100%");
const canaries = { matchLabels: { canary: "true" } };
type Strategy = NonNullable<SidecarSet["spec"]["updateStrategy"]>;
const strategies: fc.Arbitrary<Strategy> = fc.record(
  {
    type: fc.constantFrom(
      "RollingUpdate",
      "RollingUpdate",
      "RollingUpdate",
      "RollingUpdate",
      "Other",
      "NotUpdate",
    ),
    paused: fc.constantFrom(false, false, false, true),
    partition: portion,
    maxUnavailable: portion,
    selector: fc.constant(canaries),
    priorityStrategy: fc.constantFrom<NonNullable<Strategy["priorityStrategy"]>>(
      {
        weightPriority: [
          { weight: 10, matchSelector: canaries },
          { weight: 5, matchSelector: { matchLabels: { zone: "a" } } },
        ],
      },
      { orderPriority: [{ orderedKey: "order" }] },
      { orderPriority: [{ orderedKey: "zone" }, { orderedKey: "order" }] },
    ),
    scatterStrategy: fc.constantFrom<NonNullable<Strategy["scatterStrategy"]>>(
      [{ key: "zone", value: "a" }],
      [
        { key: "zone", value: "*" },
        { key: "canary", value: "true" },
      ],
    ),
  },
  { requiredKeys: [] },
);
const names = (index: number) => `pod-${String(index).padStart(2, "0")}`;
const setOf = (tag: number, env: string, updateStrategy: Strategy = {}) =>
  sidecarSetOf({
    containers: [{ name: "side", image: `side:${tag}`, env: [{ name: "A", value: env }] }],
    updateStrategy,
  });

function podOf(one: Given, index: number): Pod {
  const set = one.has === "new" ? setOf(2, "x") : one.has === "old" ? setOf(1, "x") : setOf(1, "y");
  const pod = injectedPod(set, names(index));
  const ready = serves(one);
  const status = ready ? "True" : "False";
  const statuses = pod.containers.map(({ name, image }) => {
    const restartCount = name === "side" ? one.restarts : 0;
    return { name, image, imageID: `id-of-${image}`, containerID: "c", ready, restartCount };
  });
  return {
    ...pod,
    labels: { app: "app", ...one.labels },
    annotations: one.injected ? pod.annotations : {},
    phase: one.phase,
    nodeName: one.scheduled ? "node" : "",
    createdAt: 1_000 - one.age,
    deletionAt: one.terminating ? 1 : undefined,
    conditions: [{ type: "Ready", status, reason: "", message: "", lastTransitionAt: 1_000 + one.since }],
    containerStatuses: one.reported ? statuses : statuses.slice(1),
  };
}

interface Member extends Given {
  readonly name: string;
  readonly serves: boolean;
}

/** Rule 33. */
function ordered(all: readonly Member[], { priorityStrategy }: Strategy): Member[] {
  const phases = ["Pending", "Unknown", "Running"];
  const base = [...all].sort(
    (a, b) =>
      Number(a.scheduled) - Number(b.scheduled) ||
      phases.indexOf(a.phase) - phases.indexOf(b.phase) ||
      Number(a.serves) - Number(b.serves) ||
      (a.serves && b.serves ? b.since - a.since : 0) ||
      b.restarts - a.restarts ||
      a.age - b.age ||
      (a.name < b.name ? -1 : 1),
  );
  if (priorityStrategy === undefined) return base;
  if (priorityStrategy.weightPriority !== undefined) {
    const weight = ({ labels }: Member) =>
      (labels.canary === "true" ? 10 : 0) + (labels.zone === "a" ? 5 : 0);
    return base.sort((a, b) => weight(b) - weight(a));
  }
  const keys = (priorityStrategy.orderPriority ?? []).map(({ orderedKey }) => orderedKey);
  const place = ({ labels }: Member): [number, number] => {
    const entries = Object.entries(labels);
    const at = keys.findIndex((key) => Object.keys(labels).includes(key));
    const value = entries.find(([name]) => name === keys[at])?.[1] ?? "";
    return [at, Number(/\d*$/.exec(value)?.[0] || 0)];
  };
  return base.sort((a, b) => place(a)[0] - place(b)[0] || place(b)[1] - place(a)[1]);
}

/** Rule 34, for one term. */
function spread(list: readonly Member[], all: readonly Member[], key: string, value: string): Member[] {
  const isOf = ({ labels }: Member) =>
    Object.entries(labels).some(([name, each]) => name === key && each === value);
  const [matched, others] = [list.filter(isOf), list.filter((one) => !isOf(one))];
  if (matched.length <= 1 || others.length <= 1) return [...list];
  const last = matched.pop();
  const [m, u] = [matched.length, others.length];
  let groups = Math.min(m, u);
  let [ofMatched, ofOthers] = [Math.round(m / groups), Math.round(u / groups)];
  let first = 0;
  const [allMatched, allOthers] = [all.filter(isOf).length - 1, all.filter((one) => !isOf(one)).length];
  if (allOthers / allMatched < u / m) {
    const overall = Math.min(allMatched, allOthers);
    [ofMatched, ofOthers] = [Math.round(allMatched / overall), Math.round(allOthers / overall)];
    groups = Math.min(Math.floor(m / ofMatched), Math.floor(u / ofOthers));
    first = Math.max(0, u - groups * ofOthers);
  }
  const order = others.splice(0, first);
  for (let group = 0; group < groups; group++)
    order.push(...matched.splice(0, ofMatched), ...others.splice(0, ofOthers));
  return [...order, ...matched, ...others, ...(last === undefined ? [] : [last])];
}

function scattered(
  list: readonly Member[],
  all: readonly Member[],
  { scatterStrategy = [] }: Strategy,
): Member[] {
  const values = [...new Set(all.flatMap(({ labels }) => labels.zone ?? []))].sort();
  const terms = scatterStrategy.flatMap(({ key, value }) =>
    (value === "*" ? values : [value]).map((each): [string, string] => [key, each]),
  );
  const count = ([key, value]: [string, string]) =>
    list.filter(({ labels }) => Object.entries(labels).some(([name, each]) => name === key && each === value))
      .length;
  const most = [...terms].sort((a, b) => count(b) - count(a));
  return most.reduce<Member[]>((order, [key, value]) => spread(order, all, key, value), [...list]);
}

const ceil = (value: number | string, total: number) =>
  typeof value === "number" ? value : Math.ceil((Number.parseInt(value, 10) * total) / 100);

/** Rules 29 to 35. */
function expected(pods: readonly Given[], strategy: Strategy) {
  const members: Member[] = pods
    .map((one, index) => ({ ...one, name: names(index), serves: serves(one) }))
    .filter(({ injected, phase, terminating }) => injected && phase !== "Failed" && !terminating);
  const isUpdated = ({ has }: Member) => has === "new";
  const isDone = ({ serves, reported }: Member) => serves && reported;
  const status = {
    matchedPods: members.length,
    updatedPods: members.filter(isUpdated).length,
    readyPods: members.filter(isDone).length,
    updatedReadyPods: members.filter((one) => isUpdated(one) && isDone(one)).length,
  };
  if (strategy.type === "NotUpdate" || strategy.paused) return { status, taken: [] };
  const isSelected = ({ labels }: Member) => strategy.selector === undefined || labels.canary === "true";
  const candidates = members.filter((one) => one.has === "old" && isSelected(one));
  const { partition = 0, maxUnavailable = 1 } = strategy;
  const total = members.length;
  const share = ceil(partition, total);
  const kept =
    typeof partition === "string" && partition !== "100%" && total > 1 ? Math.min(share, total - 1) : share;
  const order = scattered(ordered(candidates, strategy), members, strategy);
  const wanted = order.slice(0, Math.max(0, order.length - kept));
  let used = members.filter((one) => isUpdated(one) && !isDone(one)).length;
  const taken: string[] = [];
  for (const one of wanted) {
    if (one.serves && used >= ceil(maxUnavailable, total)) break;
    if (one.serves) used++;
    taken.push(one.name);
  }
  return { status, taken };
}

t.test("property: the pods of a pass and the status are as the rules have them", async (t) => {
  const met = { some: 0, scattered: 0, budget: 0, partition: 0 };
  const property = fc.property(fc.array(given, { maxLength: 12 }), strategies, (pods, strategy) => {
    const model = new SidecarModel(setOf(2, "x", strategy));
    for (const [index, one] of pods.entries()) model.pods.set(names(index), podOf(one, index));
    const options = { systemNamespace: "kruise-system" };
    const plan = () =>
      planSidecarSet(
        sidecarSetState({ observed: model.observed(), options, now: model.now, random: noChance }),
      );
    for (const action of plan().actions) if (action.type === "create revision") model.perform(action);
    const { actions, status } = plan();
    const taken = actions.flatMap((action) =>
      action.type === "patch pod" && action.concern === "update" ? [action.pod.name] : [],
    );
    const want = expected(pods, strategy);
    const { matchedPods, updatedPods, readyPods, updatedReadyPods = 0 } = status;
    const found = { status: { matchedPods, updatedPods, readyPods, updatedReadyPods }, taken };
    if (want.taken.length > 1) met.some++;
    if (want.taken.length > 2 && strategy.scatterStrategy) met.scattered++;
    if (want.taken.length > 0 && strategy.maxUnavailable) met.budget++;
    if (want.taken.length > 0 && strategy.partition) met.partition++;
    if (JSON.stringify(found) !== JSON.stringify(want))
      throw new Error(JSON.stringify({ pods, strategy, found, want }));
  });
  t.doesNotThrow(() => fc.assert(property, { seed: 71, numRuns: 800 }));
  t.ok(
    Object.values(met).every((count) => count > 20),
    JSON.stringify(met),
  );
});
