/** Who is updated in one pass, in which order. Spec: cloneset 4.7, rules 42 and 43. */
import fc from "fast-check";
import t from "tap";
import { cloneSet, defaultOptions, Model } from "../../../testkit/controller/clone_set_model.ts";
import {
  changeTemplate,
  makeUnready,
  randomOf,
  settle,
} from "../../../testkit/controller/workload_history.ts";
import { SPECIFIED_DELETE } from "../../rollout/pods/pod_state.ts";
import { planCloneSet } from "./plan.ts";
import { cloneSetState } from "./state.ts";

interface Rollout {
  /** By rank, the first to be updated first: whether the pod is in service. */
  readonly ready: readonly boolean[];
  readonly maxUnavailable: number;
  readonly partition: number;
  readonly healFirst: boolean;
  /** Rank of a pod that is marked for recreation already and may not go yet. */
  readonly marked: number | undefined;
}

const rollout: fc.Arbitrary<Rollout> = fc
  .record({
    ready: fc.array(fc.boolean(), { minLength: 1, maxLength: 7 }),
    maxUnavailable: fc.integer({ min: 1, max: 4 }),
    partition: fc.nat(3),
    healFirst: fc.boolean(),
    marked: fc.option(fc.nat(6), { nil: undefined }),
  })
  .map((at) => {
    const isHeld = outOfServiceOf(at) >= at.maxUnavailable;
    return { ...at, marked: isHeld && at.ready[at.marked ?? -1] ? at.marked : undefined };
  });

function outOfServiceOf({ ready }: Pick<Rollout, "ready">): number {
  return ready.filter((isReady) => !isReady).length;
}

/** Ranks of those that are taken, written from the rule. Who is marked is one of the wanted, wherever it stands. */
function expected({ ready, maxUnavailable, partition, healFirst, marked }: Rollout): number[] {
  const outOfService = outOfServiceOf({ ready });
  const taken: number[] = [];
  let served = 0;
  let left = ready.length - partition - (marked === undefined ? 0 : 1);
  for (const [rank, isReady] of ready.entries()) {
    if ((rank !== marked && left-- <= 0) || taken.length >= maxUnavailable) break;
    if (isReady && outOfService + served >= maxUnavailable) {
      if (healFirst) continue;
      break;
    }
    if (isReady) served++;
    taken.push(rank);
  }
  return taken;
}

/** Ranks of the pods that the first pass after a change of the template marks to be recreated. */
function updated({ ready, maxUnavailable, partition, healFirst, marked }: Rollout): number[] {
  const model = new Model(cloneSet("web", { replicas: ready.length }));
  const random = randomOf(23);
  const plan = () =>
    planCloneSet(
      cloneSetState({ observed: model.observed(), options: defaultOptions, now: model.now, random }),
    );
  settle({ model, plan, perform: (action, stopAfter) => model.perform(action, stopAfter) }, 100);
  [...model.pods.keys()].forEach((name, rank) => {
    const pod = model.pods.get(name);
    if (pod === undefined) return;
    const mark: Record<string, string> = rank === marked ? { [SPECIFIED_DELETE]: "true" } : {};
    model.change(name, { labels: { ...pod.labels, ...mark, rank: String(9 - rank) } });
    if (!ready[rank]) makeUnready(model, pod);
  });
  if (healFirst) model.set.metadata.annotations = { "refit.dev/heal-first": "true" };
  changeTemplate(model, "image", 2);
  model.changeSpec((spec) => {
    const priorityStrategy = { orderPriority: [{ orderedKey: "rank" }] };
    const rollingUpdate = { podUpdatePolicy: "ReCreate", maxUnavailable, partition, priorityStrategy };
    spec.updateStrategy = { type: "RollingUpdate", rollingUpdate };
  });
  // The first pass only writes the revision.
  for (const action of plan().actions) if (action.type === "create revision") model.perform(action);
  return plan()
    .actions.flatMap((action) =>
      action.type === "patch pod" && action.after.labels[SPECIFIED_DELETE] === "true"
        ? [9 - Number(action.pod.labels["rank"])]
        : [],
    )
    .sort();
}

t.test("the order is a promise; with heal-first pods out of service may go before their turn", (t) => {
  let skips = 0;
  let marks = 0;
  fc.assert(
    fc.property(rollout, (at) => {
      const wanted = expected(at);
      t.strictSame(updated(at), wanted, JSON.stringify(at));
      if (wanted.join() !== expected({ ...at, healFirst: !at.healFirst }).join()) skips++;
      if (at.marked !== undefined) marks++;
    }),
    { numRuns: 400, seed: 23 },
  );
  t.ok(skips > 20, `${skips} rollouts in which it makes a difference`);
  t.ok(marks > 20, `${marks} with a marked pod`);
  t.end();
});

/** The default order: pods that are not ready come first. */
t.test("a marked pod that waits for a broken one does not keep it from being healed", async (t) => {
  for (const podUpdatePolicy of ["ReCreate", "InPlaceIfPossible"] as const) {
    const model = new Model(cloneSet("web", { replicas: 3 }));
    const random = randomOf(23);
    const plan = () =>
      planCloneSet(
        cloneSetState({ observed: model.observed(), options: defaultOptions, now: model.now, random }),
      );
    settle({ model, plan, perform: (action) => model.perform(action) }, 100);
    const [marked, broken] = [...model.pods.values()];
    if (marked === undefined || broken === undefined) throw new Error("no pods");
    changeTemplate(model, "image", 2);
    model.changeSpec((spec) => {
      const rollingUpdate = { podUpdatePolicy, maxUnavailable: 1 };
      spec.updateStrategy = { type: "RollingUpdate", rollingUpdate };
    });
    for (const action of plan().actions) if (action.type === "create revision") model.perform(action);
    // By the update, or by hand; then another one breaks, which only the new image heals.
    model.change(marked.name, { labels: { ...marked.labels, [SPECIFIED_DELETE]: "true" } });
    makeUnready(model, broken);
    const healed = plan().actions.filter(
      (action) => action.type === "patch pod" && action.pod.name === broken.name,
    );
    t.equal(healed.length, 1, podUpdatePolicy);
  }
});

t.test("a marked pod that has room takes its share of it and lets the others go on", async (t) => {
  const model = new Model(cloneSet("web", { replicas: 4 }));
  const random = randomOf(23);
  const plan = () =>
    planCloneSet(
      cloneSetState({ observed: model.observed(), options: defaultOptions, now: model.now, random }),
    );
  settle({ model, plan, perform: (action) => model.perform(action) }, 100);
  for (const [rank, pod] of [...model.pods.values()].entries()) {
    const mark: Record<string, string> = rank === 0 ? { [SPECIFIED_DELETE]: "true" } : {};
    model.change(pod.name, { labels: { ...pod.labels, ...mark, rank: String(9 - rank) } });
  }
  changeTemplate(model, "image", 2);
  model.changeSpec((spec) => {
    // A pod is missing that may not be made: until then nothing is deleted.
    spec.replicas = 5;
    spec.scaleStrategy = { maxUnavailable: 0 };
    const priorityStrategy = { orderPriority: [{ orderedKey: "rank" }] };
    spec.updateStrategy = { type: "RollingUpdate", rollingUpdate: { maxUnavailable: 4, priorityStrategy } };
  });
  for (const action of plan().actions) if (action.type === "create revision") model.perform(action);
  const ranks = plan().actions.flatMap((action) =>
    action.type === "patch pod" ? [9 - Number(action.pod.labels["rank"])] : [],
  );
  t.same(ranks, [1, 2], "three of four may be out of service, where five are wanted");
});
