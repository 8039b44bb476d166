import fc from "fast-check";
import t from "tap";
import type { NodePodProbe } from "../../../crds/index.ts";
import { applyStrategicPatch, isJsonObject } from "../../../kube/core/index.ts";
import { type ObservedPod, observedPod } from "../../native/observed_pod.ts";
import { marksOf, marksOfConditions, marksPatch, type ProbeResult } from "./marks.ts";
import { byClaim, type Marker, type MarkerProbe } from "./model.ts";
import { type ProbedNodeObserved, planNode, resolvePorts } from "./plan.ts";

function pod(
  name: string,
  more: {
    labels?: object;
    annotations?: object;
    conditions?: object[];
    phase?: string;
    deletionTimestamp?: string;
    podIP?: string;
  } = {},
): ObservedPod {
  return observedPod(manifest(name, more));
}

function manifest(name: string, more: Parameters<typeof pod>[1] = {}) {
  const { labels = {}, annotations = {}, conditions = [], phase = "Running", podIP = "10.0.0.1" } = more;
  return {
    apiVersion: "v1",
    kind: "Pod",
    metadata: {
      name,
      namespace: "ns",
      uid: `u-${name}`,
      labels,
      annotations,
      ...(more.deletionTimestamp ? { deletionTimestamp: more.deletionTimestamp } : {}),
    },
    spec: {
      nodeName: "n1",
      containers: [{ name: "main", ports: [{ name: "web", containerPort: 8080 }, { containerPort: 1 }] }],
    },
    status: { phase, podIP, conditions: [{ type: "Initialized", status: "True" }, ...conditions] },
  };
}

function probe(name: string, more: Partial<MarkerProbe> = {}): MarkerProbe {
  return { name, containerName: "main", probe: { exec: { command: ["true"] } }, ...more };
}

function marker(name: string, probes: MarkerProbe[], createdAt = "2026-01-01T00:00:00Z"): Marker {
  return { namespace: "ns", name, createdAt, probes };
}

function held(podProbes: object[], states: { uid: string; probeStates: ProbeResult[] }[] = []): NodePodProbe {
  const podProbeStatuses = states.map((state) => ({
    name: "",
    namespace: "ns",
    ...state,
    probeStates: [...state.probeStates],
  }));
  return JSON.parse(
    JSON.stringify({ metadata: { name: "n1" }, spec: { podProbes }, status: { podProbeStatuses } }),
  );
}

const observed = (more: Partial<ProbedNodeObserved>): ProbedNodeObserved => ({
  name: "n1",
  node: { ready: true, virtual: false },
  held: undefined,
  pods: [],
  undecided: new Set(),
  applied: new Map(),
  ...more,
});

t.test("one object for each ready real node, gone with the node", async (t) => {
  t.same(planNode(observed({})).action, { type: "create object", body: { spec: { podProbes: [] } } });
  t.same(planNode(observed({ node: { ready: false, virtual: false } })).action, undefined);
  t.same(planNode(observed({ node: { ready: true, virtual: true } })).action, undefined);
  t.same(planNode(observed({ node: undefined, held: held([]) })).action, { type: "delete object" });
  t.same(planNode(observed({ node: undefined })).action, undefined);
  t.same(
    planNode(observed({ node: { ready: false, virtual: false }, held: held([]) })).action,
    undefined,
    "kept while not ready",
  );
});

t.test(
  "pods are listed with address, UID and numbered ports; those that cannot be probed are not",
  async (t) => {
    const web = marker("m", [
      probe("named", { probe: { tcpSocket: { port: "web" } } }),
      probe("text", { probe: { httpGet: { port: "80", path: "/", scheme: "HTTP" } } }),
      probe("lost", { probe: { tcpSocket: { port: "none" } } }),
    ]);
    const pods = [
      { pod: pod("b"), markers: [web] },
      { pod: pod("a", { podIP: "" }), markers: [web] },
      { pod: pod("done", { phase: "Succeeded" }), markers: [web] },
      { pod: pod("going", { deletionTimestamp: "2026-01-01T00:00:00Z" }), markers: [web] },
    ];
    const plan = planNode(observed({ held: held([]), pods }));
    const probes = [
      { name: "m#named", containerName: "main", probe: { tcpSocket: { port: 8080 } } },
      { name: "m#text", containerName: "main", probe: { httpGet: { port: 80, path: "/", scheme: "HTTP" } } },
    ];
    const podProbes = [
      { name: "a", namespace: "ns", uid: "u-a", IP: "", probes },
      { name: "b", namespace: "ns", uid: "u-b", IP: "10.0.0.1", probes },
    ];
    t.same(plan.action, { type: "patch object", body: { spec: { podProbes } } });
    const again = planNode(observed({ held: held([...podProbes].reverse()), pods }));
    t.equal(again.action, undefined, "the order of the entries is no difference");
  },
);

t.test("a marker of which the pods are not known yet keeps its probes and the pod's address", async (t) => {
  const kept = { name: "slow#p", containerName: "main", probe: { exec: { command: ["x"] } } };
  const gone = { name: "low#p", containerName: "main", probe: { exec: { command: ["x"] } } };
  const entry = { name: "a", namespace: "ns", uid: "u-a", IP: "10.0.0.1", probes: [kept, gone] };
  const plan = planNode(observed({ held: held([entry]), undecided: new Set(["ns/slow", "other/low"]) }));
  t.same(plan.action, {
    type: "patch object",
    body: { spec: { podProbes: [{ ...entry, probes: [kept] }] } },
  });
});

const healthy = probe("p", {
  podConditionType: "example.io/healthy",
  markerPolicy: [
    { state: "Succeeded", labels: { state: "idle" }, annotations: { cost: "-10" } },
    { state: "Failed", annotations: { cost: "10" } },
  ],
});
const result = (state: string, message = ""): ProbeResult => ({
  name: "m#p",
  state,
  lastProbeTime: "2026-01-01T00:00:02Z",
  lastTransitionTime: "2026-01-01T00:00:01Z",
  ...(message === "" ? {} : { message }),
});

function marked(before: ObservedPod, state: string, message = "") {
  const found = result(state, message);
  return marksOf(before, [marker("m", [healthy])], new Map([[found.name, found]]));
}

t.test(
  "results become conditions, labels and annotations, and take back those of the other result",
  async (t) => {
    t.match(marked(pod("a"), "Succeeded", "yes"), {
      labels: { state: "idle" },
      annotations: { cost: "-10" },
      conditions: [
        {
          type: "example.io/healthy",
          status: "True",
          message: "yes",
          lastTransitionTime: "2026-01-01T00:00:01Z",
        },
      ],
    });
    const idle = pod("a", {
      labels: { state: "idle", app: "x" },
      annotations: { cost: "-10" },
      conditions: [
        { type: "example.io/healthy", status: "True", lastTransitionTime: "2025-01-01T00:00:00Z" },
      ],
    });
    t.equal(marked(idle, "Succeeded"), undefined, "nothing to write");
    t.same(
      marked(idle, "Succeeded", "text")?.conditions,
      [
        {
          type: "example.io/healthy",
          status: "True",
          message: "text",
          lastProbeTime: "2026-01-01T00:00:02Z",
          lastTransitionTime: "2025-01-01T00:00:00Z",
        },
      ],
      "a new message moves no transition",
    );
    t.match(marked(idle, "Failed"), {
      labels: { state: null },
      annotations: { cost: "10" },
      conditions: [{ status: "False" }],
    });
    t.match(marked(pod("a", { annotations: { cost: "10" } }), "Unknown"), {
      labels: {},
      annotations: { cost: null },
      conditions: [{ status: "False" }],
    });
  },
);

t.test("a result is written once: what others make of the pod afterwards is theirs", async (t) => {
  const states = [{ uid: "u-a", probeStates: [result("Failed")] }];
  const pods = (annotations: object) => [
    { pod: pod("a", { annotations }), markers: [marker("m", [healthy])] },
  ];
  const first = planNode(observed({ held: held([], states), pods: pods({}) }));
  t.match(first.marks, [{ annotations: { cost: "10" } }]);
  const { applied } = first;
  const other = pods({ cost: "0" });
  t.same(planNode(observed({ held: held([], states), pods: other, applied })).marks, []);
  const again = [
    { uid: "u-a", probeStates: [{ ...result("Failed"), lastProbeTime: "2026-01-01T00:10:02Z" }] },
  ];
  t.match(planNode(observed({ held: held([], again), pods: other, applied })).marks, [
    { annotations: { cost: "10" } },
  ]);
  const gone = planNode(observed({ held: held([], states), pods: [], applied }));
  t.equal(gone.applied.size, 0, "pods that are gone are forgotten");
});

t.test("the first marker that claims a condition writes it", async (t) => {
  const first = marker("z", [probe("p", { podConditionType: "c" })], "2026-01-01T00:00:00Z");
  const second = marker("a", [probe("p", { podConditionType: "c" })], "2026-01-01T00:00:01Z");
  const results = new Map([
    ["z#p", { name: "z#p", state: "Failed" }],
    ["a#p", { name: "a#p", state: "Succeeded" }],
  ]);
  t.match(marksOf(pod("x"), [second, first].sort(byClaim), results)?.conditions, [
    { type: "c", status: "False" },
  ]);
  results.delete("z#p");
  t.equal(marksOf(pod("x"), [first, second], results), undefined, "also before its own result is known");
});

t.test("on virtual nodes the conditions decide, and nothing is removed", async (t) => {
  const conditions = [{ type: "example.io/healthy", status: "False" }];
  const before = pod("a", { labels: { state: "idle" }, annotations: { cost: "-10" }, conditions });
  t.match(marksOfConditions(before, [marker("m", [healthy])]), {
    labels: {},
    annotations: { cost: "10" },
    conditions: [],
  });
  t.equal(marksOfConditions(pod("a"), [marker("m", [healthy])]), undefined);
});

t.test("ports: numbers stay, names need the container's port", async (t) => {
  const of = (port: number | string) =>
    resolvePorts(probe("p", { probe: { tcpSocket: { port } } }), pod("a"))?.tcpSocket?.port;
  t.equal(of(99), 99);
  t.equal(of("web"), 8080);
  t.equal(of("99"), 99);
  t.equal(of("none"), undefined);
});

const keys = fc.constantFrom("k1", "k2", "k3");
const map = fc.dictionary(keys, fc.constantFrom("a", "b"), { maxKeys: 2 });
const policies = fc.uniqueArray(
  fc.record({ state: fc.constantFrom("Succeeded", "Failed"), labels: map, annotations: map }),
  { selector: ({ state }) => state, maxLength: 2 },
);
const probes = fc.array(
  fc.record({
    policies,
    type: fc.constantFrom("", "c1", "c2"),
    state: fc.constantFrom("Succeeded", "Failed", "Unknown", "none"),
    message: fc.constantFrom("", "text"),
  }),
  { maxLength: 4 },
);

t.test("written once, results ask for nothing more; what no policy names stays", async (t) => {
  fc.assert(
    fc.property(probes, map, map, (list, labels, annotations) => {
      const all = list.map(({ policies: markerPolicy, type }, index) =>
        probe(`p${index}`, { podConditionType: type, markerPolicy }),
      );
      const results = new Map(
        list.flatMap(({ state, message }, index) =>
          state === "none"
            ? []
            : [[`m#p${index}`, { ...result(state, message), name: `m#p${index}` }] as const],
        ),
      );
      const before = manifest("a", { labels: { ...labels, own: "x" }, annotations });
      const marks = marksOf(observedPod(before), [marker("m", all)], results);
      if (marks === undefined) return;
      const after = applyStrategicPatch(before, marksPatch(marks), "Pod");
      if (!isJsonObject(after)) throw new Error("a pod stays an object");
      const written = observedPod(after);
      t.equal(written.labels["own"], "x");
      t.equal(written.uid, "u-a");
      if (marksOf(written, [marker("m", all)], results) !== undefined) throw new Error(JSON.stringify(marks));
    }),
    { seed: 52, numRuns: 500 },
  );
  t.pass("held for 500 random results");
});
