/** The roster that is kept up from event to event leads to the same plans as one that is made anew for each pass. */
import fc from "fast-check";
import t from "tap";
import type { Pod } from "../../kube/index.ts";
import { changeTemplate, randomOf } from "../rollout/histories.ts";
import { nodeOf } from "../rollout/pods_by_node.ts";
import { SortedNames } from "../rollout/sorted_names.ts";
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
import { daemonSet, defaultOptions, Model, node, Refused } from "./model.ts";
import { type DaemonSetPlan, planDaemonSet } from "./plan.ts";
import type { Roster } from "./roster.ts";

/** The full computation: nodes without a pod are looked at like all others. */
function looking(roster: Roster): Roster {
  const survey = roster.survey.bind(roster);
  roster.survey = (context) => {
    const seen = survey(context);
    const { missing, placeOf } = seen.quiet;
    const empty = missing.first(missing.size).map(placeOf);
    const places = [...seen.places, ...empty.filter((place) => place !== undefined)];
    places.sort((a, b) => (a.name < b.name ? -1 : 1));
    return { ...seen, places, quiet: { ...seen.quiet, missing: new SortedNames() } };
  };
  return roster;
}

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
    const seen = model.seen(looking(model.roster()));
    const full = planDaemonSet({ ...input, seen, random: randomOf(this.#seed + this.plans) });
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
type Options = typeof options extends fc.Arbitrary<infer O> ? O : never;
type First = typeof rolling extends fc.Arbitrary<infer R> ? R : never;

function twinOf(first: First, more: Options, seed: number): Twin {
  const { minReadySeconds, hooked, partitionedScaling, burstReplicas, nodes } = more;
  const set = daemonSet({
    updateStrategy: { type: "RollingUpdate", rollingUpdate: first },
    ...(hooked ? { lifecycle: { preDelete: { labelsHandler: { [HOOK]: "true" } } } } : {}),
    scaleStrategy: { partitionedScaling },
    minReadySeconds,
    burstReplicas,
  });
  const names = Array.from({ length: nodes }, (_, index) => nodeNames[index] ?? `n${index}`);
  return new Twin(new Model(set, names), seed);
}

t.test("property: from event to event the same plans as from nothing", async (t) => {
  let plans = 0;
  fc.assert(
    fc.property(
      fc.array(fc.oneof(slowStep, slowStep, step), { minLength: 20, maxLength: 100 }),
      rolling,
      options,
      fc.nat(),
      (steps, first, more, seed) => {
        const twin = twinOf(first, more, seed);
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

const masses = fc.record({ many: fc.constantFrom("pods lost", "nodes join", "nodes leave") });
type Masses = typeof masses extends fc.Arbitrary<infer M> ? M : never;

function takeMasses({ model }: Twin, what: Masses["many"]): void {
  // Names between those that are there, before and behind them.
  const joining = Array.from({ length: 20 }, (_, index) => `${["a", "n1", "z"][index % 3]}${index}`);
  if (what === "pods lost") for (const { name } of model.owned()) model.pods.delete(name);
  else if (what === "nodes leave") for (const name of joining) model.nodes.delete(name);
  else for (const name of joining) if (!model.nodes.has(name)) model.nodes.set(name, node(name));
}

t.test("property: the same plans while many nodes are missing their pod", async (t) => {
  let plans = 0;
  fc.assert(
    fc.property(
      fc.array(fc.oneof({ weight: 6, arbitrary: fc.oneof(slowStep, step) }, masses), {
        minLength: 20,
        maxLength: 80,
      }),
      rolling,
      fc.record({ options, begun: fc.boolean() }),
      fc.nat(),
      (steps, first, { options, begun }, seed) => {
        const twin = twinOf(first, { ...options, nodes: 30 }, seed);
        if (begun) settleDaemons(twin);
        for (const one of steps) {
          if ("many" in one) takeMasses(twin, one.many);
          else take(twin, one);
        }
        settleDaemons(twin);
        plans += twin.plans;
      },
    ),
    { seed: 20_261_121, numRuns: 300 },
  );
  t.ok(plans > 5000, `${plans} plans`);
});

/** A set on many nodes with the roster that its shell keeps, and the nodes that are looked at. */
class Watched {
  readonly model: Model;
  readonly looked = new Set<string>();
  readonly #roster: Roster;
  readonly #settled = new WeakMap<object, boolean>();
  #pods = new Map<string, Pod>();

  constructor(nodes: number, spec: Parameters<typeof daemonSet>[0] = {}) {
    const names = Array.from({ length: nodes }, (_, index) => `n${String(index).padStart(4, "0")}`);
    this.model = new Model(daemonSet(spec), names);
    this.#roster = this.model.roster();
    const get = this.model.nodes.get.bind(this.model.nodes);
    this.model.nodes.get = (name) => {
      this.looked.add(name);
      return get(name);
    };
  }

  /** The events since the last pass, the pass, and its writes. */
  pass(): DaemonSetPlan {
    const { model, looked } = this;
    const pods = new Map([...model.pods.values()].map((pod) => [pod.uid, pod]));
    for (const uid of new Set([...this.#pods.keys(), ...pods.keys()])) {
      const [before, after] = [this.#pods.get(uid), pods.get(uid)];
      if (before !== after) this.#roster.podChanged(before, after);
    }
    this.#pods = pods;
    looked.clear();
    const seen = model.seen(this.#roster);
    const input = { options: defaultOptions, now: model.now, random: Math.random, settled: this.#settled };
    const plan = planDaemonSet({ ...input, seen });
    for (const action of plan.actions) model.perform(action);
    model.set = { ...model.set, status: plan.status };
    return plan;
  }

  /** Kubelets and time. */
  live(): void {
    for (const name of [...this.model.pods.keys()]) this.model.kubelet(name);
    this.model.now += 50;
  }
}

t.test("once all is settled a pass looks at no node, and after an event at one", async (t) => {
  const watched = new Watched(100);
  const { model, looked } = watched;
  for (let count = 0; count < 20; count++) {
    watched.pass();
    watched.live();
  }
  t.equal(model.set.status?.numberAvailable, 100);
  watched.pass();
  t.same([...looked], []);
  const [pod] = model.owned();
  if (pod === undefined) throw new Error("no pod was made");
  model.change(pod.name, { conditions: [], containerStatuses: [] });
  const plan = watched.pass();
  t.same([...looked], [nodeOf(pod)]);
  t.match(plan.status, { desiredNumberScheduled: 100, numberAvailable: 99, numberUnavailable: 1 });
});

t.test("while thousands of nodes have no pod a pass looks at those alone that just got one", async (t) => {
  const watched = new Watched(5000, { burstReplicas: 50 });
  const { model, looked } = watched;
  watched.pass();
  for (let count = 0; count < 10; count++) {
    const plan = watched.pass();
    t.equal(plan.actions.filter(({ type }) => type === "create pod").length, 50);
    t.match(plan.status, { desiredNumberScheduled: 5000, currentNumberScheduled: 50 * count });
    const last = [...looked].filter((name) => Number(name.slice(1)) >= 50 * (count - 2));
    t.ok(looked.size <= 100, `${looked.size} of the 5000 nodes`);
    t.equal(last.length, looked.size, "they got their pod from the last two passes");
  }
  t.equal(model.owned().map(nodeOf).sort().at(-1), "n0499", "lowest names first");
});
