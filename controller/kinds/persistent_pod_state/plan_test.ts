import fc from "fast-check";
import t from "tap";
import type { PersistentPodState, PersistentPodStateSpec } from "../../../crds/index.ts";
import type { Labels } from "../../../kube/core/index.ts";
import type { Pod } from "../../../kube/index.ts";
import { barePod } from "../../../testkit/controller/pod_builder.ts";
import { ordinalIn } from "../../rollout/pods/numbered_names.ts";
import { reservedRanges, Window } from "../../rollout/pods/ordinals.ts";
import type { Target } from "./observe.ts";
import { inWindow, planPersistentPodState } from "./plan.ts";

const nodes: Readonly<Record<string, Labels>> = {
  east: { zone: "a", host: "east" },
  west: { zone: "b", host: "west" },
  bare: {},
};
const nodeLabels = (name: string): Labels | undefined => nodes[name];

function pod(name: string, nodeName: string, changes: Partial<Pod> & { ready?: boolean } = {}): Pod {
  const { ready = true, ...more } = changes;
  return barePod(name, {
    fieldManagers: "updates",
    controller: { group: "apps", kind: "StatefulSet", name: "web", uid: "set" },
    nodeName,
    phase: "Running",
    conditions: [
      { type: "Ready", status: ready ? "True" : "False", reason: "", message: "", lastTransitionAt: 0 },
    ],
    ...more,
  });
}

function target(changes: Partial<Target> = {}): Target {
  return { uid: "set", terminating: false, replicas: 3, start: 0, reserved: [], ...changes };
}

const spec: PersistentPodStateSpec = {
  targetRef: { apiVersion: "apps/v1", kind: "StatefulSet", name: "web" },
  requiredPersistentTopology: { keys: ["zone"] },
  preferredPersistentTopology: [{ weight: 100, preference: { keys: ["host"] } }],
};

type States = NonNullable<NonNullable<PersistentPodState["status"]>["podStates"]>;

function object(changes: Partial<PersistentPodStateSpec> = {}, podStates?: States): PersistentPodState {
  return {
    metadata: { name: "web", namespace: "default", generation: 4 },
    spec: { ...spec, ...changes },
    ...(podStates === undefined ? {} : { status: { observedGeneration: 1, podStates } }),
  };
}

function plan(pods: readonly Pod[], of = object(), to: Target | undefined = target()) {
  return planPersistentPodState({ object: of, target: to, pods, nodeLabels });
}

const east = { nodeName: "east", nodeTopologyLabels: { zone: "a", host: "east" } };
const west = { nodeName: "west", nodeTopologyLabels: { zone: "b", host: "west" } };

t.test("ready pods on a node are recorded with the labels of the node that are asked for", async (t) => {
  const waiting = pod("web-2", "west", { ready: false });
  const unbound = pod("web-1", "");
  const { status } = plan([pod("web-0", "east"), unbound, waiting]);
  t.same(status, { observedGeneration: 4, podStates: { "web-0": east } });
});

t.test("labels that a node lacks are left out, and so is an empty map", async (t) => {
  t.same(plan([pod("web-0", "bare")]).status.podStates, { "web-0": { nodeName: "bare" } });
});

t.test("a pod on an unknown node is tried again, and its record kept", async (t) => {
  const { status, unknownNodes } = plan([pod("web-0", "gone")], object({}, { "web-0": east }));
  t.same(status.podStates, { "web-0": east });
  t.same(unknownNodes, ["gone"]);
});

t.test("a record follows the pod's last Ready node, and changed keys", async (t) => {
  t.same(plan([pod("web-0", "west")], object({}, { "web-0": east })).status.podStates, { "web-0": west });
  const fewer = object({ requiredPersistentTopology: { keys: [] } }, { "web-0": east });
  t.same(plan([pod("web-0", "east")], fewer).status.podStates, {
    "web-0": { nodeName: "east", nodeTopologyLabels: { host: "east" } },
  });
});

t.test("a label that changes on the same node is not noticed while the keys are the same", async (t) => {
  const old = { nodeName: "east", nodeTopologyLabels: { zone: "old", host: "east" } };
  t.same(plan([pod("web-0", "east")], object({}, { "web-0": old })).status.podStates, { "web-0": old });
});

t.test("annotations are read anew in each pass", async (t) => {
  const of = object({ persistentPodAnnotations: [{ key: "ip" }, { key: "absent" }] }, { "web-0": east });
  const { status } = plan([pod("web-0", "east", { annotations: { ip: "10.0.0.1", other: "x" } })], of);
  t.same(status.podStates, { "web-0": { ...east, annotations: { ip: "10.0.0.1" } } });
});

t.test("a pod that is deleted and made anew keeps its record", async (t) => {
  const recorded = object({}, { "web-0": east });
  t.same(plan([], recorded).status.podStates, { "web-0": east });
  t.same(plan([pod("web-0", "west", { deletionAt: 5 })], recorded).status.podStates, { "web-0": east });
  t.same(plan([pod("web-0", "west", { phase: "Failed" })], recorded).status.podStates, { "web-0": east });
});

t.test(
  "records of ordinals scaled away go once the pod is gone, unless they are kept for later",
  async (t) => {
    const states = { "web-0": east, "web-2": west, odd: east };
    const one = target({ replicas: 1 });
    t.same(Object.keys(plan([], object({}, states), one).status.podStates ?? {}), ["web-0", "odd"]);
    const running = plan([pod("web-2", "west")], object({}, states), one);
    t.same(Object.keys(running.status.podStates ?? {}), ["web-0", "web-2", "odd"]);
    const kept = object({ persistentPodStateRetentionPolicy: "WhenDeleted" }, states);
    t.same(plan([], kept, one).status.podStates, states);
  },
);

t.test("of a workload without replicas nothing is recorded", async (t) => {
  const none = plan([pod("web-0", "east")], object({}, { "web-0": east }), target({ replicas: 0 }));
  t.same(none.status, { observedGeneration: 4 });
});

t.test("without its workload nothing is remembered, whatever the policy", async (t) => {
  const kept = object({ persistentPodStateRetentionPolicy: "WhenDeleted" }, { "web-0": east });
  t.same(planPersistentPodState({ object: kept, target: undefined, pods: [], nodeLabels }).status, {
    observedGeneration: 4,
  });
  t.same(plan([pod("web-0", "east")], kept, target({ terminating: true })).status, { observedGeneration: 4 });
});

t.test("ordinals in names", async (t) => {
  t.equal(ordinalIn("web-10"), 10);
  t.equal(ordinalIn("web-a"), undefined);
  t.equal(ordinalIn("12"), undefined);
  t.equal(ordinalIn("web-"), undefined);
});

const reserved = fc.array(
  fc.oneof(
    fc.nat(12),
    fc.tuple(fc.nat(12), fc.nat(3)).map(([first, more]) => `${first}-${first + more}`),
  ),
  { maxLength: 4 },
);

t.test("property: the window is that of the StatefulSet", async (t) => {
  const property = fc.property(fc.nat(8), fc.nat(6), reserved, (replicas, start, entries) => {
    const ranges = reservedRanges(entries);
    const wanted = new Set(new Window(start, replicas, ranges));
    for (let ordinal = 0; ordinal < 40; ordinal++) {
      if (inWindow(ordinal, { replicas, start, reserved: ranges }) !== wanted.has(ordinal)) return false;
    }
    return true;
  });
  t.equal(fc.check(property, { seed: 53, numRuns: 500 }).counterexample, null);
});

const podState = fc.record({
  ordinal: fc.nat(5),
  nodeName: fc.constantFrom("east", "west", "bare", "gone", ""),
  ready: fc.boolean(),
  phase: fc.constantFrom("Running", "Failed", "Pending"),
  deletionAt: fc.constantFrom(undefined, 1),
});

t.test("property: a plan settles at once, and never forgets a wanted pod", async (t) => {
  const property = fc.property(
    fc.uniqueArray(podState, { selector: ({ ordinal }) => ordinal }),
    fc.nat(5),
    reserved,
    fc.uniqueArray(fc.nat(5)),
    (drawn, replicas, entries, recorded) => {
      const pods = drawn.map(({ ordinal, nodeName, ...more }) => pod(`web-${ordinal}`, nodeName, more));
      const to = target({ replicas, reserved: reservedRanges(entries) });
      const before = object({}, Object.fromEntries(recorded.map((ordinal) => [`web-${ordinal}`, east])));
      const first = plan(pods, before, to);
      const after = { ...before, status: first.status };
      const kept = recorded.every(
        (ordinal) => !inWindow(ordinal, to) || first.status.podStates?.[`web-${ordinal}`] !== undefined,
      );
      return kept && JSON.stringify(plan(pods, after, to).status) === JSON.stringify(first.status);
    },
  );
  t.equal(fc.check(property, { seed: 53, numRuns: 500 }).counterexample, null);
});
