/** What `why` says of the kinds that are explained by their status: goldens of each, and that no object breaks them. */
import fc from "fast-check";
import t from "tap";
import { kinds } from "../../../crds/index.ts";
import { run } from "../../../testkit/cli/command_fixture.ts";
import { ago, factsWith } from "../../../testkit/cli/facts_builder.ts";
import { fakeCluster } from "../../../testkit/cli/fake_cluster.ts";
import { golden } from "../../../testkit/cli/golden.ts";
import { testClock } from "../../../testkit/kube/fake_clock.ts";
import { type AnyObject, isFields, toAnyObject } from "../../fields.ts";
import { plannerOf } from "../planners.ts";
import { explainConditions } from "./conditions.ts";
import { explainRecreateRequest } from "./container_recreate_request.ts";
import { explainEphemeralJob } from "./ephemeral_job.ts";
import { explainImageListPullJob } from "./image_list_pull_job.ts";
import { explainImagePullJob } from "./image_pull_job.ts";
import { explainNodeImage } from "./node_image.ts";
import { explainPersistentPodState } from "./persistent_pod_state.ts";
import { explainPodUnavailableBudget } from "./pod_unavailable_budget.ts";
import { explainNodePodProbe, explainPodProbeMarker } from "./probe_results.ts";
import { statusSourceOf } from "./status_sources.ts";

t.test("every kind is explained: by its plan, or by its status", async (t) => {
  for (const kind of kinds) t.ok(plannerOf(kind) ?? statusSourceOf(kind), kind.kind);
  t.equal(statusSourceOf({ group: "example.com", kind: "Unknown" }), undefined);
});

t.test("a kind without words of its own says its conditions", async (t) => {
  const object = (status?: object) => toAnyObject({ apiVersion: "v1", kind: "Any", metadata: {}, status });
  t.same(explainConditions(object()), { summary: "it has no conditions", causes: [] });
  const conditions = [
    { type: "Ready", status: "True" },
    { type: "Synced", status: "False", reason: "Refused", message: "no quota" },
    { type: "Odd", status: 1 },
    null,
  ];
  t.equal(
    explainConditions(object({ conditions })).summary,
    "Ready is True, Synced is False (Refused: no quota), Odd is not set",
  );
});

/** `plural.group`, and the objects of it. */
type World = Readonly<Record<string, readonly object[]>>;

const meta = (name: string, more: object = {}) => ({
  name,
  namespace: "default",
  uid: `uid-${name}`,
  resourceVersion: "1",
  generation: 1,
  creationTimestamp: ago(120),
  ...more,
});
const clusterMeta = (name: string) => ({ ...meta(name), namespace: undefined });

const lease = {
  metadata: meta("kruise-manager", { namespace: "kruise-system" }),
  spec: { holderIdentity: "a", renewTime: ago(1), leaseDurationSeconds: 15 },
};
const agent = (node: string, ready: string) => ({
  metadata: meta(`daemon-${node}`, { namespace: "kruise-system", labels: { "control-plane": "daemon" } }),
  spec: { nodeName: node, containers: [] },
  status: { conditions: [{ type: "Ready", status: ready }] },
});
const pod = (name: string, parts: { metadata?: object; spec?: object; status?: object } = {}) => ({
  apiVersion: "v1",
  kind: "Pod",
  metadata: meta(name, { labels: { app: "web" }, ...parts.metadata }),
  spec: { nodeName: "node1", containers: [{ name: "web", image: "web:1" }], ...parts.spec },
  status: {
    phase: "Running",
    conditions: [
      { type: "Initialized", status: "True" },
      { type: "Ready", status: "True", lastTransitionTime: ago(100) },
    ],
    containerStatuses: [{ name: "web", ready: true, started: true, state: { running: {} } }],
    ...parts.status,
  },
});
const node = (name: string) => ({
  metadata: clusterMeta(name),
  status: { conditions: [{ type: "Ready", status: "True" }] },
});

const task = (image: string, owner: string, created = 60) => ({
  [image]: {
    tags: [{ tag: "1", version: 0, createdAt: ago(created), ownerReferences: [{ uid: owner }] }],
  },
});
const pulled = (image: string, status: object) => ({
  [image]: { tags: [{ tag: "1", version: 0, ...status }] },
});
const nodeImage = (name: string, images: object, imageStatuses: object, more: object = {}) => ({
  apiVersion: "apps.kruise.io/v1beta1",
  kind: "NodeImage",
  metadata: clusterMeta(name),
  spec: { images },
  status: { desired: 1, imageStatuses, ...more },
});
const failedPull = (message: string) => ({
  phase: "Failed",
  message,
  startTime: ago(50),
  completionTime: ago(30),
});

/** A container of the job `debug` in a pod. */
const withEphemeral = (name: string, state: object) =>
  pod(name, {
    spec: {
      ephemeralContainers: [
        { name: "dbg", image: "dbg:1", env: [{ name: "KRUISE_EJOB_ID", value: "uid-debug" }] },
      ],
    },
    status: { ephemeralContainerStatuses: [{ name: "dbg", state }] },
  });
const ephemeralJob = (spec: object, status: object) => ({
  apiVersion: "apps.kruise.io/v1alpha1",
  kind: "EphemeralJob",
  metadata: meta("debug"),
  spec: {
    selector: { matchLabels: { app: "web" } },
    template: { ephemeralContainers: [{ name: "dbg", image: "dbg:1" }] },
    ...spec,
  },
  status: { startTime: ago(100), ...status },
});
const marker = {
  metadata: meta("idle"),
  spec: {
    selector: { matchLabels: { app: "web" } },
    probes: [{ name: "ready", containerName: "web", probe: { exec: { command: ["true"] } } }],
  },
  status: { observedGeneration: 1 },
};
const probeState = (name: string, state: string, message = "") => ({
  name,
  namespace: "default",
  uid: `uid-${name}`,
  probeStates: [{ name: "idle#ready", state, message, lastTransitionTime: ago(40) }],
});
const probed = (name: string) => ({
  name,
  namespace: "default",
  uid: `uid-${name}`,
  IP: "",
  probes: [{ name: "idle#ready", containerName: "web", probe: {} }],
});
const guarded = (name: string, ready = "True") =>
  pod(name, {
    metadata: { annotations: { "pub.kruise.io/related-pub": "web" } },
    status: { conditions: [{ type: "Ready", status: ready, lastTransitionTime: ago(30) }] },
  });
const budget = (spec: object, status: object) => ({
  metadata: meta("web"),
  spec: { selector: { matchLabels: { app: "web" } }, ...spec },
  status: { observedGeneration: 1, ...status },
});
const request = (status: object, strategy: object = {}) => ({
  metadata: meta("again", {
    labels: { "crr.apps.kruise.io/active": "true", "crr.apps.kruise.io/pod-uid": "uid-web-a" },
  }),
  spec: { podName: "web-a", containers: [{ name: "web" }, { name: "side" }], strategy },
  status,
});

/** The command, and the objects of the cluster beside nodes and the controller's lease. */
const scenarios: Readonly<Record<string, readonly [words: string, world: World]>> = {
  "a request to recreate containers, under way": [
    "crr/again",
    {
      "containerrecreaterequests.apps.kruise.io": [
        request(
          {
            phase: "Recreating",
            containerRecreateStates: [
              { name: "web", phase: "Recreating", isKilled: true },
              { name: "side", phase: "Pending" },
            ],
          },
          { orderedRecreate: true, minStartedSeconds: 5 },
        ),
      ],
      pods: [pod("web-a")],
    },
  ],
  "a request that keeps its pod out of service first": [
    "crr/again",
    {
      "containerrecreaterequests.apps.kruise.io": [
        request({ phase: "Recreating" }, { unreadyGracePeriodSeconds: 30 }),
      ],
      pods: [pod("web-a")],
    },
  ],
  "a request on a node without an agent": [
    "crr/again",
    {
      "containerrecreaterequests.apps.kruise.io": [request({})],
      pods: [pod("web-a"), agent("node2", "True")],
    },
  ],
  "a request that has ended badly": [
    "crr/again",
    {
      "containerrecreaterequests.apps.kruise.io": [
        request({
          phase: "Completed",
          message: "daemon has not responded for a long time",
          completionTime: ago(10),
          containerRecreateStates: [{ name: "web", phase: "Failed", message: "container has exited" }],
        }),
      ],
      pods: [],
    },
  ],
  "an EphemeralJob, under way": [
    "ephemeraljob/debug",
    {
      "ephemeraljobs.apps.kruise.io": [
        ephemeralJob(
          { parallelism: 2 },
          { phase: "Running", match: 5, running: 1, waiting: 1, failed: 1, succeeded: 1 },
        ),
      ],
      pods: [
        withEphemeral("web-a", { terminated: { exitCode: 3, message: "no such file", finishedAt: ago(20) } }),
        withEphemeral("web-b", { running: { startedAt: ago(50) } }),
        withEphemeral("web-c", { waiting: { reason: "ImagePullBackOff", message: "back-off 10s" } }),
        withEphemeral("web-d", { terminated: { exitCode: 0 } }),
        pod("web-e"),
      ],
    },
  ],
  "an EphemeralJob that matches nothing, and is paused": [
    "ephemeraljob/debug",
    { "ephemeraljobs.apps.kruise.io": [ephemeralJob({ paused: true }, { phase: "Paused" })] },
  ],
  "an EphemeralJob that has failed": [
    "ephemeraljob/debug",
    {
      "ephemeraljobs.apps.kruise.io": [
        ephemeralJob(
          {},
          {
            phase: "Failed",
            completionTime: ago(5),
            match: 1,
            failed: 1,
            conditions: [
              {
                type: "JobFailed",
                status: "True",
                reason: "JobFailed",
                message: "job failed to run all tasks",
                lastTransitionTime: ago(5),
              },
            ],
          },
        ),
      ],
      pods: [withEphemeral("web-a", { terminated: { exitCode: 1, finishedAt: ago(6) } })],
    },
  ],
  "an ImagePullJob, under way": [
    "imagepulljob/warm",
    {
      "imagepulljobs.apps.kruise.io": [
        {
          metadata: meta("warm"),
          spec: { image: "web:1", parallelism: 5 },
          status: {
            startTime: ago(60),
            desired: 7,
            active: 4,
            failed: 1,
            failedNodes: ["node1"],
            succeeded: 1,
            message: "job is running, progress 28.6%",
          },
        },
      ],
      "nodeimages.apps.kruise.io": [
        nodeImage("node1", task("web", "uid-warm"), pulled("web", failedPull("manifest unknown"))),
        nodeImage(
          "node2",
          task("web", "uid-warm"),
          pulled("web", { phase: "Pulling", progress: 40, startTime: ago(40) }),
        ),
        nodeImage("node3", task("web", "uid-warm"), pulled("web", { phase: "Waiting" })),
        nodeImage("node4", task("web", "uid-warm"), {}),
        nodeImage("node5", task("web", "uid-warm", 120), {}),
        nodeImage("node6", task("web", "uid-warm"), pulled("web", { phase: "Succeeded" })),
        nodeImage("node7", {}, {}),
      ],
      pods: [agent("node4", "True"), agent("node5", "False")],
    },
  ],
  "an ImagePullJob that is over": [
    "imagepulljob/warm",
    {
      "imagepulljobs.apps.kruise.io": [
        {
          metadata: meta("warm"),
          spec: { image: "web:1" },
          status: {
            startTime: ago(60),
            completionTime: ago(10),
            desired: 2,
            failed: 1,
            succeeded: 1,
            failedNodes: ["node9"],
            message: "job exceeds activeDeadlineSeconds",
          },
        },
      ],
    },
  ],
  "an ImagePullJob without nodes": [
    "imagepulljob/warm",
    {
      "imagepulljobs.apps.kruise.io": [
        { metadata: meta("warm"), spec: { image: "web:1" }, status: { startTime: ago(60), desired: 0 } },
      ],
    },
  ],
  "an ImageListPullJob": [
    "imagelistpulljob/all",
    {
      "imagelistpulljobs.apps.kruise.io": [
        {
          metadata: meta("all"),
          spec: { images: ["a:1", "b:1", "c:1", "d:1"] },
          status: { startTime: ago(60), desired: 4, succeeded: 1, completed: 2 },
        },
      ],
      "imagepulljobs.apps.kruise.io": [
        ["a", { startTime: ago(60), desired: 3, succeeded: 3 }] as const,
        ["b", { startTime: ago(60), desired: 3, succeeded: 2, failed: 1 }] as const,
        ["c", { startTime: ago(50), desired: 3, succeeded: 1, active: 1 }] as const,
      ].map(([image, status]) => ({
        metadata: meta(`all-${image}`, { ownerReferences: [{ uid: "uid-all", controller: true }] }),
        spec: { image: `${image}:1` },
        status,
      })),
    },
  ],
  "a NodeImage": [
    "nodeimage/node1",
    {
      "nodeimages.apps.kruise.io": [
        nodeImage(
          "node1",
          { ...task("a", "x"), ...task("b", "x"), ...task("c", "x"), ...task("d", "x") },
          {
            ...pulled("a", { phase: "Succeeded" }),
            ...pulled("b", failedPull("unauthorized")),
            ...pulled("c", {
              phase: "Pulling",
              progress: 10,
              startTime: ago(9),
              message: "connection reset",
            }),
          },
          { firstSyncStatus: { status: "Failed", message: "runtime is down", syncAt: ago(90) } },
        ),
      ],
      pods: [agent("node1", "False")],
    },
  ],
  "a PodProbeMarker": [
    "podprobemarker/idle",
    {
      "podprobemarkers.apps.kruise.io": [marker],
      pods: [
        pod("web-a"),
        pod("web-b"),
        pod("web-c"),
        pod("web-d", { spec: { nodeName: "node2" } }),
        pod("web-e", { spec: { nodeName: undefined }, status: { phase: "Pending", conditions: [] } }),
        agent("node1", "True"),
      ],
      "nodepodprobes.apps.kruise.io": [
        {
          metadata: clusterMeta("node1"),
          spec: { podProbes: [] },
          status: {
            podProbeStatuses: [
              probeState("web-a", "Succeeded"),
              probeState("web-b", "Failed", "exit code 1: busy"),
            ],
          },
        },
      ],
    },
  ],
  "a PodProbeMarker without pods": ["podprobemarker/idle", { "podprobemarkers.apps.kruise.io": [marker] }],
  "a PodProbeMarker whose probes succeed": [
    "podprobemarker/idle",
    {
      "podprobemarkers.apps.kruise.io": [marker],
      pods: [pod("web-a")],
      "nodepodprobes.apps.kruise.io": [
        { metadata: clusterMeta("node1"), status: { podProbeStatuses: [probeState("web-a", "Succeeded")] } },
      ],
    },
  ],
  "a NodePodProbe": [
    "nodepodprobe/node1",
    {
      "nodepodprobes.apps.kruise.io": [
        {
          metadata: clusterMeta("node1"),
          spec: { podProbes: [probed("web-a"), probed("web-b")] },
          status: { podProbeStatuses: [probeState("web-a", "Failed", "busy")] },
        },
      ],
    },
  ],
  "a budget that is spent": [
    "pub/web",
    {
      "podunavailablebudgets.policy.kruise.io": [
        budget(
          { maxUnavailable: 1 },
          {
            totalReplicas: 3,
            currentAvailable: 2,
            desiredAvailable: 2,
            unavailableAllowed: 0,
            disruptedPods: { "web-c": ago(5) },
          },
        ),
      ],
      pods: [guarded("web-a"), guarded("web-b", "False"), guarded("web-c"), pod("other")],
      events: [
        {
          metadata: meta("refused"),
          reason: "PubPreventPodDeletion",
          type: "Warning",
          involvedObject: { name: "web-a", uid: "uid-web-a" },
          lastTimestamp: ago(12),
        },
      ],
    },
  ],
  "a budget that never lets a pod go": [
    "pub/web",
    {
      "podunavailablebudgets.policy.kruise.io": [
        budget({ minAvailable: "100%" }, { totalReplicas: 1, currentAvailable: 1, desiredAvailable: 1 }),
      ],
      pods: [guarded("web-a")],
    },
  ],
  "a budget that protects nothing": [
    "pub/web",
    {
      "podunavailablebudgets.policy.kruise.io": [
        budget(
          { maxUnavailable: "100%" },
          { totalReplicas: 1, currentAvailable: 1, desiredAvailable: 0, unavailableAllowed: 1 },
        ),
      ],
      pods: [guarded("web-a")],
    },
  ],
  "a budget with room": [
    "pub/web",
    {
      "podunavailablebudgets.policy.kruise.io": [
        budget(
          { maxUnavailable: 1 },
          { totalReplicas: 2, currentAvailable: 2, desiredAvailable: 1, unavailableAllowed: 1 },
        ),
      ],
      pods: [guarded("web-a"), guarded("web-b")],
    },
  ],
  "a budget without pods": [
    "pub/web",
    { "podunavailablebudgets.policy.kruise.io": [budget({ maxUnavailable: 1 }, { totalReplicas: 0 })] },
  ],
  "a PersistentPodState": [
    "persistentpodstate/db",
    {
      "persistentpodstates.apps.kruise.io": [
        {
          metadata: meta("db"),
          spec: {
            targetRef: { apiVersion: "apps.kruise.io/v1beta1", kind: "StatefulSet", name: "db" },
            requiredPersistentTopology: { keys: ["zone"] },
          },
          status: {
            observedGeneration: 1,
            podStates: {
              "db-0": { nodeName: "node1", nodeTopologyLabels: { zone: "a" } },
              "db-1": { nodeName: "node2", nodeTopologyLabels: { zone: "b" } },
            },
          },
        },
      ],
      "statefulsets.apps.kruise.io": [{ metadata: meta("db") }],
      pods: ["db-0", "db-1", "db-2"].map((name) =>
        pod(name, {
          metadata: { ownerReferences: [{ uid: "uid-db", controller: true }] },
          ...(name === "db-1"
            ? {
                spec: { nodeName: undefined },
                status: {
                  phase: "Pending",
                  conditions: [
                    {
                      type: "PodScheduled",
                      status: "False",
                      reason: "Unschedulable",
                      message: "0/2 nodes are available",
                      lastTransitionTime: ago(70),
                    },
                  ],
                },
              }
            : {}),
        }),
      ),
    },
  ],
  "a PersistentPodState without its workload": [
    "persistentpodstate/db",
    {
      "persistentpodstates.apps.kruise.io": [
        {
          metadata: meta("db"),
          spec: { targetRef: { apiVersion: "apps.kruise.io/v1beta1", kind: "StatefulSet", name: "db" } },
          status: { observedGeneration: 1 },
        },
      ],
    },
  ],
};

t.test("each kind answers what its users ask", async (t) => {
  let found = "";
  for (const [title, [words, world]] of Object.entries(scenarios)) {
    const fake = fakeCluster();
    fake.put("leases.coordination.k8s.io", toAnyObject(lease));
    for (const name of ["node1", "node2"]) fake.put("nodes", toAnyObject(node(name)));
    for (const [plural, objects] of Object.entries(world))
      for (const object of objects) fake.put(plural, toAnyObject(object));
    const host = { clock: testClock(Date.parse(ago(0))) };
    const { code, stdout, stderr } = await run(`why ${words} -n default`, { client: fake.client, host });
    t.equal(stderr, "", title);
    t.same(fake.writes, [], `${title}: nothing is written`);
    found += `# ${title}: refit why ${words}; ends with ${code}\n${stdout}\n`;
  }
  t.equal(found, golden("why_status.txt", found));
});

/** Servers send objects in the versions that they serve, whatever else is in them. */
function inVersion(object: AnyObject, version: string): AnyObject {
  return toAnyObject({ ...object, apiVersion: `apps.kruise.io/${version}` });
}

const explains: readonly ((
  object: AnyObject,
  others: readonly AnyObject[],
) => readonly { message: string }[])[] = [
  (object) => explainRecreateRequest(object, factsWith({})).causes,
  (object, others) => explainEphemeralJob(inVersion(object, "v1alpha1"), others, factsWith({})).causes,
  (object) => explainImagePullJob(object, { tasks: [], agents: undefined }, factsWith({})).causes,
  (object, others) => explainImageListPullJob(object, others, factsWith({})).causes,
  (object) => explainNodeImage(inVersion(object, "v1beta1"), undefined, factsWith({})).causes,
  (object, others) =>
    explainPodProbeMarker(object, { pods: others, nodePodProbes: others, agents: undefined }, factsWith({}))
      .causes,
  (object) => explainNodePodProbe(object, undefined, factsWith({})).causes,
  (object, others) =>
    explainPodUnavailableBudget(object, { pods: ["a"], refusals: others }, factsWith({})).causes,
  (object, others) =>
    explainPersistentPodState(object, { target: "missing", pods: others }, factsWith({})).causes,
];

t.test("whatever objects hold, causes are lines", async (t) => {
  const samples = Object.values(scenarios).flatMap(([, world]) =>
    Object.values(world).flat().map(toAnyObject),
  );
  const anything = fc.oneof(fc.jsonValue(), fc.string({ unit: "binary" }), fc.constant(undefined));
  const path = fc.array(fc.nat(20), { minLength: 1, maxLength: 6 });
  const hostile = fc
    .tuple(fc.constantFrom(...samples), fc.array(fc.tuple(path, anything), { maxLength: 3 }))
    .map(([object, edits]) => edits.reduce((edited: unknown, [at, by]) => replaced(edited, at, by), object))
    .filter((object) => isFields(object) && isFields(object["metadata"]))
    .map(toAnyObject);
  fc.assert(
    fc.property(hostile, fc.array(hostile, { maxLength: 3 }), (object, others) =>
      explains.every((explain) =>
        explain(object, others).every(({ message }) => !/\p{Cc}/u.test(message) && message.length < 3000),
      ),
    ),
    { numRuns: 250, seed: 20260103 },
  );
  t.pass("no counterexample");
});

/** The value with the member at a path of positions replaced. */
function replaced(value: unknown, [first, ...rest]: readonly number[], by: unknown): unknown {
  if (first === undefined) return by;
  if (Array.isArray(value)) {
    const at = value.length === 0 ? 0 : first % value.length;
    return value.map((item, index) => (index === at ? replaced(item, rest, by) : item));
  }
  if (!isFields(value)) return by;
  const keys = Object.keys(value);
  const key = keys[keys.length === 0 ? 0 : first % keys.length];
  return key === undefined ? by : { ...value, [key]: replaced(value[key], rest, by) };
}
