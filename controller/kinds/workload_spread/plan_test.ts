import fc from "fast-check";
import t from "tap";
import type { WorkloadSpread, WorkloadSpreadSubsetStatus } from "../../../crds/index.ts";
import { type Pod, seededRandom } from "../../../kube/index.ts";
import { barePod } from "../../../testkit/controller/pod_builder.ts";
import { spreadOf } from "../../../testkit/controller/workload_spread_builder.ts";
import { isActive } from "../../rollout/pods/pod_state.ts";
import { record } from "./ledger.ts";
import { planWorkloadSpread, type SpreadPlan, type WorkloadSpreadInput } from "./plan.ts";

const now = 1_767_225_600_000;
const at = (ms = 0) => `${new Date(now + ms).toISOString().slice(0, 19)}Z`;
const COST = "controller.kubernetes.io/pod-deletion-cost";
const MATCHED = "apps.kruise.io/matched-workloadspread";
const version = "versionIgnored";

function podOf(name: string, subset: string | undefined, changes: Partial<Pod> = {}): Pod {
  const annotations: Record<string, string> =
    subset === undefined ? {} : { [MATCHED]: JSON.stringify({ name: "web-spread", subset }) };
  return barePod(name, {
    controller: { group: "apps.kruise.io", kind: "CloneSet", name: "web", uid: "set" },
    phase: "Running",
    nodeName: "node",
    createdAt: now,
    annotations,
    ...changes,
  });
}

function plan(
  object: WorkloadSpread,
  pods: readonly Pod[],
  changes: Partial<WorkloadSpreadInput> = {},
): SpreadPlan {
  return planWorkloadSpread({
    object,
    pods,
    size: pods.length,
    adopted: new Map(),
    latestVersion: version,
    now,
    knownFor: () => Number.POSITIVE_INFINITY,
    ...changes,
  });
}

function many(prefix: string, count: number, subset: string | undefined, changes: Partial<Pod> = {}): Pod[] {
  return Array.from({ length: count }, (_, index) => podOf(`${prefix}${index}`, subset, changes));
}

function costsIn({ patches }: SpreadPlan, prefix: string): Record<string, number> {
  const costs: Record<string, number> = {};
  for (const { pod, metadata } of patches) {
    if (!pod.name.startsWith(prefix)) continue;
    const cost = String(Object(metadata["annotations"])[COST]);
    costs[cost] = (costs[cost] ?? 0) + 1;
  }
  return costs;
}

t.test("costs: the table of the spec", async (t) => {
  const spread = spreadOf([10, 10, undefined]);
  const of = (a: number, b: number, c: number) =>
    plan(spread, [...many("a", a, "a"), ...many("b", b, "b"), ...many("c", c, "c")]);
  const even = of(10, 10, 10);
  t.strictSame(
    [costsIn(even, "a"), costsIn(even, "b"), costsIn(even, "c")],
    [{ 300: 10 }, { 200: 10 }, { 100: 10 }],
  );
  const over = of(20, 20, 10);
  t.strictSame(
    [costsIn(over, "a"), costsIn(over, "b"), costsIn(over, "c")],
    [{ 300: 10, "-100": 10 }, { 200: 10, "-200": 10 }, { 100: 10 }],
  );
  t.strictSame(costsIn(plan(spreadOf([2]), many("p", 2, "a")), "p"), { 100: 2 });
  t.strictSame(costsIn(plan(spreadOf([undefined]), many("p", 3, "b")), "p"), { "-200": 3 });
});

t.test(
  "costs: the least valuable are over the cap, old versions go from front to back, nothing is written twice",
  async (t) => {
    const pending = podOf("pending", "a", { phase: "Pending", nodeName: "" });
    const fine = { [MATCHED]: '{"name":"web-spread","subset":"a"}', [COST]: "100" };
    const { patches } = plan(spreadOf([1]), [podOf("fine", "a", { annotations: fine }), pending]);
    t.match(patches, [{ pod: { name: "pending" }, metadata: { annotations: { [COST]: "-100" } } }]);
    t.equal(patches.length, 1);
    const set = { group: "apps", kind: "ReplicaSet", name: "web-1", uid: "rs" };
    const of = (hash: string, subset: string) =>
      podOf(`${hash}-${subset}`, subset, { controller: set, labels: { "pod-template-hash": hash } });
    const rolled = plan(
      spreadOf([1, undefined]),
      [of("new", "a"), of("new", "b"), of("old", "a"), of("old", "b")],
      { latestVersion: "new" },
    );
    t.strictSame(
      rolled.patches.map(({ pod, metadata }) => [pod.name, Object(metadata["annotations"])[COST]]),
      [
        ["new-a", "200"],
        ["new-b", "100"],
        ["old-a", "100"],
        ["old-b", "200"],
      ],
    );
    t.strictSame(Object.keys(rolled.status.versionedSubsetStatuses ?? {}), ["new", "old"]);
    t.strictSame(plan(spreadOf([1]), [pending], { latestVersion: undefined }).patches, []);
  },
);

t.test("status: percentages, finished and terminating pods", async (t) => {
  const pods = [
    podOf("p", "a"),
    podOf("q", "b"),
    podOf("done", "b", { phase: "Succeeded" }),
    podOf("going", "b", { deletionAt: now }),
    podOf("plain", undefined),
  ];
  const { status } = plan(spreadOf(["20%", "80%"]), pods, { size: 5 });
  const rows = [
    { name: "a", replicas: 1, missingReplicas: 0 },
    { name: "b", replicas: 1, missingReplicas: 3 },
  ];
  t.match(status, {
    observedGeneration: 1,
    subsetStatuses: rows,
    versionedSubsetStatuses: { [version]: rows },
  });
  const unknown = plan(spreadOf([2, 5]), [...many("a", 2, "a"), ...many("b", 1, "b")], { size: -1 });
  t.match(unknown.status.subsetStatuses, [
    { replicas: 2, missingReplicas: 0 },
    { replicas: 1, missingReplicas: 4 },
  ]);
  t.strictSame(plan(spreadOf([2]), []).status, {
    observedGeneration: 1,
    subsetStatuses: [{ name: "a", missingReplicas: 2, replicas: 0 }],
  });
});

const ledger = (rows: WorkloadSpreadSubsetStatus[]) => ({
  status: { versionedSubsetStatuses: { [version]: rows } },
});

t.test("what was admitted is waited for, and reported when it does not happen", async (t) => {
  const rows = [
    {
      name: "a",
      replicas: 3,
      missingReplicas: 0,
      creatingPods: { seen: at(-1000), soon: at(-20_000), never: at(-30_000), "some-uid": at() },
      deletingPods: { gone: at(), going: at(-5000), stays: at(-15_000) },
    },
  ];
  const withUid = { [MATCHED]: '{"name":"web-spread","subset":"a","uid":"some-uid"}' };
  const pods = [
    podOf("seen", "a"),
    podOf("named-since", undefined, { annotations: withUid }),
    podOf("going", "a"),
    podOf("stays", "a"),
  ];
  const { status, events, requeueAfterMs } = plan(spreadOf([9], ledger(rows)), pods);
  t.strictSame(status.versionedSubsetStatuses?.[version], [
    {
      name: "a",
      creatingPods: { soon: at(-20_000) },
      deletingPods: { going: at(-5000) },
      missingReplicas: 5,
      replicas: 4,
    },
  ]);
  t.strictSame(
    events.map(({ type, reason, message }) => `${type} ${reason} ${message}`),
    [
      "Warning CreatePodFailed Pod default/never was expected to be created but it wasn't",
      "Warning DeletePodFailed Pod default/stays was expected to be deleted but it wasn't",
    ],
  );
  t.equal(requeueAfterMs, 10_000);
});

t.test("pods that find no node close their subset, which opens again after five minutes", async (t) => {
  const adaptive = (rows?: WorkloadSpreadSubsetStatus[]) =>
    spreadOf([2, undefined], {
      scheduleStrategy: { type: "Adaptive", adaptive: { rescheduleCriticalSeconds: 5 } },
      ...(rows === undefined ? {} : { status: { subsetStatuses: rows } }),
    });
  const stuck = (age: number): Partial<Pod> => ({
    phase: "Pending",
    nodeName: "",
    createdAt: now - age,
    conditions: [
      { type: "PodScheduled", status: "False", reason: "Unschedulable", message: "", lastTransitionAt: 0 },
    ],
  });
  const closed = plan(adaptive(), [podOf("p", "a", stuck(5000)), podOf("q", "b", stuck(9000))]);
  t.match(closed.givenUp, [{ pod: { name: "p" }, subset: "a" }]);
  t.equal(closed.givenUp.length, 1, "the last subset keeps its pods");
  const of = ({ status }: SpreadPlan) =>
    status.subsetStatuses?.map(({ conditions }) =>
      conditions?.map(({ status, reason }) => `${status} ${reason}`),
    );
  t.strictSame(of(closed), [["False PodUnschedulable"], ["True Sufficient"]]);
  t.strictSame(closed.events, []);
  t.equal(plan(adaptive(), [podOf("p", "a", stuck(2000))]).requeueAfterMs, 3000);
  t.strictSame(plan(adaptive(), [podOf("p", "a", stuck(2000))]).givenUp, []);
  const since = (ms: number) =>
    (closed.status.subsetStatuses ?? []).map((row) => ({
      ...row,
      conditions: (row.conditions ?? []).map((each) => ({ ...each, lastTransitionTime: at(-ms) })),
    }));
  const held = plan(adaptive(since(299_000)), []);
  t.strictSame(of(held), [["False PodUnschedulable"], ["True Sufficient"]]);
  t.equal(held.requeueAfterMs, 1000);
  const open = plan(adaptive(since(300_000)), []);
  t.strictSame(of(open), [["True Sufficient"], ["True Sufficient"]]);
  t.match(open.events, [
    {
      type: "Normal",
      reason: "RecoverSchedulable",
      message: "Subset a of WorkloadSpread default/web-spread is recovered from unschedulable to schedulable",
    },
  ]);
  const fixed = plan(spreadOf([2, undefined]), [podOf("p", "a", stuck(9000))]);
  t.strictSame([of(fixed), fixed.givenUp], [[undefined, undefined], []]);
});

t.test("pods that were there before get annotation, metadata and cost in one patch", async (t) => {
  const patch = { metadata: { labels: { pool: "a" }, annotations: { x: "y" }, name: "no" }, spec: { a: 1 } };
  const subsets = [{ name: "a", patch }];
  const pods = [podOf("p", undefined)];
  const adopted = new Map([["uid-p", "a"]]);
  const annotations = { x: "y", [MATCHED]: '{"name":"web-spread","subset":"a"}', [COST]: "100" };
  const { patches, status } = plan(spreadOf([], { subsets }), pods, { adopted });
  t.strictSame(patches[0]?.metadata, { labels: { pool: "a" }, annotations });
  t.match(status.subsetStatuses, [{ replicas: 1 }]);
  const spread = spreadOf([], { subsets });
  const ignored = "workloadspread.kruise.io/ignore-patch-existing-pods-metadata";
  const metadata = { ...spread.metadata, annotations: { [ignored]: "True" } };
  const { x: _, ...bare } = annotations;
  t.strictSame(plan({ ...spread, metadata }, pods, { adopted }).patches[0]?.metadata, { annotations: bare });
});

/** A cluster in which what admission records, what happens to pods and what the controller sees lie apart in time. */
class Model {
  spread: WorkloadSpread;
  #caps: readonly (number | undefined)[];
  /** Subsets in which nothing is scheduled. */
  readonly #full = new Set<number>();
  readonly #random: () => number;
  readonly #pods = new Map<string, Pod>();
  /** Names of pods whose deletion was admitted. */
  readonly #leaving = new Set<string>();
  /** What the controller is still to hear of. */
  readonly #late: (readonly [name: string, pod: Pod | undefined])[] = [];
  readonly #view = new Map<string, Pod>();
  #now = now;
  #names = 0;
  creations = 0;
  deletions = 0;

  constructor(
    caps: readonly (number | undefined)[],
    seed: number,
    changes: Parameters<typeof spreadOf>[1] = {},
  ) {
    this.#caps = caps;
    this.spread = spreadOf(caps, changes);
    this.#random = seededRandom(seed);
  }

  step(): void {
    const chance = this.#random();
    this.#now += Math.floor(this.#random() * 400);
    if (chance < 0.4) this.#create();
    else if (chance < 0.7) this.#admitDeletion();
    else if (chance < 0.85) this.#finishDeletion();
    else if (chance < 0.95) this.#hear(Math.ceil(this.#random() * 5));
    else this.#pass();
    // A view that is older than what is recorded is good for says nothing of it.
    if (this.#late.length > 20) this.#hear(10);
  }

  /** Caps change, subsets fill up and have room again, pods end. */
  befall(): void {
    const chance = this.#random();
    const index = Math.floor(this.#random() * this.#caps.length);
    if (chance < 0.3) {
      this.#caps = this.#caps.map((cap, at) =>
        at === index && cap !== undefined ? Math.floor(chance * 20) : cap,
      );
      const { metadata, spec } = this.spread;
      const { subsets } = spreadOf(this.#caps).spec;
      const generation = (metadata.generation ?? 0) + 1;
      this.spread = { ...this.spread, metadata: { ...metadata, generation }, spec: { ...spec, subsets } };
    } else if (chance < 0.5) this.#full.add(index);
    else if (chance < 0.7) this.#free(index);
    else {
      const pods = [...this.#pods.values()];
      const pod = pods[Math.floor(this.#random() * pods.length)];
      if (pod !== undefined) this.#change({ ...pod, phase: chance < 0.85 ? "Failed" : "Succeeded" });
    }
  }

  #free(index: number): void {
    this.#full.delete(index);
    for (const pod of this.#pods.values())
      if (this.#subsetOf(pod) === index && pod.phase === "Pending")
        this.#change({ ...pod, phase: "Running", nodeName: "node", conditions: [] });
  }

  #change(pod: Pod): void {
    this.#pods.set(pod.name, pod);
    this.#late.push([pod.name, pod]);
  }

  /** Every subset has room again, and for long enough. */
  open(): void {
    for (const index of this.#caps.keys()) this.#free(index);
    this.#hear(this.#late.length);
    this.#now += 301_000;
  }

  /** `replicas`, `missingReplicas` and `Schedulable` as they should be. */
  rows(): unknown[] {
    const counts = this.counts();
    return this.#caps.map((cap, index) => [
      counts[index],
      cap === undefined ? -1 : Math.max(0, cap - (counts[index] ?? 0)),
    ]);
  }

  settle(): void {
    for (const name of this.#leaving) this.#remove(name);
    this.#leaving.clear();
    this.#hear(this.#late.length);
    this.#now += 31_000;
    this.#pass();
  }

  /** Pods by subset that nobody has let go. */
  counts(): number[] {
    const staying = [...this.#pods.values()].filter((pod) => !this.#leaving.has(pod.name) && isActive(pod));
    return this.#caps.map((_, index) => staying.filter((pod) => this.#subsetOf(pod) === index).length);
  }

  #subsetOf(pod: Pod): number {
    const match: unknown = JSON.parse(pod.annotations[MATCHED] ?? "{}");
    return String(Object(match).subset).charCodeAt(0) - 97;
  }

  #create(): void {
    const gone = this.#random() < 0.2 ? Math.floor(this.#random() * this.#names) : this.#names++;
    const name = `p${gone}`;
    if (this.#pods.has(name) || this.#isUnheard(name)) return;
    const entry = { type: "creation", version, key: name } as const;
    const { subsets, status } = record(this.spread, [entry], -1, this.#now);
    const [subset] = subsets;
    const index = (subset ?? "?").charCodeAt(0) - 97;
    const cap = this.#caps[index] ?? Number.POSITIVE_INFINITY;
    const row = this.spread.status?.versionedSubsetStatuses?.[version]?.[index];
    // One that is asked for again goes where it was to go (rule 7).
    const isAgain = Object.hasOwn(row?.creatingPods ?? {}, name);
    if (subset !== undefined && !isAgain && (this.counts()[index] ?? 0) >= cap)
      throw new Error(`${name} is one too many: ${JSON.stringify(row)} ${cap} ${this.counts()[index]}`);
    if (!isAgain && row?.conditions?.some((each) => each.status === "False"))
      throw new Error(`${subset} is closed`);
    if (status !== undefined) this.spread = { ...this.spread, status };
    // Somebody else may refuse the pod after it was counted.
    if (this.#random() < 0.05) return;
    this.creations++;
    const stuck: Partial<Pod> = this.#full.has(index)
      ? { phase: "Pending", nodeName: "", createdAt: this.#now, conditions: [refused] }
      : {};
    this.#change(podOf(name, subset, { uid: `${name}-${this.creations}`, ...stuck }));
  }

  /** The former pod of the name is in the controller's view still: its place and that of the next one cannot be told apart. */
  #isUnheard(name: string): boolean {
    return this.#view.has(name) || this.#late.some(([late]) => late === name);
  }

  #admitDeletion(): void {
    const pods = [...this.#pods.values()].filter(({ name }) => !this.#leaving.has(name));
    const pod = pods[Math.floor(this.#random() * pods.length)];
    if (pod !== undefined) this.#letGo(pod);
  }

  #letGo(pod: Pod): void {
    this.deletions++;
    this.#leaving.add(pod.name);
    if (!isActive(pod)) return;
    const subset = String.fromCharCode(97 + this.#subsetOf(pod));
    const entry = { type: "deletion", version, pod: pod.name, uid: pod.uid, subset } as const;
    const { status } = record(this.spread, [entry], -1, this.#now);
    if (status !== undefined) this.spread = { ...this.spread, status };
  }

  #finishDeletion(): void {
    const [name] = this.#leaving;
    if (name === undefined) return;
    this.#leaving.delete(name);
    this.#remove(name);
  }

  #remove(name: string): void {
    this.#pods.delete(name);
    this.#late.push([name, undefined]);
  }

  #hear(count: number): void {
    for (const [name, pod] of this.#late.splice(0, count)) {
      if (pod === undefined) this.#view.delete(name);
      else this.#view.set(name, pod);
    }
  }

  #pass(): void {
    const pods = [...this.#view.values()];
    const { status, givenUp } = plan(this.spread, pods, { now: this.#now, latestVersion: undefined });
    this.spread = { ...this.spread, status };
    for (const { pod } of givenUp) {
      const stored = this.#pods.get(pod.name);
      if (stored?.uid === pod.uid && !this.#leaving.has(pod.name)) this.#letGo(stored);
    }
  }
}

const refused = {
  type: "PodScheduled",
  status: "False",
  reason: "Unschedulable",
  message: "",
  lastTransitionAt: now,
};

// Rules 7, 9, 30 to 33, 35 and 39.
t.test(
  "caps change, subsets fill up, pods end: none is one too many, none goes to a closed subset",
  async (t) => {
    for (let seed = 1; seed <= 100; seed++) {
      const scheduleStrategy = { type: "Adaptive" as const, adaptive: { rescheduleCriticalSeconds: 5 } };
      const model = new Model(
        [seed % 5, 3 + (seed % 7), undefined],
        seed,
        seed % 3 === 0 ? {} : { scheduleStrategy },
      );
      for (let round = 0; round < 3; round++) {
        for (let step = 0; step < 100; step++) {
          model.step();
          if (step % 7 === seed % 7) model.befall();
        }
        model.open();
        model.settle();
        const { subsetStatuses = [], versionedSubsetStatuses } = model.spread.status ?? {};
        const rows = subsetStatuses.map((row) => [row.replicas, row.missingReplicas]);
        if (JSON.stringify(rows) !== JSON.stringify(model.rows()))
          throw new Error(`seed ${seed}: ${JSON.stringify(rows)} instead of ${JSON.stringify(model.rows())}`);
        for (const row of [...subsetStatuses, ...(versionedSubsetStatuses?.[version] ?? [])]) {
          if (row.creatingPods !== undefined || row.deletingPods !== undefined)
            throw new Error(`seed ${seed}: left over`);
          if (row.conditions?.some(({ status }) => status !== "True"))
            throw new Error(`seed ${seed}: ${row.name} is closed`);
        }
      }
    }
    t.pass("held in all histories");
  },
);

t.test(
  "over 10,000 creations no subset ever has more pods than its cap, and at rest the status is exact",
  async (t) => {
    let [creations, deletions, worst] = [0, 0, 0];
    for (let seed = 1; creations < 10_000; seed++) {
      const caps = [seed % 5, 3 + (seed % 7), seed % 2 === 0 ? undefined : 6];
      const model = new Model(caps, seed);
      for (let round = 0; round < 5; round++) {
        for (let step = 0; step < 200; step++) {
          model.step();
          for (const [index, count] of model.counts().entries())
            worst = Math.max(worst, count - (caps[index] ?? Number.POSITIVE_INFINITY));
        }
        model.settle();
        const counts = model.counts();
        const rows = (model.spread.status?.subsetStatuses ?? []).map((row) => [
          row.replicas,
          row.missingReplicas,
        ]);
        const wanted = caps.map((cap, index) => [
          counts[index],
          cap === undefined ? -1 : cap - (counts[index] ?? 0),
        ]);
        if (JSON.stringify(rows) !== JSON.stringify(wanted))
          t.fail(`seed ${seed}: ${rows} instead of ${wanted}`);
        for (const row of model.spread.status?.versionedSubsetStatuses?.[version] ?? []) {
          if (row.creatingPods !== undefined || row.deletingPods !== undefined)
            t.fail(`seed ${seed}: left over`);
        }
      }
      creations += model.creations;
      deletions += model.deletions;
    }
    t.ok(worst <= 0, `${worst} pods over a cap, of ${creations} creations and ${deletions} deletions`);
  },
);

t.test("a second pass over what the first one wrote changes nothing", async (t) => {
  const pods = fc.array(
    fc.record({
      subset: fc.constantFrom("a", "b", "gone", undefined),
      phase: fc.constantFrom("Pending", "Running", "Failed"),
      deletionAt: fc.constantFrom(undefined, now),
    }),
    { maxLength: 12 },
  );
  const caps = fc.tuple(fc.option(fc.nat(4), { nil: undefined }), fc.option(fc.nat(4), { nil: undefined }));
  const property = fc.property(pods, caps, (pods, caps) => {
    const spread = spreadOf(caps);
    const before = pods.map(({ subset, ...rest }, index) => podOf(`p${index}`, subset, rest));
    const first = plan(spread, before);
    const costs = new Map(
      first.patches.map(({ pod, metadata }) => [pod.uid, Object(metadata["annotations"])]),
    );
    const after = before.map((pod) => ({
      ...pod,
      annotations: { ...pod.annotations, ...costs.get(pod.uid) },
    }));
    const second = plan({ ...spread, status: first.status }, after);
    t.strictSame(second.status, first.status);
    return second.patches.length === 0;
  });
  fc.assert(property, { seed: 47, numRuns: 300 });
});

t.test(
  "what admission has let pass holds its place until it is old by its date and has been known for as long",
  async (t) => {
    const ledger = { creatingPods: { late: at(-60_000) }, deletingPods: { a0: at(-60_000) } };
    const spread = spreadOf([3, undefined]);
    const status = { name: "a", missingReplicas: 0, replicas: 1, ...ledger };
    spread.status = { observedGeneration: 1, subsetStatuses: [status] };
    const roomAfter = (knownMs: number) =>
      plan(spread, many("a", 1, "a"), { knownFor: () => knownMs }).status.subsetStatuses?.[0];
    t.match(roomAfter(14_000), { ...ledger, missingReplicas: 2 });
    t.match(roomAfter(20_000), {
      creatingPods: ledger.creatingPods,
      deletingPods: undefined,
      missingReplicas: 1,
    });
    t.match(roomAfter(30_000), { creatingPods: undefined, missingReplicas: 2 });
  },
);
