import { isDeepStrictEqual } from "node:util";
import fc from "fast-check";
import t from "tap";
import {
  cloneSet,
  defaultCloneSet,
  type SubsetTemplateName,
  shareOf,
  type UnitedDeployment,
  validateCloneSet,
} from "../../../crds/index.ts";
import { UnitedModel } from "../../../testkit/controller/united_deployment_model.ts";
import { RESERVED_LABEL, REVISION_LABEL, SUBSET_LABEL } from "./names.ts";

const labels = { app: "web" };

function template(image: string, name: SubsetTemplateName = "statefulSetTemplate", more: object = {}) {
  const pods = { metadata: { labels }, spec: { containers: [{ name: "main", image }] } };
  return {
    [name]: { metadata: { labels }, spec: { selector: { matchLabels: labels }, template: pods, ...more } },
  };
}

function model(spec: Partial<UnitedDeployment["spec"]> = {}): UnitedModel {
  return new UnitedModel({
    metadata: { name: "web", namespace: "ns", uid: "u", generation: 1 },
    spec: {
      selector: { matchLabels: labels },
      replicas: 6,
      template: template("a"),
      topology: { subsets: [{ name: "a", replicas: 1 }, { name: "b", replicas: "50%" }, { name: "c" }] },
      ...spec,
    },
  });
}

function condition(world: UnitedModel, type = "UnitedDeploymentUpdated") {
  return world.object.status?.conditions?.find((each) => each.type === type);
}

const counts = ({ object: { status } }: UnitedModel) => [
  status?.replicas,
  status?.updatedReplicas,
  status?.readyReplicas,
];

t.test("workloads are made, and nothing is left to do", async (t) => {
  const world = model();
  t.same(
    world.pass().creations.map(({ target }) => target.subset.name),
    ["a", "b", "c"],
  );
  t.match(world.settle(), { creations: [], updates: [], deletions: [], revision: { write: "none" } });
  t.same(world.sizes(), { a: 1, b: 3, c: 2 });
  t.same(counts(world), [6, 6, 6]);
  t.equal(condition(world)?.status, "True");
});

t.test("a rollout in portions", async (t) => {
  const world = model({ updateStrategy: { manualUpdate: { partitions: { b: 2, c: 1 } } } });
  world.settle();
  const first = world.object.status?.currentRevision;
  world.change({ template: template("b") });
  t.match(world.pass().revision, { write: "create", update: { number: 2 } });
  t.equal(condition(world)?.status, "False");
  world.settle();
  t.same(counts(world), [6, 3, 6]);
  t.equal(world.object.status?.currentRevision, first);
  t.equal(condition(world)?.reason, "UnitedDeploymentRevisionUpdating");
  world.change({ updateStrategy: { manualUpdate: { partitions: { b: 0 } } } });
  world.settle();
  t.same(counts(world), [6, 6, 6]);
  t.not(world.object.status?.currentRevision, first);
  t.equal(condition(world)?.status, "True");
  world.change({ template: template("a") });
  world.settle();
  t.equal(world.object.status?.currentRevision, first, "back under the same name");
  t.same(world.revisions.map(({ revision }) => revision).sort(), [2, 3]);
});

t.test("a partition is no more than there are pods, and comes back with them", async (t) => {
  const subsets = (replicas: number) => ({ subsets: [{ name: "a", replicas }, { name: "b" }] });
  const world = model({ topology: subsets(4), updateStrategy: { manualUpdate: { partitions: { a: 2 } } } });
  const partition = () => world.object.status?.subsetStatuses?.find(({ name }) => name === "a")?.partition;
  world.settle();
  t.equal(partition(), 2);
  world.change({ topology: subsets(1) });
  world.settle();
  t.equal(partition(), 1);
  world.change({ topology: subsets(4) });
  world.settle();
  t.equal(partition(), 2);
});

t.test("numbers that cannot be met leave the workloads as they are, and are reported", async (t) => {
  const world = model();
  world.settle();
  world.change({ replicas: 1 });
  const plan = world.settle();
  t.match(plan.problem, "specified subsets' replica (2) is greater than UnitedDeployment replica (1)");
  t.same(world.sizes(), { a: 1, b: 3, c: 2 });
  t.match(condition(world, "SubsetProvisioned"), { status: "False", message: plan.problem });
  t.equal(world.object.status?.observedGeneration, 2);
  const before = world.children;
  world.change({ template: template("a", "advancedStatefulSetTemplate") });
  t.match(world.pass(), { deletions: [], creations: [] }, "nothing could take their place");
  world.change({ template: template("a"), topology: { subsets: [{ name: "a", replicas: 2 }] } });
  t.match(world.pass(), { deletions: [] });
  t.same(world.children, before);
  world.change({
    replicas: 10,
    topology: { subsets: [{ name: "a", replicas: 1 }, { name: "b", replicas: "50%" }, { name: "c" }] },
  });
  world.settle();
  t.equal(condition(world, "SubsetProvisioned")?.status, "True");
});

// Rule 26; cloneset 6.
t.test("CloneSets that are made from any strategy of a template pass their own admission", async (t) => {
  const strategies = [{}, { type: "OnDelete" }, { rollingUpdate: { maxUnavailable: 1 } }];
  const whole = { type: "OnDelete", rollingUpdate: { maxUnavailable: 1, maxSurge: 0 } };
  const made = [...strategies, whole].map((updateStrategy) => {
    const world = model({
      template: template("a", "cloneSetTemplate", { updateStrategy }),
      updateStrategy: { manualUpdate: { partitions: { b: 2 } } },
    });
    const children = world.pass().creations.map(({ manifest }) => {
      const object = { apiVersion: "apps.kruise.io/v1beta1", kind: "CloneSet", metadata: { name: "x" } };
      const options = { templateDefaults: true, hostNetworkPorts: false };
      return defaultCloneSet({ ...object, spec: manifest.spec }, options);
    });
    for (const child of children) {
      const read = cloneSet.read(child);
      const context = { allowPrivileged: false, findPod: () => undefined };
      t.same("errors" in read ? read.errors : validateCloneSet(read, undefined, context), []);
    }
    t.equal(world.settle().updates.length, 0);
    return world.children[1]?.spec["updateStrategy"];
  });
  t.same(made[1], { type: "OnDelete" });
  t.match(made[3], { type: "OnDelete", rollingUpdate: { partition: 2 } });
});

// Spec uniteddeployment 2, `name`: unique; admission may not have seen it.
t.test("a name that two subsets have is a problem, not two sizes for one workload by turns", async (t) => {
  const sizes = [{ type: "Adaptive" as const }, { type: "Fixed" as const }].map((scheduleStrategy) => {
    const world = model({ topology: { subsets: [{ name: "a" }, { name: "b" }] } });
    world.settle();
    const subsets = [{ name: "a", maxReplicas: 1 }, { name: "a", maxReplicas: 2 }, { name: "b" }];
    world.change({ topology: { scheduleStrategy, subsets } });
    t.match(world.settle(), { problem: "duplicated subset name a", updates: [], deletions: [] });
    return world.sizes();
  });
  t.same(sizes, [
    { a: 3, b: 3 },
    { a: 3, b: 3 },
  ]);
});

t.test("subsets come and go; another kind of template replaces all", async (t) => {
  const world = model({ topology: { subsets: [{ name: "a" }, { name: "b" }] } });
  world.settle();
  world.change({ topology: { subsets: [{ name: "b" }, { name: "c" }, { name: "d" }] } });
  world.settle();
  t.same(world.sizes(), { b: 2, c: 2, d: 2 });
  t.same(
    world.object.status?.subsetStatuses?.map(({ name }) => name),
    ["b", "c", "d"],
  );
  const before = world.children;
  world.change({ template: template("a", "advancedStatefulSetTemplate") });
  world.settle();
  t.notOk(world.children.some((child) => before.includes(child)));
  t.ok(world.children.every((child) => child.template === "advancedStatefulSetTemplate"));
  t.same(counts(world), [6, 6, 6]);
});

t.test("a patch changes one subset, and no revision", async (t) => {
  const world = model();
  world.settle();
  const patch = { spec: { containers: [{ name: "main", image: "b" }] } };
  world.change({
    topology: { subsets: [{ name: "a", replicas: 1, patch }, { name: "b", replicas: "50%" }, { name: "c" }] },
  });
  const plan = world.pass();
  t.same(
    plan.updates.map(({ target }) => target.subset.name),
    ["a"],
  );
  t.equal(plan.revision?.write, "none");
  world.settle();
  t.equal(world.object.status?.updatedReplicas, 6);
});

t.test("a patch that cannot be applied keeps its own subset as it is, and is reported at once", async (t) => {
  const broken = { $patch: "mend" };
  const topology = (patch: object | undefined, ...others: readonly string[]) => ({
    subsets: [{ name: "a", ...(patch && { patch }) }, ...others.map((name) => ({ name }))],
  });
  const world = model({ topology: topology(broken, "b") });
  t.match(world.pass(), {
    creations: [{ target: { subset: { name: "b" } } }],
    unpatched: [{ target: { subset: { name: "a" } }, child: undefined }],
  });
  const message = 'unknown patch type: "mend" in map';
  t.match(condition(world, "SubsetUpdated"), { status: "False", message });
  world.change({ topology: topology(undefined, "b", "c") });
  world.settle();
  t.same(world.sizes(), { a: 2, b: 2, c: 2 });
  t.equal(condition(world, "SubsetUpdated")?.status, "True");
  world.change({ topology: topology(broken, "b", "c"), template: template("b") });
  const plan = world.pass();
  t.match(plan.updates, [{ target: { subset: { name: "b" } } }, { target: { subset: { name: "c" } } }]);
  t.match(plan.unpatched, [{ child: { labels: { [SUBSET_LABEL]: "a" } } }]);
  t.match(condition(world, "SubsetUpdated"), { status: "False", message });
});

t.test(
  "another kind of template takes no workload whose subset has a patch that cannot be applied",
  async (t) => {
    const topology = (patch: Record<string, unknown>) => ({ subsets: [{ name: "a", patch }, { name: "b" }] });
    const world = model({ topology: topology({}) });
    world.settle();
    world.change({ topology: topology({ $patch: "mend" }), template: template("a", "cloneSetTemplate") });
    world.settle();
    t.same(world.sizes(), { a: 3, b: 3 });
    t.same(
      world.children.map((child) => child.template),
      ["statefulSetTemplate", "cloneSetTemplate"],
    );
    world.change({ topology: topology({}) });
    world.settle();
    t.same(world.sizes(), { a: 3, b: 3 });
    t.ok(world.children.every((child) => child.template === "cloneSetTemplate"));
  },
);

t.test("old pods that are broken do not block a native set", async (t) => {
  const world = model({ replicas: 2, topology: { subsets: [{ name: "a" }] } });
  world.full.add("a");
  world.pass();
  world.work();
  world.change({ template: template("b") });
  t.same(world.pass().brokenPods, [], "the set is changed first");
  t.equal(world.plan().brokenPods.length, 2);
  world.change({ template: template("b"), updateStrategy: { manualUpdate: { partitions: { a: 1 } } } });
  t.same(world.pass().brokenPods, [], "the partition is written first");
  t.same(
    world.plan().brokenPods.map(({ name }) => name),
    ["web-a-0-1"],
    "what the partition keeps stays",
  );
});

t.test("a partition keeps as many broken pods where ordinals begin higher", async (t) => {
  const begun = (image: string) => {
    const pods = { metadata: { labels }, spec: { containers: [{ name: "main", image }] } };
    const spec = { selector: { matchLabels: labels }, ordinals: { start: 5 }, template: pods };
    return { statefulSetTemplate: { metadata: { labels }, spec } };
  };
  const world = model({
    replicas: 3,
    template: begun("a"),
    topology: { subsets: [{ name: "a" }] },
    updateStrategy: { manualUpdate: { partitions: { a: 2 } } },
  });
  world.full.add("a");
  world.pass();
  world.work();
  world.change({ template: begun("b") });
  world.pass();
  t.same(
    world.plan().brokenPods.map(({ name }) => name),
    ["web-a-0-7"],
  );
});

t.test("revisions beyond the limit go, those in use stay", async (t) => {
  const world = model({ revisionHistoryLimit: 2 });
  for (const image of ["a", "b", "c", "d"]) {
    world.change({ template: template(image) });
    world.settle();
  }
  t.same(world.revisions.map(({ revision }) => revision).sort(), [3, 4]);
});

// Rule 9.
t.test("the revision that workloads are made of stays until the status names the next one", async (t) => {
  const world = model({ revisionHistoryLimit: 1 });
  world.settle();
  world.change({ template: template("b") });
  world.pass();
  const updated = world.object.status?.updatedRevision;
  world.change({ template: template("c") });
  t.same(world.pass().surplus, [], "the server may refuse the next one");
  t.ok(world.revisions.some(({ name }) => name === updated));
  t.match(world.pass().surplus, [{ name: updated }]);
  world.settle();
  t.same(
    world.revisions.map(({ revision }) => revision),
    [3],
  );
});

function adaptive(more: object, subsets: object[], kind: SubsetTemplateName) {
  const scheduleStrategy = {
    type: "Adaptive" as const,
    adaptive: { rescheduleCriticalSeconds: 10, unschedulableDuration: 10, ...more },
  };
  const named = subsets.map((subset, index) => ({ name: `s${index}`, minReplicas: 0, ...subset }));
  return model({
    replicas: 3,
    template: template("a", kind),
    topology: { scheduleStrategy, subsets: named },
  });
}

/** Lets the scheduler's time pass, too. */
function wait(world: UnitedModel, seconds: number): void {
  world.now += seconds * 1000;
  world.settle();
}

// Scenario 12.
t.test("a subset in which nothing is scheduled is closed for a while", async (t) => {
  const world = adaptive({}, [{ maxReplicas: 2 }, { maxReplicas: 2 }, {}], "cloneSetTemplate");
  const subset = () => world.object.status?.subsetStatuses?.[1]?.conditions?.[0];
  world.full.add("s1");
  t.equal(world.settle().requeueAfterMs, 10_000);
  t.same(world.sizes(), { s0: 2, s1: 1, s2: 0 });
  wait(world, 10);
  t.same(world.sizes(), { s0: 2, s1: 0, s2: 1 });
  t.match(subset(), { status: "False", reason: "reschedule", message: "timeout pending pods found" });
  world.change({ replicas: 5 });
  world.settle();
  t.same(world.sizes(), { s0: 2, s1: 0, s2: 3 });
  world.change({ replicas: 4 });
  world.settle();
  t.same(world.sizes(), { s0: 2, s1: 0, s2: 2 });
  world.full.delete("s1");
  wait(world, 10);
  t.match(subset(), {
    status: "True",
    reason: "recover",
    message: "unschedulable subset recovered after 10.000000 seconds",
  });
  world.change({ replicas: 5 });
  world.settle();
  t.same(world.sizes(), { s0: 2, s1: 1, s2: 2 });
});

t.test("a subset that is closed for no time is looked at again after a second, not at once", async (t) => {
  for (const unschedulableDuration of [0, -1]) {
    const world = adaptive({ unschedulableDuration }, [{ minReplicas: 1 }, {}], "cloneSetTemplate");
    world.full.add("s0");
    world.settle();
    wait(world, 10);
    t.match(world.object.status?.subsetStatuses?.[0]?.conditions, [{ status: "False" }]);
    t.equal(world.plan().requeueAfterMs, 1000);
  }
});

// Rule 40.
t.test("a subset of which nothing says since when it is closed is open again", async (t) => {
  const world = adaptive({}, [{}, {}], "cloneSetTemplate");
  world.settle();
  const { status } = world.object;
  const conditions = [{ type: "Schedulable", status: "False", reason: "reschedule" }];
  const [first, ...others] = status?.subsetStatuses ?? [];
  if (status)
    world.object = {
      ...world.object,
      status: { ...status, subsetStatuses: [{ ...first, conditions }, ...others] },
    };
  world.change({ replicas: 5 });
  world.settle();
  t.match(world.object.status?.subsetStatuses?.[0]?.conditions, [{ status: "True", reason: "recover" }]);
});

// Scenario 14.
t.test("reserve mode: pods that are pending stay, others stand in for them until they run", async (t) => {
  const world = adaptive({ reserveUnschedulablePods: true }, [{}, {}, {}], "cloneSetTemplate");
  const reserved = (subset: string) =>
    world.podsOf(subset).filter((pod) => pod.labels[RESERVED_LABEL] === "true").length;
  world.full.add("s0").add("s1");
  world.change({ replicas: 2 });
  world.settle();
  wait(world, 10);
  wait(world, 10);
  t.same(world.sizes(), { s0: 2, s1: 2, s2: 2 });
  t.same(["s0", "s1", "s2"].map(reserved), [2, 2, 0]);
  t.equal(world.object.status?.replicas, 2);
  t.match(world.object.status?.labelSelector, `${RESERVED_LABEL}=false`);
  world.change({ replicas: 4 });
  world.settle();
  wait(world, 10);
  t.same(world.sizes(), { s0: 2, s1: 2, s2: 4 });
  const before = world.pods;
  for (const gone of [1, 2]) {
    world.pods = before.filter((pod) => !world.podsOf("s0").slice(0, gone).includes(pod));
    world.pass();
    t.same(world.sizes(), { s0: 2, s1: 2, s2: 4 }, `${gone} pods are about to be recreated`);
    t.equal(world.object.status?.reservedPods, 4 - gone);
    world.pods = before;
  }
  world.full.delete("s0");
  world.settle();
  for (let step = 0; step < 6; step++) wait(world, 10);
  t.same(world.sizes(), { s0: 4, s1: 0, s2: 0 });
  t.same(["s0", "s1", "s2"].map(reserved), [0, 0, 0]);
});

t.test("reserve mode: a rollout goes on where pods find no room any more on its way", async (t) => {
  const world = adaptive({ reserveUnschedulablePods: true }, [{}, {}], "cloneSetTemplate");
  world.change({ replicas: 5 });
  for (let step = 0; step < 3; step++) wait(world, 10);
  t.same(world.sizes(), { s0: 5, s1: 0 });
  world.full.add("s0");
  world.change({ template: template("b", "cloneSetTemplate") });
  const { name } = world.pass().revision?.update ?? {};
  const old = () => world.podsOf("s0").filter(({ labels: all }) => all[REVISION_LABEL] !== name).length;
  world.settle();
  t.equal(old(), 4, "as many as the template lets be unavailable");
  for (let left = 3; left >= 0; left--) {
    wait(world, 10);
    t.equal(old(), left, "one more as soon as those before it are known to find no room");
  }
  wait(world, 10);
  t.same(world.sizes(), { s0: 5, s1: 5 });
  world.full.clear();
  for (let step = 0; step < 4; step++) wait(world, 10);
  t.same(world.sizes(), { s0: 5, s1: 0 });
});

// Rule 46.
t.test(
  "reserve mode: pods that run and have yet to prove it leave maxUnavailable to the template",
  async (t) => {
    const world = adaptive({ reserveUnschedulablePods: true }, [{}, {}], "cloneSetTemplate");
    world.full.add("s0");
    world.settle();
    wait(world, 10);
    const write = (label: string) => {
      const patch = { metadata: { labels: { label } } };
      const { scheduleStrategy, subsets = [] } = world.object.spec.topology ?? {};
      world.change({ topology: { scheduleStrategy, subsets: subsets.map((each) => ({ ...each, patch })) } });
      return world.pass().updates[0]?.target;
    };
    t.match(write("a"), { subset: { name: "s0" }, maxUnavailable: 4 });
    world.full.clear();
    world.work();
    world.pass();
    t.equal(world.object.status?.reservedPods, 3);
    t.match(write("b"), { subset: { name: "s0" }, maxUnavailable: undefined });
  },
);

const steps = fc.array(
  fc.oneof(
    fc.record({ do: fc.constant("scale" as const), to: fc.integer({ min: 0, max: 12 }) }),
    fc.record({ do: fc.constant("image" as const), to: fc.constantFrom("a", "b", "c") }),
    fc.record({
      do: fc.constant("subsets" as const),
      to: fc.uniqueArray(fc.constantFrom("a", "b", "c", "d"), { minLength: 1 }),
    }),
    fc.record({ do: fc.constant("partition" as const), to: fc.integer({ min: 0, max: 4 }) }),
    fc.record({ do: fc.constant("pass" as const) }),
    fc.record({ do: fc.constant("work" as const) }),
  ),
  { maxLength: 15 },
);

t.test("after any history everything becomes as it should be, and stays", async () => {
  fc.assert(
    fc.property(steps, (history) => {
      const world = model({ topology: { subsets: [{ name: "a" }, { name: "b" }] } });
      for (const step of history) {
        if (step.do === "scale") world.change({ replicas: step.to });
        else if (step.do === "image") world.change({ template: template(step.to) });
        else if (step.do === "subsets")
          world.change({ topology: { subsets: step.to.map((name) => ({ name })) } });
        else if (step.do === "partition")
          world.change({ updateStrategy: { manualUpdate: { partitions: { a: step.to } } } });
        else if (step.do === "pass") world.pass();
        else world.work();
        if (!isDeepStrictEqual(world.plan(), world.planAfterRestart())) return false;
      }
      const plan = world.settle();
      const { spec, status } = world.object;
      const names = (spec.topology?.subsets ?? []).map(({ name }) => name).sort();
      const found = world.children.map((child) => child.labels[SUBSET_LABEL]).sort();
      const { partitions = {} } = spec.updateStrategy?.manualUpdate ?? {};
      const isPortioned = names.includes("a") && (partitions["a"] ?? 0) > 0;
      return (
        plan.creations.length + plan.updates.length + plan.deletions.length + plan.brokenPods.length === 0 &&
        names.join() === found.join() &&
        status?.replicas === spec.replicas &&
        status?.readyReplicas === spec.replicas &&
        (isPortioned || status?.updatedReplicas === spec.replicas) &&
        (isPortioned || condition(world)?.status === "True") &&
        world.revisions.length <= 10
      );
    }),
    { numRuns: 250, seed: 44 },
  );
});

t.test("in reserve mode, too: what has no room is stood in for, and comes back when there is", async () => {
  const history = fc.array(
    fc.oneof(
      fc.record({ do: fc.constant("scale" as const), to: fc.integer({ min: 0, max: 8 }) }),
      fc.record({ do: fc.constant("image" as const), to: fc.constantFrom("a", "b") }),
      fc.record({ do: fc.constant("full" as const), subset: fc.constantFrom("s0", "s1") }),
      fc.record({ do: fc.constant("free" as const), subset: fc.constantFrom("s0", "s1") }),
      fc.record({ do: fc.constant("wait" as const), seconds: fc.integer({ min: 1, max: 20 }) }),
    ),
    { maxLength: 10 },
  );
  fc.assert(
    fc.property(history, (steps) => {
      const world = adaptive({ reserveUnschedulablePods: true }, [{}, {}, {}], "cloneSetTemplate");
      for (const step of steps) {
        if (step.do === "scale") world.change({ replicas: step.to });
        else if (step.do === "image") world.change({ template: template(step.to, "cloneSetTemplate") });
        else if (step.do === "full") world.full.add(step.subset);
        else if (step.do === "free") world.full.delete(step.subset);
        else world.now += step.seconds * 1000;
        for (let round = 0; round < 3; round++) {
          world.pass();
          world.work();
          if (!isDeepStrictEqual(world.plan(), world.planAfterRestart())) return false;
        }
      }
      world.full.clear();
      for (let step = 0; step < 20; step++) wait(world, 11);
      const { spec, status } = world.object;
      const isReserved = world.pods.some(({ labels: all }) => all[RESERVED_LABEL] !== "false");
      const { replicas, readyReplicas, updatedReplicas } = status ?? {};
      return (
        !isReserved && [replicas, readyReplicas, updatedReplicas].every((count) => count === spec.replicas)
      );
    }),
    { numRuns: 100, seed: 45 },
  );
});

const amount = fc.oneof(fc.integer({ min: 0, max: 6 }), fc.constantFrom("0%", "30%", "50%", "100%"));
const range = fc.record({ minReplicas: amount, maxReplicas: amount }, { requiredKeys: [] });
const anySubset = fc.record({
  name: fc.constantFrom("s0", "s1", "s2", "s3"),
  numbers: fc.oneof(fc.constant({}), range, fc.record({ replicas: amount })),
  patch: fc.option(
    fc.record({ metadata: fc.record({ labels: fc.record({ p: fc.constantFrom("1", "2") }) }) }),
    { nil: undefined },
  ),
});
const topology = fc.record({
  subsets: fc
    .uniqueArray(anySubset, { minLength: 1, maxLength: 4, selector: ({ name }) => name })
    .map((all) =>
      all.map(({ name, numbers, patch }) => ({
        name,
        ...numbers,
        ...(patch === undefined ? {} : { patch }),
      })),
    ),
  mode: fc.constantFrom("fixed", "adaptive", "reserved"),
});
type Topology = typeof topology extends fc.Arbitrary<infer T> ? T : never;
const kinds: readonly SubsetTemplateName[] = [
  "statefulSetTemplate",
  "advancedStatefulSetTemplate",
  "cloneSetTemplate",
  "deploymentTemplate",
];

function topologyOf({ subsets, mode }: Topology): NonNullable<UnitedDeployment["spec"]["topology"]> {
  if (mode === "fixed") return { subsets };
  const adaptive = {
    rescheduleCriticalSeconds: 10,
    unschedulableDuration: 10,
    reserveUnschedulablePods: mode === "reserved",
  };
  return { scheduleStrategy: { type: "Adaptive", adaptive }, subsets };
}

const wideStep = fc.oneof(
  { weight: 5, arbitrary: fc.record({ do: fc.constant("pass" as const) }) },
  { weight: 3, arbitrary: fc.record({ do: fc.constant("work" as const) }) },
  { weight: 3, arbitrary: fc.record({ do: fc.constant("work on one" as const), which: fc.nat(3) }) },
  {
    weight: 2,
    arbitrary: fc.record({ do: fc.constant("wait" as const), seconds: fc.constantFrom(1, 6, 11, 400, -5) }),
  },
  {
    weight: 2,
    arbitrary: fc.record({ do: fc.constant("scale" as const), to: fc.integer({ min: 0, max: 8 }) }),
  },
  fc.record({
    do: fc.constant("template" as const),
    image: fc.constantFrom("a", "b", "c"),
    kind: fc.nat(11),
  }),
  { weight: 2, arbitrary: fc.record({ do: fc.constant("topology" as const), to: topology }) },
  fc.record({
    do: fc.constant("partition" as const),
    subset: fc.constantFrom("s0", "s1"),
    to: fc.integer({ min: 0, max: 4 }),
  }),
  {
    weight: 2,
    arbitrary: fc.record({
      do: fc.constantFrom("full" as const, "free" as const),
      subset: fc.constantFrom("s0", "s1", "s2", "s3"),
    }),
  },
  fc.record({ do: fc.constant("delete pod" as const), which: fc.nat(9) }),
  fc.record({ do: fc.constant("delete workload" as const), which: fc.nat(3) }),
  fc.record({ do: fc.constant("size" as const), which: fc.nat(3), to: fc.integer({ min: 0, max: 5 }) }),
);
type WideStep = typeof wideStep extends fc.Arbitrary<infer S> ? S : never;

function take(world: UnitedModel, step: WideStep): void {
  switch (step.do) {
    case "pass":
      passChecked(world);
      return;
    case "work":
      world.work();
      return;
    case "work on one": {
      const one = world.children[step.which];
      world.work((child) => child === one);
      return;
    }
    case "wait":
      world.now += step.seconds * 1000;
      return;
    case "scale":
      world.change({ replicas: step.to });
      return;
    case "template": {
      const [former] = Object.keys(world.object.spec.template ?? {});
      const isReserving =
        world.object.spec.topology?.scheduleStrategy?.adaptive?.reserveUnschedulablePods === true;
      const kind =
        (isReserving ? undefined : kinds[step.kind]) ??
        kinds.find((name) => name === former) ??
        "cloneSetTemplate";
      world.change({ template: template(step.image, kind) });
      return;
    }
    case "topology": {
      // Admission lets stateless kinds alone reserve.
      const isStateful = kinds.slice(0, 2).some((name) => name in (world.object.spec.template ?? {}));
      const isRefused = isStateful && step.to.mode === "reserved";
      world.change({ topology: topologyOf(isRefused ? { ...step.to, mode: "adaptive" } : step.to) });
      return;
    }
    case "partition":
      world.change({ updateStrategy: { manualUpdate: { partitions: { [step.subset]: step.to } } } });
      return;
    case "full":
      world.full.add(step.subset);
      return;
    case "free":
      world.full.delete(step.subset);
      return;
    case "delete pod":
      world.pods = world.pods.filter((_, index) => index !== step.which);
      return;
    case "delete workload":
      world.children = world.children.filter((_, index) => index !== step.which);
      return;
    case "size":
      // By somebody's hand.
      world.children = world.children.map((child, index) =>
        index === step.which ? { ...child, replicas: step.to } : child,
      );
  }
}

/** A pass is the same after a restart, and its sizes are what was asked for. */
function passChecked(world: UnitedModel): void {
  const plan = world.plan();
  if (!isDeepStrictEqual(plan, world.planAfterRestart())) throw new Error("another plan after a restart");
  const { spec } = world.object;
  const names = (spec.topology?.subsets ?? []).map(({ name }) => name);
  const kind = Object.keys(spec.template ?? {})[0];
  if (plan.problem !== undefined && plan.creations.length + plan.updates.length > 0)
    throw new Error("numbers that cannot be");
  for (const { template: of, labels: all } of plan.deletions) {
    const isKept = of === kind && names.includes(all[SUBSET_LABEL] ?? "");
    const isTwice =
      world.children.filter((each) => each.labels[SUBSET_LABEL] === all[SUBSET_LABEL]).length > 1;
    if (isKept && !isTwice) throw new Error(`deletes the workload of ${all[SUBSET_LABEL]}`);
  }
  const isReserving = spec.topology?.scheduleStrategy?.adaptive?.reserveUnschedulablePods === true;
  for (const { target } of [...plan.creations, ...plan.updates]) {
    const { maxReplicas, name } = target.subset;
    const most = shareOf(maxReplicas, spec.replicas ?? 1) ?? Infinity;
    // A closed subset keeps its pods (rule 20).
    if (target.replicas > most && !isReserving) throw new Error(`${name} gets ${target.replicas} of ${most}`);
  }
  world.pass();
}

t.test(
  "numbers, patches, kinds and strategies change, pods and workloads go: it ends as the spec says",
  async (t) => {
    fc.assert(
      fc.property(
        topology,
        fc.nat(3),
        fc.array(wideStep, { minLength: 5, maxLength: 40 }),
        (first, kind, history) => {
          const world = model({ template: template("a", kinds[kind]) });
          take(world, { do: "topology", to: first });
          for (const step of history) take(world, step);
          world.full.clear();
          world.change({ updateStrategy: {} });
          world.settle();
          for (let round = 0; round < 25; round++) {
            wait(world, 11);
            passChecked(world);
          }
          const before = JSON.stringify([world.object.status, world.children, world.pods]);
          world.now += 1000_000;
          world.pass();
          if (JSON.stringify([world.object.status, world.children, world.pods]) !== before)
            throw new Error("no rest");
          const { spec, status } = world.object;
          const plan = world.plan();
          if (plan.problem !== undefined) return;
          const names = (spec.topology?.subsets ?? []).map(({ name }) => name);
          const found = world.children.map((child) => child.labels[SUBSET_LABEL] ?? "");
          if (names.toSorted().join() !== found.toSorted().join()) throw new Error(`subsets ${found}`);
          const sum = world.children.reduce((all, { replicas }) => all + replicas, 0);
          const most = (spec.topology?.subsets ?? []).reduce(
            (all, { maxReplicas }) => all + (shareOf(maxReplicas, spec.replicas ?? 1) ?? Infinity),
            0,
          );
          if (sum !== Math.min(spec.replicas ?? 1, most)) throw new Error(`${sum} pods of ${spec.replicas}`);
          for (const count of [
            status?.replicas,
            status?.readyReplicas,
            status?.updatedReplicas,
            status?.updatedReadyReplicas,
          ])
            if (count !== sum) throw new Error(`counts ${count}, not ${sum}`);
          if (condition(world)?.status !== "True") throw new Error("not updated");
          if (world.pods.length !== sum) throw new Error("pods");
          const isReserving = spec.topology?.scheduleStrategy?.adaptive?.reserveUnschedulablePods === true;
          if (isReserving && world.pods.some(({ labels: all }) => all[RESERVED_LABEL] !== "false"))
            throw new Error("reserved");
        },
      ),
      { numRuns: 200, seed: 46 },
    );
    t.pass("held in all runs");
  },
);
