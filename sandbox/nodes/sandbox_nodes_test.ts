import t from "tap";
import { findCondition, seededRandom } from "../../kube/core/index.ts";
import { testClock } from "../../testkit/kube/fake_clock.ts";
import { FakeCluster } from "../../testkit/sandbox/fake_cluster.ts";
import { createEventWriter } from "../events.ts";
import { isPod, isPodReady, type PodObject, type PodSpec } from "../objects/index.ts";
import { type ProfileName, profiles } from "../stages/profile.ts";
import { SandboxNodes } from "./sandbox_nodes.ts";

function setUp(profile: ProfileName = "fast", agent = false) {
  const clock = testClock();
  const cluster = new FakeCluster();
  cluster.now = clock.now;
  const random = seededRandom(7);
  const errors: unknown[] = [];
  const events = createEventWriter(cluster, clock, random);
  const timing = profiles[profile];
  const nodes = new SandboxNodes({
    cluster,
    clock,
    random,
    timing,
    events,
    agent,
    onError: (e) => errors.push(e),
  });
  nodes.add(1);
  const run = (name: string, spec: Partial<PodSpec> = {}, annotations: Record<string, string> = {}): void => {
    cluster.create("pods", {
      apiVersion: "v1",
      kind: "Pod",
      metadata: { namespace: "default", name, annotations, labels: { app: "web" } },
      spec: { nodeName: "node1", containers: [{ name: "web", image: "nginx:1.20" }], ...spec },
      status: { phase: "Pending" },
    });
  };
  const pod = (name: string): PodObject => {
    const found = cluster.get("pods", { namespace: "default", name });
    if (!isPod(found)) throw new Error(`no pod ${name}`);
    return found;
  };
  const patch = (name: string, change: (draft: PodObject) => void): void => {
    cluster.update("pods", { namespace: "default", name }, (draft) => {
      if (isPod(draft)) change(draft);
    });
  };
  const ready = (name: string) => () => isPodReady(pod(name));
  const podWrites = () => cluster.writes.filter((write) => write.startsWith("update pods")).length;
  return { clock, cluster, nodes, run, pod, patch, ready, podWrites, errors };
}

const first = (pod: PodObject, at = 0) => {
  const status = pod.status?.containerStatuses?.[at];
  if (!status) throw new Error("no container status");
  return status;
};

t.test("a node is Ready and a pod on it starts with at most two writes", async (t) => {
  const { clock, cluster, run, pod, ready, podWrites, errors } = setUp();
  const node = cluster.get("nodes", { name: "node1" });
  t.match(node, {
    metadata: { labels: { "kubernetes.io/hostname": "node1" } },
    status: { allocatable: { pods: "110" } },
  });
  run("a");
  clock.until(ready("a"), 1_000);
  const { status } = pod("a");
  t.ok(podWrites() <= 2, `${podWrites()} writes`);
  t.equal(status?.phase, "Running");
  t.match(first(pod("a")), {
    ready: true,
    started: true,
    restartCount: 0,
    image: "nginx:1.20",
    lastState: {},
  });
  t.match(first(pod("a")).containerID, /^sandbox:\/\/[0-9a-f]{64}$/);
  t.match(first(pod("a")).imageID, /^docker\.io\/library\/nginx@sha256:[0-9a-f]{64}$/);
  t.match(status, { podIP: /^10\./, hostIP: /^172\./, observedGeneration: 1 });
  t.same(errors, []);
});

t.test("an image change restarts only that container, in at most two writes, and Ready dips", async (t) => {
  const { clock, cluster, run, pod, patch, ready, podWrites } = setUp();
  run("a", {
    containers: [
      { name: "web", image: "nginx:1.20" },
      { name: "side", image: "busybox:1.34", command: ["sleep", "86400"] },
    ],
  });
  clock.until(ready("a"), 1_000);
  clock.skip(1_000);
  const before = pod("a");
  let dipped = false;
  cluster.subscribe("pods", ({ object }) => {
    if (isPod(object) && !isPodReady(object))
      dipped = findCondition(object.status?.conditions, "ContainersReady")?.status === "False";
  });
  const writes = podWrites();
  patch("a", (draft) => {
    for (const container of draft.spec.containers)
      if (container.name === "web") container.image = "nginx:1.21";
  });
  clock.until(() => first(pod("a"), 1).image === "nginx:1.21" && isPodReady(pod("a")), 1_000);
  clock.skip(1_000);
  t.equal(dipped, true);
  t.equal(podWrites() - writes, 3, "the patch and two reports");
  const web = first(pod("a"), 1);
  t.equal(web.restartCount, 1);
  t.not(web.containerID, first(before, 1).containerID);
  t.equal(web.lastState?.terminated?.containerID, first(before, 1).containerID);
  t.same(first(pod("a")), first(before), "the other container is untouched");
  t.equal(pod("a").status?.podIP, before.status?.podIP);
});

t.test("with the bench profile a restart is one report after 200 ms", async (t) => {
  const { clock, run, pod, patch, ready, podWrites } = setUp("bench");
  run("a");
  clock.until(ready("a"), 1_000);
  t.equal(podWrites(), 1);
  patch("a", (draft) => {
    for (const container of draft.spec.containers) container.image = "nginx:1.21";
  });
  clock.skip(199);
  t.equal(first(pod("a")).restartCount, 0);
  clock.skip(2);
  t.equal(first(pod("a")).restartCount, 1);
  t.equal(podWrites(), 3);
});

t.test("Ready needs every readiness gate, in the kubelet's words", async (t) => {
  const { clock, run, pod, patch } = setUp();
  run("a", {
    readinessGates: [{ conditionType: "InPlaceUpdateReady" }, { conditionType: "KruisePodReady" }],
  });
  clock.skip(1_000);
  t.match(findCondition(pod("a").status?.conditions, "Ready"), {
    status: "False",
    reason: "ReadinessGatesNotReady",
    message:
      'corresponding condition of pod readiness gate "InPlaceUpdateReady" does not exist., corresponding condition of pod readiness gate "KruisePodReady" does not exist.',
  });
  t.equal(findCondition(pod("a").status?.conditions, "ContainersReady")?.status, "True");
  const set = (type: string, status: "True" | "False") =>
    patch("a", (draft) => {
      const others = (draft.status?.conditions ?? []).filter((condition) => condition.type !== type);
      draft.status = { ...draft.status, conditions: [...others, { type, status }] };
    });
  set("InPlaceUpdateReady", "False");
  set("KruisePodReady", "True");
  clock.skip(100);
  t.equal(
    findCondition(pod("a").status?.conditions, "Ready")?.message,
    'the status of pod readiness gate "InPlaceUpdateReady" is not "True", but False',
  );
  set("InPlaceUpdateReady", "True");
  clock.skip(100);
  t.equal(isPodReady(pod("a")), true);
});

t.test("a metadata change is no reason to write", async (t) => {
  const { clock, run, patch, ready, podWrites } = setUp();
  run("a");
  clock.until(ready("a"), 1_000);
  clock.skip(1_000);
  const before = podWrites();
  patch("a", (draft) => {
    draft.metadata.labels = { colour: "green" };
  });
  clock.skip(5_000);
  t.equal(podWrites() - before, 1);
});

t.test("a deleted pod goes after its containers have stopped, within its grace period", async (t) => {
  const { clock, cluster, run, ready } = setUp();
  run("a");
  run("hooked", {
    containers: [{ name: "web", image: "x", lifecycle: { preStop: { sleep: { seconds: 5 } } } }],
  });
  clock.until(ready("hooked"), 1_000);
  cluster.remove("pods", { namespace: "default", name: "a" }, { gracePeriodSeconds: 30 });
  cluster.remove("pods", { namespace: "default", name: "hooked" }, { gracePeriodSeconds: 3 });
  clock.skip(200);
  t.equal(cluster.get("pods", { namespace: "default", name: "a" }), undefined);
  t.ok(cluster.get("pods", { namespace: "default", name: "hooked" }));
  clock.skip(3_000);
  t.equal(cluster.get("pods", { namespace: "default", name: "hooked" }), undefined);
});

t.test("tasks end as their commands say", async (t) => {
  const { clock, run, pod } = setUp();
  const task = (command: string[]) => ({
    restartPolicy: "Never",
    containers: [{ name: "web", image: "busybox:1.34", command }],
  });
  run("good", task(["true"]));
  run("bad", task(["sh", "-c", "sleep 1; exit 3"]));
  run("sleeps", task(["sleep", "90"]));
  run("retries", { ...task(["false"]), restartPolicy: "OnFailure" });
  clock.skip(3_000);
  t.equal(pod("good").status?.phase, "Succeeded");
  t.match(first(pod("good")).state, { terminated: { exitCode: 0, reason: "Completed" } });
  t.match(findCondition(pod("good").status?.conditions, "Ready"), {
    status: "False",
    reason: "PodCompleted",
  });
  t.equal(pod("bad").status?.phase, "Failed");
  t.equal(first(pod("bad")).state?.terminated?.exitCode, 3);
  t.equal(pod("sleeps").status?.phase, "Running");
  t.equal(pod("retries").status?.phase, "Running");
  t.ok(first(pod("retries")).restartCount > 1);
  clock.skip(90_000);
  t.equal(pod("sleeps").status?.phase, "Succeeded");
});

t.test("a crashing container backs off as the kubelet does: at once, 10 s, 20 s", async (t) => {
  const { clock, nodes, run, pod, ready } = setUp("real");
  run("a");
  clock.until(ready("a"), 10_000);
  nodes.crashContainer("default", "a", "web", 2);
  clock.skip(3_000);
  t.equal(first(pod("a")).restartCount, 1);
  nodes.crashContainer("default", "a", "web", 2);
  clock.skip(3_000);
  t.match(first(pod("a")), {
    restartCount: 1,
    ready: false,
    state: { waiting: { reason: "CrashLoopBackOff" } },
  });
  t.equal(first(pod("a")).lastState?.terminated?.exitCode, 2);
  clock.skip(9_000);
  t.equal(first(pod("a")).restartCount, 2);
  nodes.crashContainer("default", "a", "web", 2);
  clock.skip(15_000);
  t.equal(first(pod("a")).restartCount, 2);
  clock.skip(8_000);
  t.equal(first(pod("a")).restartCount, 3);
});

t.test("pulls that fail, and recover", async (t) => {
  const { clock, nodes, run, pod, ready } = setUp();
  nodes.failPull("nginx:1.20");
  run("a");
  run("b", { containers: [{ name: "web", image: "registry.invalid/x:1" }] });
  clock.skip(150);
  t.equal(first(pod("a")).state?.waiting?.reason, "ImagePullBackOff");
  t.equal(first(pod("b")).state?.waiting?.reason, "ImagePullBackOff");
  nodes.mendPull("nginx:1.20");
  clock.until(ready("a"), 10_000);
  t.ok(nodes.images("node1").has("nginx:1.20"));
  clock.skip(10_000);
  t.equal(isPodReady(pod("b")), false);
});

t.test("containers wait for the ConfigMap key that holds them back", async (t) => {
  const { clock, cluster, run, pod, ready } = setUp();
  const barrier = (key: string) => [{ name: "B", valueFrom: { configMapKeyRef: { name: "bar", key } } }];
  run("a", {
    containers: [
      { name: "one", image: "x", env: barrier("p_0") },
      { name: "two", image: "x", env: barrier("p_-1") },
    ],
  });
  clock.skip(500);
  t.match(first(pod("a")).state?.waiting, {
    reason: "CreateContainerConfigError",
    message: 'configmap "bar" not found',
  });
  cluster.create("configmaps", { metadata: { namespace: "default", name: "bar" }, data: { p_0: "true" } });
  clock.skip(500);
  t.equal(first(pod("a")).ready, true);
  t.match(first(pod("a"), 1).state?.waiting, { reason: "CreateContainerConfigError" });
  cluster.update("configmaps", { namespace: "default", name: "bar" }, (draft) => {
    draft["data"] = { p_0: "true", "p_-1": "true" };
  });
  clock.until(ready("a"), 1_000);
  t.equal(first(pod("a"), 1).restartCount, 0);
});

t.test("init containers run in turn, sidecars stay, a postStart hook holds back what follows", async (t) => {
  const { clock, run, pod } = setUp();
  run("a", {
    initContainers: [
      { name: "prepare", image: "busybox:1.34", command: ["sleep", "2"] },
      { name: "proxy", image: "envoy:1", restartPolicy: "Always" },
    ],
    containers: [
      { name: "web", image: "nginx:1.20", lifecycle: { postStart: { exec: { command: ["sleep", "3"] } } } },
      { name: "later", image: "nginx:1.20" },
    ],
  });
  clock.skip(1_000);
  t.equal(first(pod("a")).state?.waiting?.reason, "PodInitializing");
  t.match(findCondition(pod("a").status?.conditions, "Initialized"), {
    status: "False",
    message: "containers with incomplete status: [prepare proxy]",
  });
  clock.skip(2_000);
  t.ok(first(pod("a"), 1).state?.running, "web runs its hook");
  t.ok(first(pod("a")).state?.waiting, "later waits for it");
  clock.skip(3_000);
  t.equal(isPodReady(pod("a")), true);
  t.match(pod("a").status?.initContainerStatuses, [
    { name: "prepare", ready: true },
    { name: "proxy", ready: true },
  ]);
});

t.test("resizes are carried out, refused, and restart where the policy says so", async (t) => {
  const { clock, run, pod, patch, ready } = setUp();
  const resources = (cpu: string) => ({ requests: { cpu }, limits: { cpu } });
  run("a", { containers: [{ name: "web", image: "x", resources: resources("1") }] });
  run("b", {
    containers: [
      {
        name: "web",
        image: "x",
        resources: resources("1"),
        resizePolicy: [{ resourceName: "cpu", restartPolicy: "RestartContainer" }],
      },
    ],
  });
  clock.until(() => ready("a")() && ready("b")(), 1_000);
  const ask = (name: string, cpu: string) =>
    patch(name, (draft) => {
      for (const container of draft.spec.containers) container.resources = resources(cpu);
    });
  ask("a", "2");
  ask("b", "2");
  clock.skip(500);
  t.match(first(pod("a")), {
    restartCount: 0,
    ready: true,
    allocatedResources: { cpu: "2" },
    resources: resources("2"),
  });
  t.match(first(pod("b")), { restartCount: 1, ready: true, resources: resources("2") });
  ask("a", "800");
  clock.skip(500);
  t.match(findCondition(pod("a").status?.conditions, "PodResizePending"), {
    status: "True",
    reason: "Infeasible",
  });
  t.same(first(pod("a")).resources, resources("2"));
  ask("a", "3");
  clock.skip(500);
  t.equal(findCondition(pod("a").status?.conditions, "PodResizePending"), undefined);
  t.same(first(pod("a")).resources, resources("3"));
});

t.test("a killed node says nothing; revived, it takes up its work", async (t) => {
  const { clock, cluster, nodes, run, pod, ready } = setUp();
  run("a");
  clock.until(ready("a"), 1_000);
  nodes.kill("node1");
  t.equal(nodes.silentSince("node1"), clock.now());
  run("b");
  cluster.remove("pods", { namespace: "default", name: "a" });
  clock.skip(5_000);
  t.ok(pod("a").metadata.deletionTimestamp);
  t.equal(pod("b").status?.phase, "Pending");
  nodes.revive("node1");
  clock.until(ready("b"), 1_000);
  t.equal(cluster.get("pods", { namespace: "default", name: "a" }), undefined);
});

t.test("the simulated agent records containers and renews environment from metadata", async (t) => {
  const { clock, cluster, run, pod, patch, ready, nodes } = setUp("fast", true);
  const env = [{ name: "MODE", valueFrom: { fieldRef: { fieldPath: "metadata.annotations['mode']" } } }];
  const injected = { mode: "first", "kruise.io/sidecarset-hash": "{}" };
  run("a", { containers: [{ name: "web", image: "x", env }] }, injected);
  run("plain");
  clock.until(ready("a"), 1_000);
  clock.skip(500);
  t.same(pod("plain").metadata.annotations, {}, "a pod of nobody without sidecars is none of its business");
  const record = () =>
    JSON.parse(pod("a").metadata.annotations?.["apps.kruise.io/runtime-containers-meta"] ?? "{}");
  t.equal(record().containers[0].containerID, first(pod("a")).containerID);
  patch("a", (draft) => {
    draft.metadata.annotations = { ...draft.metadata.annotations, mode: "second" };
  });
  clock.skip(1_000);
  t.equal(first(pod("a")).restartCount, 0, "nothing restarts while the gate is open");
  patch("a", (draft) => {
    const conditions = draft.status?.conditions ?? [];
    draft.status = {
      ...draft.status,
      conditions: [...conditions, { type: "InPlaceUpdateReady", status: "False" }],
    };
  });
  clock.skip(1_000);
  t.equal(first(pod("a")).restartCount, 1);
  t.match(nodes.exec("default", "a", "web", ["env"])?.stdout, /^MODE=second$/m);
  t.equal(record().containers[0].containerID, first(pod("a")).containerID);
  const killing = [...cluster.list("events")].map((event) => String(event["message"]));
  t.ok(killing.some((message) => message.endsWith("by container meta restarter")));
});

t.test("probes look for files that the process or a test makes", async (t) => {
  const { clock, nodes, run, pod } = setUp();
  const readinessProbe = { exec: { command: ["test", "-f", "/tmp/ok"] } };
  run("slow", {
    containers: [
      {
        name: "web",
        image: "x",
        command: ["sh", "-c", "sleep 8; touch /tmp/ok; sleep 86400"],
        readinessProbe,
      },
    ],
  });
  run("never", { containers: [{ name: "web", image: "x", readinessProbe }] });
  clock.skip(7_000);
  t.equal(isPodReady(pod("slow")), false);
  clock.skip(1_500);
  t.equal(isPodReady(pod("slow")), true);
  t.equal(isPodReady(pod("never")), false);
  nodes.exec("default", "never", "web", ["touch", "/tmp/ok"]);
  clock.skip(200);
  t.equal(isPodReady(pod("never")), true);
  nodes.exec("default", "never", "web", ["rm", "/tmp/ok"]);
  clock.skip(200);
  t.equal(isPodReady(pod("never")), false);
});
