/** The roster that is kept up from event to event leads to the same plans as one that is made anew for each pass. */
import fc from "fast-check";
import t from "tap";
import type { Node, Pod } from "../../kube/index.ts";
import type { Action } from "../rollout/actions.ts";
import { Refused } from "../rollout/model.ts";
import { nodeOf } from "../rollout/pods_by_node.ts";
import { broadcastJob, counting, defaultOptions, Model, node } from "./model.ts";
import { type BroadcastJobPlan, planBroadcastJob } from "./plan.ts";
import type { Roster } from "./roster.ts";

/** Keeps a roster as the shell does; writes are answered late, in any order, or fail. */
class Twin {
  readonly model: Model;
  readonly flights = new Map<string, Pod>();
  readonly #writes = new Map<string, Action>();
  #roster: Roster;
  #generation: number | undefined;
  #pods = new Map<string, Pod>();
  #nodes = new Map<string, Node>();
  plans = 0;

  constructor(model: Model) {
    this.model = model;
    this.#roster = model.roster(this.flights);
  }

  /** Both plans, which must be equal; what is decided is then under way. */
  pass(): BroadcastJobPlan {
    const { model, flights } = this;
    this.#follow();
    this.plans++;
    const input = { options: defaultOptions, now: model.now };
    const isTaken = (name: string): boolean => model.pods.has(name) || flights.has(`in-flight/${name}`);
    const plan = (roster: Roster) =>
      planBroadcastJob({ ...input, seen: { ...model.seen(roster), isTaken }, random: counting() });
    const kept = plan(this.#roster);
    const [one, other] = [kept, plan(model.roster(flights))].map((each) => JSON.stringify(each));
    if (one !== other) throw new Error(`kept: ${one}\nfull: ${other}`);
    for (const action of kept.actions) this.#begin(action);
    model.set = { ...model.set, status: kept.status };
    return kept;
  }

  /** The write is answered; without success nothing of it remains. */
  answer(place: number, succeeds: boolean): void {
    const id = [...this.#writes.keys()][place % Math.max(1, this.#writes.size)];
    const action = id === undefined ? undefined : this.#writes.get(id);
    if (id === undefined || action === undefined) return;
    this.#writes.delete(id);
    this.flights.delete(id);
    try {
      if (succeeds) this.model.perform(action);
    } catch (error) {
      if (!(error instanceof Refused)) throw error;
    }
  }

  #begin(action: Action): void {
    if (action.type === "create pod") this.#fly(`in-flight/${action.name}`, action, action.after);
    else if (action.type === "patch pod") this.#fly(action.pod.uid, action, action.write.after);
    else if (action.type === "delete pod")
      this.#fly(action.pod.uid, action, { ...action.pod, deletionAt: this.model.now });
  }

  #fly(id: string, action: Action, after: Pod): void {
    if (this.#writes.has(id)) throw new Error(`a second write of ${id}`);
    this.#writes.set(id, action);
    this.flights.set(id, after);
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
      this.#roster = model.roster(this.flights);
      this.#generation = model.set.metadata.generation;
    }
    this.#pods = pods;
    this.#nodes = nodes;
  }
}

const act = <Name extends string>(name: Name) => fc.constant(name);
const step = fc.oneof(
  { weight: 6, arbitrary: fc.record({ do: act("pass") }) },
  {
    weight: 8,
    arbitrary: fc.record({ do: act("answer"), which: fc.nat(9), succeeds: fc.integer({ max: 4 }) }),
  },
  { weight: 4, arbitrary: fc.record({ do: act("place"), which: fc.nat(9) }) },
  { weight: 2, arbitrary: fc.record({ do: act("end"), which: fc.nat(9), fails: fc.boolean() }) },
  fc.record({ do: act("delete"), which: fc.nat(9) }),
  fc.record({ do: act("vanish"), which: fc.nat(9) }),
  fc.record({ do: act("restart"), which: fc.nat(9) }),
  fc.record({ do: act("copy"), which: fc.nat(9) }),
  fc.record({
    do: act("node"),
    which: fc.nat(7),
    change: fc.constantFrom("join", "leave", "cordon", "free"),
  }),
  fc.record({ do: act("edit"), parallelism: fc.integer({ min: 0, max: 6 }), paused: fc.boolean() }),
);
type Step = typeof step extends fc.Arbitrary<infer S> ? S : never;

function take(twin: Twin, each: Step): void {
  const { model } = twin;
  model.now += 1000;
  if (each.do === "pass") twin.pass();
  else if (each.do === "answer") twin.answer(each.which, each.succeeds > 0);
  else if (each.do === "node") changeNode(model, `n${each.which}`, each.change);
  else if (each.do === "edit") {
    const { parallelism, paused } = each;
    model.changeSpec((spec) => Object.assign(spec, { parallelism, paused }));
  } else changePod(model, each);
}

function changeNode(model: Model, name: string, change: string): void {
  if (change === "leave") model.nodes.delete(name);
  else if (change === "join") model.changeNode(name, node(name));
  else model.changeNode(name, { unschedulable: change === "cordon" });
}

function changePod(model: Model, each: Extract<Step, { which: number }>): void {
  const pods = model.owned();
  const pod = pods[each.which % Math.max(1, pods.length)];
  if (pod === undefined) return;
  if (each.do === "place") model.place(pod.name);
  else if (each.do === "end" && pod.phase === "Running")
    model.end(pod.name, each.fails ? "Failed" : "Succeeded");
  else if (each.do === "delete") model.deletePod(pod.name);
  else if (each.do === "vanish") model.pods.delete(pod.name);
  else if (each.do === "restart") model.restart(pod.name, 1);
  else if (each.do === "copy") {
    const name = `${pod.name}-copy`;
    model.pods.set(name, { ...pod, name, uid: `copy-of-${pod.uid}`, createdAt: model.now });
  }
}

t.test("property: from event to event the same plans as from nothing", async (t) => {
  let plans = 0;
  const property = fc.property(
    fc.array(step, { minLength: 20, maxLength: 120 }),
    fc.constantFrom("Continue", "Pause", "FailFast"),
    fc.constantFrom("Never", "OnFailure"),
    (steps, type, restartPolicy) => {
      const spec = { failurePolicy: { type, restartLimit: 1 }, completionPolicy: { type: "Never" } };
      const twin = new Twin(new Model(broadcastJob(spec, { restartPolicy }), ["n0", "n1", "n2", "n3", "n4"]));
      for (const each of steps) take(twin, each);
      twin.pass();
      plans += twin.plans;
    },
  );
  fc.assert(property, { seed: 20_261_121, numRuns: 600 });
  t.ok(plans > 4000, `${plans} plans`);
});

t.test("once all pods run a pass looks at no node, and after an event at one", async (t) => {
  const names = Array.from({ length: 100 }, (_, index) => `n${String(index).padStart(3, "0")}`);
  const model = new Model(broadcastJob(), names);
  const roster = model.roster();
  let pods = new Map<string, Pod>();
  const pass = (): BroadcastJobPlan => {
    const now = new Map(model.owned().map((pod) => [pod.uid, pod]));
    for (const uid of new Set([...pods.keys(), ...now.keys()])) {
      if (pods.get(uid) !== now.get(uid)) roster.podChanged(pods.get(uid), now.get(uid));
    }
    pods = now;
    const seen = model.seen(roster);
    const plan = planBroadcastJob({ seen, options: defaultOptions, now: model.now, random: counting() });
    for (const action of plan.actions) model.perform(action);
    model.set = { ...model.set, status: plan.status };
    return plan;
  };
  for (let count = 0; count < 5; count++) {
    pass();
    for (const { name } of model.owned()) model.place(name);
  }
  t.equal(model.row(), "100 100 0 0");
  const looked: string[] = [];
  const get = model.nodes.get.bind(model.nodes);
  model.nodes.get = (name) => {
    looked.push(name);
    return get(name);
  };
  pass();
  pass();
  t.same(looked, []);
  const [pod] = model.owned();
  if (pod === undefined) throw new Error("no pod was made");
  model.end(pod.name, "Succeeded");
  pass();
  t.same([...new Set(looked)], [nodeOf(pod)]);
  t.equal(model.row(), "100 99 1 0");
});
