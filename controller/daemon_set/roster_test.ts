/** The roster that is kept up from event to event leads to the same plans as one that is made anew for each pass. */
import fc from "fast-check";
import t from "tap";
import type { Pod } from "../../kube/index.ts";
import { changeTemplate, randomOf } from "../rollout/histories.ts";
import { nodeOf } from "../rollout/pods_by_node.ts";
import {
  type DaemonWorld,
  HOOK,
  nodeNames,
  rolling,
  settleDaemons,
  slowStep,
  step,
  take,
} from "./histories.ts";
import { daemonSet, defaultOptions, Model, Refused } from "./model.ts";
import { type DaemonSetPlan, planDaemonSet } from "./plan.ts";
import type { Roster } from "./roster.ts";

/** Keeps a roster as the shell does, and holds every plan made from it against the full computation. */
class Twin implements DaemonWorld {
  readonly model: Model;
  readonly #seed: number;
  readonly #settled = new WeakMap<object, boolean>();
  #roster: Roster;
  #generation: number | undefined;
  #pods = new Map<string, Pod>();
  #nodes = new Map<string, object>();
  plans = 0;

  constructor(model: Model, seed: number) {
    this.model = model;
    this.#seed = seed;
    this.#roster = model.roster();
  }

  plan(): DaemonSetPlan {
    const { model } = this;
    this.#follow();
    model.failed.observe(model.set.status?.observedGeneration);
    this.plans++;
    const input = { options: defaultOptions, now: model.now };
    const full = planDaemonSet({ ...input, seen: model.seen(), random: randomOf(this.#seed + this.plans) });
    const random = randomOf(this.#seed + this.plans);
    const kept = planDaemonSet({ ...input, seen: model.seen(this.#roster), random, settled: this.#settled });
    if (JSON.stringify(kept) !== JSON.stringify(full))
      throw new Error(`kept: ${JSON.stringify(kept)}\nfull: ${JSON.stringify(full)}`);
    for (const name of full.failedOn) model.failed.replaced(name);
    return kept;
  }

  perform(...[action, stopAfter]: Parameters<DaemonWorld["perform"]>): void {
    try {
      this.model.perform(action, stopAfter);
    } catch (error) {
      if (!(error instanceof Refused)) throw error;
    }
  }

  /** The events since the last pass, in one go. */
  #follow(): void {
    const { model } = this;
    const pods = new Map([...model.pods.values()].map((pod) => [pod.uid, pod]));
    const nodes = new Map(model.nodes);
    if (model.set.metadata.generation === this.#generation) {
      for (const uid of new Set([...this.#pods.keys(), ...pods.keys()])) {
        const [before, after] = [this.#pods.get(uid), pods.get(uid)];
        if (before !== after) this.#roster.podChanged(before, after);
      }
      for (const name of new Set([...this.#nodes.keys(), ...nodes.keys()])) {
        if (this.#nodes.get(name) !== nodes.get(name)) this.#roster.nodeChanged(name);
      }
    } else {
      this.#roster = model.roster();
      this.#generation = model.set.metadata.generation;
    }
    this.#pods = pods;
    this.#nodes = nodes;
  }
}

const options = fc.record({
  minReadySeconds: fc.constantFrom(0, 0, 1),
  hooked: fc.boolean(),
  partitionedScaling: fc.boolean(),
  burstReplicas: fc.constantFrom(250, 2),
  nodes: fc.constantFrom(4, 5, 30),
});

t.test("property: from event to event the same plans as from nothing", async (t) => {
  let plans = 0;
  fc.assert(
    fc.property(
      fc.array(fc.oneof(slowStep, slowStep, step), { minLength: 20, maxLength: 100 }),
      rolling,
      options,
      fc.nat(),
      (steps, first, more, seed) => {
        const { minReadySeconds, hooked, partitionedScaling, burstReplicas, nodes } = more;
        const set = daemonSet({
          updateStrategy: { type: "RollingUpdate", rollingUpdate: first },
          ...(hooked ? { lifecycle: { preDelete: { labelsHandler: { [HOOK]: "true" } } } } : {}),
          scaleStrategy: { partitionedScaling },
          minReadySeconds,
          burstReplicas,
        });
        const names = Array.from({ length: nodes }, (_, index) => nodeNames[index] ?? `n${index}`);
        const twin = new Twin(new Model(set, names), seed);
        settleDaemons(twin);
        changeTemplate(twin.model, "image", 2);
        for (const one of steps) take(twin, one);
        settleDaemons(twin);
        plans += twin.plans;
      },
    ),
    { seed: 20_261_121, numRuns: 700 },
  );
  t.ok(plans > 10_000, `${plans} plans`);
});

t.test("once all is settled a pass looks at no node, and after an event at one", async (t) => {
  const names = Array.from({ length: 100 }, (_, index) => `n${String(index).padStart(3, "0")}`);
  const model = new Model(daemonSet(), names);
  const roster = model.roster();
  const settled = new WeakMap<object, boolean>();
  let pods = new Map<string, Pod>();
  const pass = (): DaemonSetPlan => {
    for (const uid of new Set([...pods.keys(), ...[...model.pods.values()].map((pod) => pod.uid)])) {
      const after = [...model.pods.values()].find((pod) => pod.uid === uid);
      if (pods.get(uid) !== after) roster.podChanged(pods.get(uid), after);
    }
    pods = new Map([...model.pods.values()].map((pod) => [pod.uid, pod]));
    const seen = model.seen(roster);
    const plan = planDaemonSet({
      seen,
      options: defaultOptions,
      now: model.now,
      random: Math.random,
      settled,
    });
    for (const action of plan.actions) model.perform(action);
    model.set = { ...model.set, status: plan.status };
    for (const name of [...model.pods.keys()]) model.kubelet(name);
    model.now += 50;
    return plan;
  };
  for (let count = 0; count < 20; count++) pass();
  t.equal(model.set.status?.numberAvailable, 100);
  const looked: string[] = [];
  const get = model.nodes.get.bind(model.nodes);
  model.nodes.get = (name) => {
    looked.push(name);
    return get(name);
  };
  pass();
  t.same(looked, []);
  const [pod] = model.owned();
  if (pod === undefined) throw new Error("no pod was made");
  model.change(pod.name, { conditions: [], containerStatuses: [] });
  const plan = pass();
  t.same([...new Set(looked)], [nodeOf(pod)]);
  t.match(plan.status, { desiredNumberScheduled: 100, numberAvailable: 99, numberUnavailable: 1 });
});
