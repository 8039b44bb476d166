import t from "tap";
import type { ContainerRecreateRequest } from "../../crds/index.ts";
import { formatTime, seededRandom } from "../../kube/core/index.ts";
import { testClock } from "../../testkit/kube/fake_clock.ts";
import { FakeCluster } from "../../testkit/sandbox/fake_cluster.ts";
import type { StoredObject } from "../cluster.ts";
import { createEventWriter } from "../events.ts";
import { SandboxNodes } from "../nodes/sandbox_nodes.ts";
import { isPod, isPodReady, type PodObject, type PodSpec } from "../objects/index.ts";
import { profiles } from "../stages/profile.ts";

const resource = "containerrecreaterequests.apps.kruise.io";
type Spec = Partial<ContainerRecreateRequest["spec"]>;

/** A pod `web` of two containers on a node with an agent, ready. */
function setUp(spec: Partial<PodSpec> = {}) {
  const clock = testClock();
  const cluster = new FakeCluster();
  cluster.now = clock.now;
  const random = seededRandom(7);
  const errors: unknown[] = [];
  cluster.create("customresourcedefinitions.apiextensions.k8s.io", {
    metadata: { name: resource },
    status: { conditions: [{ type: "Established", status: "True" }] },
  });
  const events = createEventWriter(cluster, clock, random);
  const settings = { cluster, clock, random, events, timing: profiles.fast, agent: true };
  const nodes = new SandboxNodes({ ...settings, onError: (error) => errors.push(error) });
  nodes.add(1);
  const containers = ["app", "side"].map((name) => ({ name, image: "nginx:1.20" }));
  cluster.create("pods", {
    apiVersion: "v1",
    kind: "Pod",
    metadata: { namespace: "default", name: "web" },
    spec: { nodeName: "node1", containers, ...spec },
    status: { phase: "Pending" },
  });
  const pod = (): PodObject => {
    const found = cluster.get("pods", { namespace: "default", name: "web" });
    if (!isPod(found)) throw new Error("no pod");
    return found;
  };
  clock.until(() => isPodReady(pod()), 1_000);
  clock.skip(500);
  const containerOf = (name: string) => pod().status?.containerStatuses?.find((one) => one.name === name);
  const ask = (name: string, containers: readonly string[], more: Spec = {}): void => {
    const labels = {
      "crr.apps.kruise.io/pod-uid": pod().metadata.uid ?? "",
      "crr.apps.kruise.io/node-name": "node1",
      "crr.apps.kruise.io/active": "true",
    };
    const listed = containers.map((container) => {
      const { containerID = "", restartCount = 0 } = containerOf(container) ?? {};
      return { name: container, statusContext: { containerID, restartCount } };
    });
    cluster.create(resource, {
      metadata: { namespace: "default", name, labels },
      spec: { podName: "web", containers: listed, ...more },
    });
  };
  const statusOf = (name: string): Partial<NonNullable<ContainerRecreateRequest["status"]>> => {
    const found: StoredObject | undefined = cluster.get(resource, { namespace: "default", name });
    return Object(found?.["status"]);
  };
  const completed = (name: string) => () => statusOf(name).phase === "Completed";
  const killings = () =>
    [...cluster.list("events")]
      .filter((event) => event["reason"] === "Killing")
      .map((event) => event["message"]);
  return { clock, cluster, nodes, pod, containerOf, ask, statusOf, completed, killings, errors };
}

t.test("the named container restarts, and only that", async (t) => {
  const { clock, pod, containerOf, ask, statusOf, completed, killings, errors } = setUp();
  const [before, side] = [containerOf("app"), containerOf("side")];
  const { uid } = pod().metadata;
  ask("one", ["app"], { strategy: { minStartedSeconds: 5 } });
  clock.until(() => isPodReady(pod()) && containerOf("app")?.restartCount === 1, 1_000);
  const restarted = clock.now();
  clock.skip(4_500);
  t.match(statusOf("one"), {
    phase: "Recreating",
    containerRecreateStates: [{ name: "app", phase: "Recreating" }],
  });
  clock.until(completed("one"), 2_000);
  t.ok(clock.now() - restarted >= 4_900);
  t.strictSame(statusOf("one").containerRecreateStates, [
    { name: "app", phase: "Succeeded", isKilled: true },
  ]);
  t.not(containerOf("app")?.containerID, before?.containerID);
  t.strictSame(containerOf("side"), side);
  t.equal(pod().metadata.uid, uid);
  t.strictSame(killings(), ["Stopping container app by ContainerRecreateRequest one"]);
  t.strictSame(errors, []);
});

t.test(
  "at its end the request shows the new containers, also what its controller has not shown yet",
  async (t) => {
    const { clock, containerOf, ask, statusOf, completed } = setUp();
    ask("both", ["app", "side"]);
    clock.until(completed("both"), 60_000);
    const shown = (name: string) => ({
      name,
      ready: true,
      restartCount: 1,
      containerID: containerOf(name)?.containerID,
    });
    t.same(statusOf("both").containerStatusSnapshot, [shown("app"), shown("side")]);
  },
);

t.test("no back-off between requests, and the second waits for the first", async (t) => {
  const { clock, ask, statusOf, completed, containerOf } = setUp();
  ask("one", ["app"]);
  ask("two", ["side"]);
  clock.until(() => statusOf("two").phase === "Pending", 500);
  t.equal(statusOf("one").phase, "Recreating");
  clock.until(completed("one"), 2_000);
  t.equal(containerOf("side")?.restartCount, 0);
  // Its agent looks again when the other one's label goes.
  clock.until(completed("two"), 2_000);
  for (const name of ["three", "four", "five"]) {
    ask(name, ["app"]);
    clock.until(completed(name), 1_000);
  }
  t.equal(containerOf("app")?.restartCount, 4);
});

t.test("in order, within the grace of the request", async (t) => {
  const preStop = { exec: { command: ["sleep", "8"] } };
  const containers = ["app", "side"].map((name) => ({ name, image: "nginx:1.20", lifecycle: { preStop } }));
  const { clock, ask, statusOf, completed, containerOf } = setUp({ containers });
  ask("hooked", ["side", "app"], { strategy: { orderedRecreate: true, terminationGracePeriodSeconds: 30 } });
  clock.skip(7_900);
  t.equal(containerOf("side")?.restartCount, 0);
  clock.until(() => containerOf("side")?.restartCount === 1, 1_000);
  t.equal(containerOf("app")?.restartCount, 0);
  clock.until(completed("hooked"), 20_000);
  t.match(statusOf("hooked").containerRecreateStates, [{ phase: "Succeeded" }, { phase: "Succeeded" }]);
  ask("abrupt", ["app"], { strategy: { terminationGracePeriodSeconds: 0 } });
  clock.until(completed("abrupt"), 1_000);
  t.equal(containerOf("app")?.restartCount, 2);
});

t.test("a stop under way is reported although the controller has ended the request", async (t) => {
  const preStop = { exec: { command: ["sleep", "8"] } };
  const containers = ["app", "side"].map((name) => ({ name, image: "nginx:1.20", lifecycle: { preStop } }));
  const { clock, cluster, ask, statusOf, containerOf } = setUp({ containers });
  ask("late", ["app", "side"]);
  clock.skip(3_000);
  t.match(statusOf("late").containerRecreateStates, [{ phase: "Pending" }, { phase: "Pending" }]);
  cluster.update(resource, { namespace: "default", name: "late" }, (draft) => {
    draft["status"] = { ...Object(draft["status"]), phase: "Completed" };
    delete draft.metadata.labels?.["crr.apps.kruise.io/active"];
  });
  clock.skip(10_000);
  t.equal(containerOf("app")?.restartCount, 1);
  t.equal(containerOf("side")?.restartCount, 0);
  t.strictSame(statusOf("late").containerRecreateStates, [
    { name: "app", phase: "Recreating", isKilled: true },
    { name: "side", phase: "Pending" },
  ]);
});

t.test("nothing is stopped before the pod was not ready long enough", async (t) => {
  const { clock, cluster, ask, completed, containerOf } = setUp();
  ask("drain", ["app"], { strategy: { unreadyGracePeriodSeconds: 3 } });
  clock.skip(5_000);
  t.equal(containerOf("app")?.restartCount, 0);
  const lastTransitionTime = formatTime(clock.now());
  cluster.update(resource, { namespace: "default", name: "drain" }, (draft) => {
    const conditions = [
      { type: "PreRecreateGrace", status: "True", reason: "x", message: "", lastTransitionTime },
    ];
    draft["status"] = { ...Object(draft["status"]), conditions };
  });
  clock.skip(3_000);
  t.equal(containerOf("app")?.restartCount, 0);
  clock.until(completed("drain"), 3_000);
  t.equal(containerOf("app")?.restartCount, 1);
});

t.test("what restarted by itself is left alone unless forced, and Never is a failure", async (t) => {
  const { clock, nodes, pod, ask, completed, containerOf } = setUp();
  nodes.setTiming({ agent: { from: 0, to: 0 } });
  ask("late", ["app"]);
  nodes.crashContainer("default", "web", "app");
  clock.until(completed("late"), 10_000);
  t.equal(containerOf("app")?.restartCount, 1);
  ask("forced", ["app"], { strategy: { forceRecreate: true } });
  clock.until(completed("forced"), 10_000);
  t.equal(containerOf("app")?.restartCount, 2);
  t.equal(isPodReady(pod()), true);
  const never = setUp({ restartPolicy: "Never" });
  never.ask("once", ["app"]);
  never.clock.until(never.completed("once"), 2_000);
  t.match(never.statusOf("once").containerRecreateStates, [
    { phase: "Failed", isKilled: true, message: /restartPolicy is Never/ },
  ]);
});
