/** The roster that is kept up from event to event leads to the same plans as one that is made anew for each pass. */
import fc from "fast-check";
import t from "tap";
import type { CloneSet } from "../../crds/index.ts";
import type { Pod } from "../../kube/index.ts";
import { barePod } from "../_bare_pod.ts";
import type { Action, Plan } from "../rollout/actions.ts";
import { changeTemplate, makeUnready, randomOf, templateSteps } from "../rollout/histories.ts";
import { STATE_ANNOTATION } from "../rollout/in_place/state.ts";
import { isPodWrite, LateWrites } from "../rollout/late_writes.ts";
import { STATE_LABEL } from "../rollout/lifecycle.ts";
import { RosterEvents } from "../rollout/roster_events.ts";
import { cloneSet, defaultOptions, Model, Refused } from "./model.ts";
import { SPECIFIED_DELETE } from "./observe.ts";
import { planCloneSet } from "./plan.ts";
import type { Roster } from "./roster.ts";

const HOOK = "example.com/hold";
/** Gates that change how pods are counted; both kinds of pass have the same. */
const gates = fc.record({
  partitionRollback: fc.boolean(),
  preparingUpdateAsUpdate: fc.boolean(),
  excludePreparingDelete: fc.boolean(),
});
type Gates = typeof gates extends fc.Arbitrary<infer G> ? G : never;

/** Keeps a roster as the shell does, writes that are not answered included, and holds each plan against a fresh one. */
class Twin {
  readonly model: Model;
  plans = 0;
  inFlight = 0;
  readonly #options: typeof defaultOptions;
  readonly #seed: number;
  readonly #writes = new LateWrites();
  readonly #events = new RosterEvents();
  readonly #settled = new WeakMap<Pod, boolean>();
  readonly #roster: Roster;

  constructor(set: CloneSet, changed: Gates, seed: number) {
    this.model = new Model(set);
    this.#options = { ...defaultOptions, ...changed };
    this.#seed = seed;
    this.#roster = this.model.roster(this.#writes.pods);
  }

  plan(): void {
    const { model } = this;
    this.#events.follow(model, this.#roster);
    this.plans++;
    this.inFlight += this.#writes.size;
    const input = { options: this.#options, now: model.now };
    const random = () => randomOf(this.#seed + this.plans);
    const full = planCloneSet({
      ...input,
      seen: model.seen(model.roster(this.#writes.pods)),
      random: random(),
    });
    const kept = planCloneSet({
      ...input,
      seen: model.seen(this.#roster),
      random: random(),
      settled: this.#settled,
    });
    const [a, b] = [comparable(kept), comparable(full)];
    if (a !== b) throw new Error(`kept: ${a}\nfull: ${b}`);
    for (const action of kept.actions) this.#send(action);
    model.writeStatus(kept.status);
  }

  /** Something becomes of one of the writes under way, or of one that nobody waits for any more. */
  move(how: "arrive" | "answer" | "refuse" | "lose" | "arriveLate", which: number): void {
    const perform = (action: Action): void => this.#perform(action);
    if (how === "refuse" || how === "lose") this.#writes[how](which);
    else if (how === "arriveLate") this.#writes.arriveLate(perform);
    else this.#writes[how](which, perform);
  }

  /** Another generation was observed: what was not sent yet never will be. */
  withdraw(): void {
    this.#writes.withdraw(2);
  }

  #send(action: Action): void {
    if (isPodWrite(action)) this.#writes.begin(action, this.model.now);
    else this.#perform(action);
  }

  #perform(action: Action): void {
    try {
      this.model.perform(action);
    } catch (error) {
      if (!(error instanceof Refused)) throw error;
    }
  }
}

/** A roster has no order of its own: which of the pods that wait come first in a list is nobody's concern. */
function comparable(plan: Plan<object>): string {
  const text = ({ pods, ...rest }: { pods?: readonly string[] }): string =>
    JSON.stringify({ ...rest, count: pods?.length });
  return JSON.stringify({
    ...plan,
    actions: plan.actions
      .filter((action) => !tellsBroken(action))
      .map((action) => JSON.stringify(action))
      .sort(),
    waiting: plan.waiting.map(text).sort(),
  });
}

/** Told once for each projection of a pod, and thus at other times by somebody who sees all for the first time. */
function tellsBroken(action: Action): boolean {
  return action.type === "event" && action.event.reason === "BrokenPodState";
}

const amount = fc.oneof(fc.integer({ min: 0, max: 6 }), fc.constantFrom("20%", "50%", "100%"));

const strategy = fc.record({
  type: fc.constantFrom("RollingUpdate" as const, "RollingUpdate" as const, "OnDelete" as const),
  rollingUpdate: fc.record({
    podUpdatePolicy: fc.constantFrom("ReCreate", "InPlaceIfPossible", "InPlaceOnly"),
    partition: amount,
    maxUnavailable: amount,
    maxSurge: amount,
    paused: fc.boolean(),
    scatterStrategy: fc.boolean().map((half) => (half ? [{ key: "half", value: "a" }] : [])),
    inPlaceUpdateStrategy: fc.constantFrom({}, { gracePeriodSeconds: 1 }),
  }),
});

const which = fc.nat(30);
const how = fc.constantFrom("answer", "answer", "answer", "arrive", "refuse", "lose", "arriveLate");
const step = fc.oneof(
  { weight: 12, arbitrary: fc.record({ do: fc.constant("plan" as const) }) },
  { weight: 16, arbitrary: fc.record({ do: fc.constant("move" as const), how, which }) },
  { weight: 16, arbitrary: fc.record({ do: fc.constant("kubelet" as const), which }) },
  { weight: 4, arbitrary: fc.record({ do: fc.constant("wait" as const), ms: fc.constantFrom(200, 1100) }) },
  ...templateSteps,
  { weight: 2, arbitrary: fc.record({ do: fc.constant("scale" as const), replicas: fc.nat(9) }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant("strategy" as const), strategy }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant("name" as const), which }) },
  {
    weight: 6,
    arbitrary: fc.record({
      do: fc.constantFrom("crash", "delete", "specify", "lose", "hold", "let go", "halve", "break"),
      which,
    }),
  },
  { weight: 1, arbitrary: fc.record({ do: fc.constant("withdraw" as const) }) },
);
type Step = typeof step extends fc.Arbitrary<infer S> ? S : never;

function take(twin: Twin, one: Step): void {
  const { model } = twin;
  const names = [...model.pods.keys()];
  const pod = "which" in one ? model.pods.get(names[one.which % Math.max(1, names.length)] ?? "") : undefined;
  model.now += 20;
  if (one.do === "plan") twin.plan();
  else if (one.do === "move") twin.move(one.how, one.which);
  else if (one.do === "withdraw") twin.withdraw();
  else if (one.do === "wait") model.now += one.ms;
  else if (one.do === "image" || one.do === "env") changeTemplate(model, one.do, one.tag);
  else if (one.do === "scale" || one.do === "strategy" || one.do === "name") changeSpec(model, one, pod);
  else if (pod !== undefined) happenTo(model, pod, one.do);
}

function changeSpec(
  model: Model,
  one: Extract<Step, { do: "scale" | "strategy" | "name" }>,
  pod: Pod | undefined,
): void {
  model.changeSpec((spec) => {
    if (one.do === "scale") spec.replicas = one.replicas;
    else if (one.do === "strategy") spec.updateStrategy = one.strategy;
    else spec.scaleStrategy = { ...spec.scaleStrategy, podsToDelete: pod === undefined ? [] : [pod.name] };
  });
}

function happenTo(model: Model, pod: Pod, what: string): void {
  const label = (labels: Record<string, string>): void =>
    model.change(pod.name, { labels: { ...pod.labels, ...labels } });
  if (what === "kubelet") model.kubelet(pod.name);
  else if (what === "crash") makeUnready(model, pod);
  else if (what === "delete") model.deletePod(pod.name);
  else if (what === "specify") label({ [SPECIFIED_DELETE]: "true" });
  else if (what === "lose") label({ app: "another" });
  else if (what === "hold") label({ [STATE_LABEL]: "PreparingUpdate", [HOOK]: "true" });
  else if (what === "let go") label({ [STATE_LABEL]: "Normal", [HOOK]: "false" });
  else if (what === "halve") label({ half: "a" });
  else model.change(pod.name, { annotations: { ...pod.annotations, [STATE_ANNOTATION]: "{" } });
}

t.test("property: from event to event the same plans as from nothing", async (t) => {
  let plans = 0;
  let inFlight = 0;
  fc.assert(
    fc.property(
      fc.array(step, { minLength: 40, maxLength: 160 }),
      strategy,
      gates,
      fc.record({
        minReadySeconds: fc.constantFrom(0, 0, 1),
        hooked: fc.boolean(),
        most: fc.option(fc.nat(3)),
      }),
      fc.nat(),
      (steps, updateStrategy, changed, { minReadySeconds, hooked, most }, seed) => {
        const hook = { labelsHandler: { [HOOK]: "true" } };
        const set = cloneSet("web", {
          replicas: 5,
          minReadySeconds,
          updateStrategy,
          ...(hooked ? { lifecycle: { preDelete: hook, inPlaceUpdate: hook } } : {}),
          ...(most === null ? {} : { scaleStrategy: { maxUnavailable: most } }),
        });
        const twin = new Twin(set, changed, seed);
        for (const one of steps) take(twin, one);
        twin.plan();
        plans += twin.plans;
        inFlight += twin.inFlight;
      },
    ),
    { seed: 20_261_122, numRuns: 1_500 },
  );
  t.ok(plans > 10_000, `${plans} plans`);
  t.ok(inFlight > 10_000, `${inFlight} pods of plans had a write in flight`);
});

/** A set of so many pods, and what surveys of it have in common. */
function plainSet(count: number) {
  const set = cloneSet("web", { replicas: count });
  const pods = Array.from({ length: count }, (_, index) =>
    barePod(`web-${index}`, {
      labels: { app: "web" },
      controller: { group: "apps.kruise.io", kind: "CloneSet", name: "web", uid: "set-web" },
    }),
  );
  const model = new Model(set);
  for (const pod of pods) model.pods.set(pod.name, pod);
  const strategy = { minReadySeconds: 0, podsToDelete: new Set<string>() };
  const context = { updateRevision: "web-1", strategy, selector: set.spec.selector, now: model.now };
  const roster = model.roster();
  const change = (pod: Pod, to: Partial<Pod>): void => {
    const after = { ...pod, ...to };
    model.pods.set(pod.name, after);
    roster.podChanged(pod, after);
  };
  return { roster, pods, context, change };
}

t.test("an event of one pod is one pod's work, however many there are", async (t) => {
  const { roster, pods, context, change } = plainSet(500);
  let judged = 0;
  const isSettled = () => {
    judged++;
    return true;
  };
  const survey = () => roster.survey({ ...context, isSettled });
  t.equal(survey().counts.old.active, 500);
  t.equal(judged, 500);
  const [pod, other] = pods;
  if (pod === undefined || other === undefined) throw new Error("no pods");
  change(pod, { deletionAt: 1 });
  t.equal(survey().counts.old.active, 499);
  t.equal(judged, 500, "it is none that could be settled");
  change(other, { phase: "Running" });
  survey();
  survey();
  t.equal(judged, 501);
});

t.test("a name that another pod takes is that pod's, and a pod of another owner is no member", async (t) => {
  const { roster, pods, context, change } = plainSet(2);
  const survey = () => roster.survey({ ...context, isSettled: () => true });
  const uids = () => Array.from(survey().members(), ({ pod }) => pod.uid).sort();
  const [pod, other] = pods;
  if (pod?.controller === undefined || other === undefined) throw new Error("no pods");
  t.same(uids(), [pod.uid, other.uid].sort());
  change(pod, { uid: "successor" });
  t.same(uids(), [other.uid, "successor"].sort());
  t.equal(survey().stored.replicas, 2);
  change(other, { controller: { ...pod.controller, uid: "set-other" } });
  t.same(uids(), ["successor"]);
  t.equal(survey().stored.replicas, 1);
});

t.test("a survey that fails in its midst forgets nothing", async (t) => {
  const { roster, pods, context, change } = plainSet(5);
  const failing = (isSettled: () => boolean) => () => roster.survey({ ...context, isSettled });
  let asked = 0;
  const third = () => {
    if (++asked === 3) throw new Error("cannot be judged");
    return true;
  };
  t.throws(failing(third), { message: "cannot be judged" });
  const whole = roster.survey({ ...context, isSettled: () => true });
  t.equal(whole.counts.old.active, 5);
  t.equal(whole.stored.replicas, 5);
  for (const pod of pods) change(pod, { phase: "Failed" });
  t.throws(
    () =>
      roster.survey({
        ...context,
        get now(): number {
          throw new Error("no time");
        },
        isSettled: () => true,
      }),
    { message: "no time" },
  );
  const after = roster.survey({ ...context, isSettled: () => true });
  t.same([after.counts.old.active, after.stored.replicas, after.unavailable.size], [0, 0, 0]);
});
