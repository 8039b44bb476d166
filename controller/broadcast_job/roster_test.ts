/** The roster that is kept up from event to event leads to the same plans as one that is made anew for each pass. */
import fc from "fast-check";
import t from "tap";
import type { Pod } from "../../kube/index.ts";
import type { Action } from "../rollout/actions.ts";
import { lateStep, takeLate } from "../rollout/histories.ts";
import { LateWrites } from "../rollout/late_writes.ts";
import { Refused } from "../rollout/model.ts";
import { nodeOf } from "../rollout/pods_by_node.ts";
import { RosterEvents } from "../rollout/roster_events.ts";
import { broadcastJob, counting, defaultOptions, Model, node } from "./model.ts";
import { type BroadcastJobPlan, planBroadcastJob } from "./plan.ts";
import type { Roster } from "./roster.ts";

/** Keeps a roster as the shell does; writes are under way for long. */
class Twin {
  readonly model: Model;
  readonly writes = new LateWrites();
  #roster: Roster;
  #generation: number | undefined;
  readonly #events = new RosterEvents();
  plans = 0;

  constructor(model: Model) {
    this.model = model;
    this.#roster = model.roster(this.writes.pods);
  }

  /** Both plans, which must be equal; what is decided is then under way. */
  pass(): BroadcastJobPlan {
    const { model, writes } = this;
    this.#follow();
    this.plans++;
    const input = { options: defaultOptions, now: model.now };
    const isTaken = (name: string): boolean => model.pods.has(name) || writes.pods.has(`in-flight/${name}`);
    const plan = (roster: Roster) =>
      planBroadcastJob({ ...input, seen: { ...model.seen(roster), isTaken }, random: counting() });
    const kept = plan(this.#roster);
    const [one, other] = [kept, plan(model.roster(writes.pods))].map((each) => JSON.stringify(each));
    if (one !== other) throw new Error(`kept: ${one}\nfull: ${other}`);
    for (const action of kept.actions) writes.begin(action, model.now);
    model.set = { ...model.set, status: kept.status };
    return kept;
  }

  perform(action: Action): void {
    try {
      this.model.perform(action);
    } catch (error) {
      if (!(error instanceof Refused)) throw error;
    }
  }

  /** The events since the last pass, in one go. */
  #follow(): void {
    const { model } = this;
    const { generation } = model.set.metadata;
    const isNew = generation !== this.#generation;
    if (isNew) this.#roster = model.roster(this.writes.pods);
    this.#generation = generation;
    this.#events.follow(model, isNew ? undefined : this.#roster);
  }
}

const act = <Name extends string>(name: Name) => fc.constant(name);
const step = fc.oneof(
  { weight: 6, arbitrary: fc.record({ do: act("pass") }) },
  { weight: 10, arbitrary: lateStep },
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
  if ("late" in each) takeLate(twin.writes, each, (action) => twin.perform(action));
  else if (each.do === "pass") twin.pass();
  else if (each.do === "node") changeNode(model, `n${each.which}`, each.change);
  else if (each.do === "edit") {
    const { parallelism, paused } = each;
    // What is not on its way to the server is withdrawn with the spec that wanted it.
    twin.writes.withdraw(2);
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
      twin.writes.arriveLate((action) => twin.perform(action));
      twin.pass();
      plans += twin.plans;
    },
  );
  fc.assert(property, { seed: 20_261_121, numRuns: 700 });
  t.ok(plans > 4000, `${plans} plans`);
});

/** A job on many nodes with the roster that its shell keeps, and the nodes that are looked at. */
class Watched {
  readonly model: Model;
  readonly writes = new LateWrites();
  readonly looked = new Set<string>();
  readonly #roster: Roster;
  #pods = new Map<string, Pod>();

  constructor(nodes: number) {
    const names = Array.from({ length: nodes }, (_, index) => `n${String(index).padStart(4, "0")}`);
    this.model = new Model(broadcastJob(), names);
    this.#roster = this.model.roster(this.writes.pods);
    const get = this.model.nodes.get.bind(this.model.nodes);
    this.model.nodes.get = (name) => {
      this.looked.add(name);
      return get(name);
    };
  }

  /** The events since the last pass, and the pass, whose writes are then under way. */
  send(): BroadcastJobPlan {
    const { model, writes, looked } = this;
    const pods = new Map(model.owned().map((pod) => [pod.uid, pod]));
    for (const uid of new Set([...this.#pods.keys(), ...pods.keys()])) {
      if (this.#pods.get(uid) !== pods.get(uid)) this.#roster.podChanged(this.#pods.get(uid), pods.get(uid));
    }
    this.#pods = pods;
    looked.clear();
    const seen = model.seen(this.#roster);
    const plan = planBroadcastJob({ seen, options: defaultOptions, now: model.now, random: counting() });
    for (const action of plan.actions) writes.begin(action, model.now);
    model.set = { ...model.set, status: plan.status };
    return plan;
  }

  /** The oldest write that is under way is answered. */
  answer(): void {
    this.writes.answer(0, (action) => this.model.perform(action));
  }
}

t.test("once all pods run a pass looks at no node, and after an event at one", async (t) => {
  const watched = new Watched(100);
  const { model, writes, looked } = watched;
  for (let count = 0; count < 5; count++) {
    watched.send();
    while (writes.size > 0) watched.answer();
    for (const { name } of model.owned()) model.place(name);
  }
  t.equal(model.row(), "100 100 0 0");
  watched.send();
  watched.send();
  t.same([...looked], []);
  const [pod] = model.owned();
  if (pod === undefined) throw new Error("no pod was made");
  model.end(pod.name, "Succeeded");
  watched.send();
  t.same([...looked], [nodeOf(pod)]);
  t.equal(model.row(), "100 99 1 0");
});

t.test("a pass looks at as many nodes however many creations are in flight", async (t) => {
  for (const nodes of [200, 2000]) {
    const watched = new Watched(nodes);
    const { writes, looked } = watched;
    t.equal(watched.send().actions.length, nodes, "all creations are in flight");
    watched.send();
    t.equal(writes.size, nodes);
    for (let count = 1; count <= 10; count++) {
      watched.answer();
      t.match(watched.send().status, { desired: nodes, active: count });
      t.ok(looked.size <= 2, `${looked.size} of ${nodes} nodes`);
    }
  }
});
