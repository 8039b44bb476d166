/** The roster that is kept up from event to event leads to the same plans as one that is made anew for each pass. */
import fc from "fast-check";
import t from "tap";
import type { StatefulSet } from "../../crds/index.ts";
import type { PersistentVolumeClaim, Pod } from "../../kube/index.ts";
import { barePod } from "../_bare_pod.ts";
import type { Action, Plan } from "../rollout/actions.ts";
import { befall, changeTemplate, lateStep, takeLate, templateSteps } from "../rollout/histories.ts";
import { STATE_ANNOTATION } from "../rollout/in_place/state.ts";
import { isPodWrite, LateWrites } from "../rollout/late_writes.ts";
import { STATE_LABEL } from "../rollout/lifecycle.ts";
import { RosterEvents } from "../rollout/roster_events.ts";
import { Sorted } from "../rollout/sorted_names.ts";
import { defaultOptions, Model, Refused, statefulSet } from "./model.ts";
import { type Member, POD_NAME_LABEL, SPECIFIED_DELETE } from "./observe.ts";
import { updateOrder } from "./order.ts";
import type { View } from "./pass.ts";
import { planStatefulSet } from "./plan.ts";
import { Roster } from "./roster.ts";
import type { Group } from "./standing.ts";

const HOOK = "example.com/hold";
type Options = typeof defaultOptions;

/** The full computation: every pod is looked at, whatever its standing says that there is to do. */
class LookingRoster extends Roster {
  #view: View | undefined;

  override survey(view: View): void {
    super.survey(view);
    this.#view = view;
  }

  override at(ordinal: number): Member | undefined {
    return super.at(ordinal) ?? this.#everybody().find((member) => member.ordinal === ordinal);
  }

  override ordinals(group: Group): Sorted<number> {
    if (group === "acting") return super.ordinals("unhealthy");
    if (group === "leaving") return super.ordinals("condemned");
    if (group !== "due" && group !== "outdated") return super.ordinals(group);
    const found = new Sorted<number>();
    if (this.#view === undefined) return found;
    const staying = this.#everybody().filter(({ terminating }) => !terminating);
    const wanted = updateOrder(staying, { ...this.#view.strategy, unordered: undefined }, defaultOptions);

    const looked = group === "due" ? staying : wanted.filter(({ updated }) => !updated);
    for (const { ordinal } of looked) found.add(ordinal);
    return found;
  }

  #everybody(): Member[] {
    return this.#view === undefined ? [] : this.members(this.#view);
  }
}

/** Keeps a roster as the shell does, writes that are not answered included, and holds each plan against a fresh one. */
class Twin {
  readonly model: Model;
  readonly writes = new LateWrites();
  plans = 0;
  inFlight = 0;
  readonly #options: Options;
  readonly #events = new RosterEvents();
  readonly #settled = new WeakMap<Pod, boolean>();
  readonly #roster: Roster;
  #claims: ReadonlyMap<string, PersistentVolumeClaim> = new Map();

  constructor(set: StatefulSet, options: Options) {
    this.model = new Model(set);
    this.#options = options;
    this.#roster = this.model.roster(this.writes.pods);
  }

  plan(): void {
    const { model } = this;
    this.#follow();
    this.plans++;
    this.inFlight += this.writes.size;
    const input = { options: this.#options, now: model.now };
    const full = planStatefulSet({
      ...input,
      seen: model.seen(model.roster(this.writes.pods, LookingRoster)),
    });
    const kept = planStatefulSet({ ...input, seen: model.seen(this.#roster), settled: this.#settled });
    const [a, b] = [comparable(kept), comparable(full)];
    if (a !== b) throw new Error(`kept: ${a}\nfull: ${b}`);
    for (const action of kept.actions) {
      if (isPodWrite(action)) this.writes.begin(action, model.now);
      else this.perform(action);
    }
    model.writeStatus(kept.status);
  }

  perform(action: Action): void {
    try {
      this.model.perform(action);
    } catch (error) {
      if (!(error instanceof Refused)) throw error;
    }
  }

  /** All writes are answered, and all kubelets at work, until there should be peace. */
  settle(): void {
    for (let round = 0; round < 12; round++) {
      this.plan();
      while (this.writes.size > 0) this.writes.answer(0, (action) => this.perform(action));
      for (const name of [...this.model.pods.keys()]) this.model.kubelet(name);
      this.model.now += 300;
    }
  }

  #follow(): void {
    const { claims } = this.model;
    this.#events.follow(this.model, this.#roster);
    for (const name of new Set([...this.#claims.keys(), ...claims.keys()])) {
      if (this.#claims.get(name) !== claims.get(name)) this.#roster.claimChanged(name);
    }
    this.#claims = new Map(claims);
  }
}

function comparable(plan: Plan<object>): string {
  return JSON.stringify({ ...plan, actions: plan.actions.filter((action) => !tellsBroken(action)) });
}

/** Told once for each projection of a pod, and thus at other times by somebody who sees all for the first time. */
function tellsBroken(action: Action): boolean {
  return action.type === "event" && action.event.reason === "BrokenPodState";
}

const budget = fc.oneof(fc.integer({ min: 1, max: 6 }), fc.constantFrom("1%", "40%", "100%"));
const byRank: { orderPriority: { orderedKey: string }[] } = { orderPriority: [{ orderedKey: "rank" }] };
const rolling = fc.record({
  podUpdatePolicy: fc.constantFrom("ReCreate", "InPlaceIfPossible", "InPlaceIfPossible", "InPlaceOnly"),
  partition: fc.constantFrom(0, 0, 0, 2, 5),
  maxUnavailable: budget,
  minReadySeconds: fc.constantFrom(0, 0, 1),
  paused: fc.constantFrom(false, false, false, true),
  inPlaceUpdateStrategy: fc.record({ gracePeriodSeconds: fc.constantFrom(0, 0, 1) }),
  unorderedUpdate: fc.oneof(
    { weight: 2, arbitrary: fc.constant(undefined) },
    { weight: 1, arbitrary: fc.constant({ priorityStrategy: byRank }) },
  ),
});
const strategy = fc.oneof(
  { weight: 9, arbitrary: fc.record({ type: fc.constant("RollingUpdate"), rollingUpdate: rolling }) },
  { weight: 1, arbitrary: fc.constant({ type: "OnDelete" }) },
);
const window = fc.record({
  replicas: fc.integer({ min: 0, max: 8 }),
  reserveOrdinals: fc.array(
    fc.oneof(fc.integer({ min: 0, max: 7 }), fc.constantFrom("0-1", "2-3", "3-5", "x")),
    { maxLength: 2 },
  ),
  ordinals: fc.record({ start: fc.constantFrom(0, 0, 2) }),
});

const which = fc.nat(30);
const happenings = {
  kubelet: (model: Model, { name }: Pod) => {
    model.kubelet(name);
  },
  unready: (model: Model, pod: Pod) => befall(model, pod, "unready"),
  failed: (model: Model, pod: Pod) => befall(model, pod, "failed"),
  delete: (model: Model, pod: Pod) => befall(model, pod, "delete"),
  gone: (model: Model, { name }: Pod) => model.pods.delete(name),
  specify: (model: Model, pod: Pod) => label(model, pod, { [SPECIFIED_DELETE]: "true" }),
  hold: (model: Model, pod: Pod) => label(model, pod, { [STATE_LABEL]: "PreparingUpdate", [HOOK]: "true" }),
  "let go": (model: Model, pod: Pod) => label(model, pod, { [STATE_LABEL]: "Normal", [HOOK]: "false" }),
  rank: (model: Model, pod: Pod) => label(model, pod, { rank: `r${pod.name.length % 3}` }),
  lose: (model: Model, pod: Pod) => label(model, pod, { app: "another" }),
  fit: (model: Model, pod: Pod) => label(model, pod, { app: "app" }),
  rename: (model: Model, pod: Pod) => label(model, pod, { [POD_NAME_LABEL]: "" }),
  orphan: (model: Model, { name }: Pod) => model.change(name, { controller: undefined }),
  break: (model: Model, { name, annotations }: Pod) =>
    model.change(name, { annotations: { ...annotations, [STATE_ANNOTATION]: "{" } }),
  "own without an ordinal": (model: Model, pod: Pod) =>
    model.place({ ...pod, name: "app-x", uid: `${pod.uid}-x` }),
  take: (model: Model, pod: Pod) => {
    const controller = { group: "apps", kind: "ReplicaSet", name: "another", uid: "another" };
    model.place({ ...pod, name: "app-4", uid: `${pod.uid}-4`, controller });
  },
  "claim going": (model: Model, { name }: Pod) => changeClaim(model, name, { deletionAt: model.now }),
  "claim lost": (model: Model, { name }: Pod) => model.claims.delete(`data-${name}`),
  "claim grown": (model: Model, { name }: Pod) => {
    const amount = { storage: "2Gi" };
    changeClaim(model, name, { requests: amount, capacity: amount });
  },
  "claim stolen": (model: Model, { name }: Pod) => changeClaim(model, name, { owners: [] }),
} as const;

function label(model: Model, pod: Pod, labels: Record<string, string>): void {
  model.change(pod.name, { labels: { ...pod.labels, ...labels } });
}

function changeClaim(model: Model, pod: string, change: Partial<PersistentVolumeClaim>): void {
  const claim = model.claims.get(`data-${pod}`);
  if (claim !== undefined) model.claims.set(claim.name, { ...claim, ...change });
}

const rare = [
  ...(["rank", "lose", "fit", "rename", "orphan", "break", "own without an ordinal", "take"] as const),
  ...(["claim going", "claim lost", "claim grown", "claim stolen", "gone", "hold", "let go"] as const),
];
const step = fc.oneof(
  { weight: 14, arbitrary: fc.record({ do: fc.constant("plan" as const) }) },
  { weight: 14, arbitrary: lateStep.map((late) => ({ do: "late" as const, late })) },
  { weight: 16, arbitrary: fc.record({ do: fc.constant("kubelet" as const), which }) },
  { weight: 3, arbitrary: fc.record({ do: fc.constant("wait" as const), ms: fc.constantFrom(200, 1100) }) },
  ...templateSteps,
  { weight: 2, arbitrary: fc.record({ do: fc.constant("spec" as const), change: window }) },
  {
    weight: 1,
    arbitrary: strategy.map((updateStrategy) => ({ do: "spec" as const, change: { updateStrategy } })),
  },
  {
    weight: 1,
    arbitrary: fc.constantFrom("Delete", "Retain").map((whenScaled) => ({
      do: "spec" as const,
      change: { persistentVolumeClaimRetentionPolicy: { whenScaled, whenDeleted: "Delete" } },
    })),
  },
  {
    weight: 3,
    arbitrary: fc.record({ do: fc.constantFrom("unready", "failed", "delete", "specify"), which }),
  },
  { weight: 3, arbitrary: fc.record({ do: fc.constantFrom(...rare), which }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant("withdraw" as const) }) },
);
type Step = typeof step extends fc.Arbitrary<infer S> ? S : never;

function take(twin: Twin, one: Step): void {
  const { model } = twin;
  model.now += 20;
  if (one.do === "plan") twin.plan();
  else if (one.do === "late") takeLate(twin.writes, one.late, (action) => twin.perform(action));
  else if (one.do === "withdraw") twin.writes.withdraw(2);
  else if (one.do === "wait") model.now += one.ms;
  else if (one.do === "image" || one.do === "env") changeTemplate(model, one.do, one.tag);
  else if (one.do === "spec") model.changeSpec((spec) => Object.assign(spec, one.change));
  else {
    const pods = [...model.pods.values()];
    const pod = pods[one.which % Math.max(1, pods.length)];
    if (pod !== undefined) happenings[one.do](model, pod);
  }
}

const claimTemplates = (storage: string) => [
  { metadata: { name: "data" }, spec: { resources: { requests: { storage } } } },
];
const more = fc.record({
  area: window,
  limit: fc.constantFrom(undefined, undefined, 2),
  hooked: fc.boolean(),
  settled: fc.boolean(),
  claims: fc.boolean(),
  options: fc.record({
    preparingUpdateAsUpdate: fc.boolean(),
    deletesClaims: fc.boolean(),
    resizesClaims: fc.constantFrom(false, false, true),
  }),
});

for (const podManagementPolicy of ["Parallel", "OrderedReady"]) {
  t.test(
    `property: from event to event the same plans as from nothing, ${podManagementPolicy}`,
    async (t) => {
      let plans = 0;
      let inFlight = 0;
      fc.assert(
        fc.property(
          fc.array(step, { minLength: 40, maxLength: 160 }),
          strategy,
          more,
          (steps, updateStrategy, { area, limit, hooked, settled, claims, options }) => {
            const hook = { labelsHandler: { [HOOK]: "true" } };
            const set = statefulSet("app", {
              ...area,
              podManagementPolicy,
              updateStrategy,
              ...(hooked ? { lifecycle: { preDelete: hook, inPlaceUpdate: hook } } : {}),
              ...(limit === undefined ? {} : { scaleStrategy: { maxUnavailable: limit } }),
              ...(claims ? { volumeClaimTemplates: claimTemplates("1Gi") } : {}),
              revisionHistoryLimit: 1,
              volumeClaimUpdateStrategy: { type: "OnPodRollingUpdate" },
            });
            const twin = new Twin(set, { ...defaultOptions, ...options });
            if (settled) {
              twin.settle();
              changeTemplate(twin.model, "image", 2);
            }
            for (const one of steps) take(twin, one);
            twin.settle();
            twin.model.set.metadata.deletionTimestamp = "2026-01-01T00:00:00Z";
            twin.plan();
            plans += twin.plans;
            inFlight += twin.inFlight;
          },
        ),
        { seed: 20_261_121, numRuns: 500 },
      );
      t.ok(plans > 10_000, `${plans} plans`);
      t.ok(inFlight > 3_000, `${inFlight} pods of plans had a write in flight`);
    },
  );
}

/** A set that is at rest, and how often a pod of it is looked at. */
function plainSet(count: number) {
  const updateStrategy = { type: "RollingUpdate", rollingUpdate: { minReadySeconds: 1 } };
  const spec = { replicas: count, podManagementPolicy: "Parallel", updateStrategy };
  const model = new Model(statefulSet("app", spec));
  const roster = model.roster();
  const events = new RosterEvents();
  const looked = new Set<string>();
  const plan = () => {
    looked.clear();
    events.follow(model, roster);
    const seen = model.seen(roster);
    const made = planStatefulSet({ seen, options: defaultOptions, now: model.now });
    for (const action of made.actions) model.perform(action);
    return made;
  };
  const watched = (pod: Pod): Pod => ({
    ...pod,
    get phase() {
      looked.add(pod.name);
      return pod.phase;
    },
  });
  return { model, plan, looked, watched };
}

t.test("an event of one pod is one pod's work, however many there are", async (t) => {
  const { model, plan, looked, watched } = plainSet(200);
  for (let round = 0; round < 10; round++) {
    plan();
    for (const name of [...model.pods.keys()]) model.kubelet(name);
    model.now += 300;
  }
  t.equal(plan().status.availableReplicas, 200);
  for (const pod of model.owned()) model.place(watched(pod));
  plan();
  t.equal(looked.size, 200);
  const pod = model.pods.get("app-7");
  if (pod === undefined) throw new Error("no pod");
  befall(model, pod, "unready");
  t.equal(plan().status.availableReplicas, 199);
  t.same([...looked], [], "no other pod is looked at");
});

t.test("a survey that fails in its midst forgets nothing", async (t) => {
  const { model, plan } = plainSet(0);
  const controller = { group: "apps.kruise.io", kind: "StatefulSet", name: "app", uid: "set-app" };
  for (const name of ["app-1", "app-2"]) model.place(barePod(name, { labels: { app: "app" }, controller }));
  plan();
  const broken = model.pods.get("app-2");
  if (broken === undefined) throw new Error("no pod");
  model.place({
    ...broken,
    get phase(): string {
      throw new Error("cannot be judged");
    },
  });
  model.pods.delete("app-1");
  t.throws(plan, { message: "cannot be judged" });
  model.place({ ...broken, phase: "Failed" });
  t.equal(plan().status.replicas, 1);
});
