import t from "tap";
import type { Taint, Toleration } from "../../kube/core/index.ts";
import { findCondition, seededRandom } from "../../kube/core/index.ts";
import { testClock } from "../../testkit/kube/fake_clock.ts";
import { FakeCluster } from "../../testkit/sandbox/fake_cluster.ts";
import { createEventWriter } from "../events.ts";
import { SandboxNodes } from "../nodes/sandbox_nodes.ts";
import { isNode, isPod, type NodeObject, type PodObject } from "../objects/index.ts";
import { profiles } from "../stages/profile.ts";
import { evictionIn, NodeLifecycle } from "./node_lifecycle.ts";

function setUp(leaseMs = 0) {
  const clock = testClock();
  const cluster = new FakeCluster();
  cluster.now = clock.now;
  const random = seededRandom(3);
  const errors: unknown[] = [];
  const onError = (error: unknown) => errors.push(error);
  const events = createEventWriter(cluster, clock, random);
  const heartbeat = { leaseMs, graceMs: 40_000, orphanMs: 45_000 };
  const timing = { ...profiles.fast, heartbeat };
  cluster.create("namespaces", { metadata: { name: "kube-node-lease" } });
  const nodes = new SandboxNodes({ cluster, clock, random, timing, events, onError });
  const lifecycle = new NodeLifecycle({ cluster, clock, events, heartbeat, silence: nodes, onError });
  t.teardown(() => {
    lifecycle.stop();
    nodes.stop();
  });
  nodes.add(1);
  const pod = (name: string, tolerations: Toleration[] = []): void => {
    cluster.create("pods", {
      metadata: { namespace: "default", name },
      spec: { nodeName: "node1", containers: [{ name: "c", image: "x" }], tolerations },
      status: { phase: "Pending" },
    });
  };
  const theNode = (): NodeObject => {
    const found = cluster.get("nodes", { name: "node1" });
    if (!isNode(found)) throw new Error("no node");
    return found;
  };
  const thePod = (name: string): PodObject | undefined => {
    const found = cluster.get("pods", { namespace: "default", name });
    return isPod(found) ? found : undefined;
  };
  const taint = (taints: Taint[]): void => {
    cluster.update("nodes", { name: "node1" }, (draft) => {
      if (isNode(draft)) draft.spec.taints = taints;
    });
  };
  return { clock, cluster, nodes, pod, theNode, thePod, taint, errors };
}

t.test("an annotation lets a node die and come back; others are pointed out", async (t) => {
  const { clock, cluster, pod, theNode, thePod, errors } = setUp();
  const annotate = (value: string) =>
    cluster.update("nodes", { name: "node1" }, (draft) => {
      draft.metadata.annotations = { ...draft.metadata.annotations, "sandbox.refit.dev/dead": value };
    });
  const ready = () => findCondition(theNode().status?.conditions, "Ready")?.status;
  pod("a");
  clock.skip(1_000);
  t.equal(ready(), "True");
  annotate("true");
  clock.skip(39_000);
  t.equal(ready(), "True", "within the grace period");
  clock.skip(2_000);
  t.equal(ready(), "Unknown");
  t.ok(thePod("a")?.metadata.deletionTimestamp, "evicted, and nobody stops its containers");
  annotate("false");
  clock.skip(1_000);
  t.equal(ready(), "True");
  t.equal(thePod("a"), undefined);
  annotate("perhaps");
  const events = [...cluster.list("events")];
  t.match(events.at(-1), { reason: "InvalidAnnotation", involvedObject: { kind: "Node", name: "node1" } });
  t.same(errors, []);
});

t.test("silence beyond the grace period taints the node; tolerations say when its pods go", async (t) => {
  const { clock, nodes, pod, theNode, thePod, errors } = setUp();
  const unreachable = { key: "node.kubernetes.io/unreachable", operator: "Exists", effect: "NoExecute" };
  pod("brief", [{ ...unreachable, tolerationSeconds: 300 }]);
  pod("forever", [unreachable]);
  pod("intolerant");
  clock.skip(1_000);
  nodes.kill("node1");
  clock.skip(39_000);
  t.same(theNode().spec.taints ?? [], []);
  clock.skip(2_000);
  t.same(
    theNode().spec.taints?.map(({ key, effect }) => `${key}:${effect}`),
    ["node.kubernetes.io/unreachable:NoSchedule", "node.kubernetes.io/unreachable:NoExecute"],
  );
  t.ok(thePod("intolerant")?.metadata.deletionTimestamp);
  t.notOk(thePod("brief")?.metadata.deletionTimestamp);
  clock.skip(298_000);
  t.notOk(thePod("brief")?.metadata.deletionTimestamp);
  clock.skip(3_000);
  t.ok(thePod("brief")?.metadata.deletionTimestamp);
  t.notOk(thePod("forever")?.metadata.deletionTimestamp);
  nodes.revive("node1");
  clock.skip(2_000);
  t.same(theNode().spec.taints ?? [], []);
  t.equal(thePod("brief"), undefined, "its kubelet ends what was deleted meanwhile");
  t.same(errors, []);
});

t.test("a cordon is a taint, and goes with it", async (t) => {
  const { clock, cluster, theNode } = setUp();
  const cordon = (unschedulable: boolean): void => {
    cluster.update("nodes", { name: "node1" }, (draft) => {
      if (isNode(draft)) draft.spec.unschedulable = unschedulable;
    });
    clock.skip(0);
  };
  cordon(true);
  t.match(theNode().spec.taints, [{ key: "node.kubernetes.io/unschedulable", effect: "NoSchedule" }]);
  cordon(false);
  t.same(theNode().spec.taints ?? [], []);
});

t.test("pods of a node that is gone are removed after their time", async (t) => {
  const { clock, cluster, nodes, pod, thePod } = setUp();
  pod("a");
  clock.skip(1_000);
  nodes.remove("node1");
  clock.skip(44_000);
  t.ok(thePod("a"));
  clock.skip(2_000);
  t.equal(thePod("a"), undefined);
  t.equal([...cluster.list("nodes")].length, 0);
});

t.test("tolerations against NoExecute taints", async (t) => {
  const at = Date.UTC(2026, 0, 1);
  const evictedAfter = (taints: Taint[], tolerations: Toleration[]) =>
    evictionIn(
      { metadata: {}, spec: { containers: [], tolerations } },
      { metadata: {}, spec: { taints } },
      at + 5_000,
    );
  const taint = { key: "k", value: "v", effect: "NoExecute", timeAdded: new Date(at).toISOString() };
  t.equal(evictedAfter([], []), undefined);
  t.equal(evictedAfter([{ ...taint, effect: "NoSchedule" }], []), undefined);
  t.equal(evictedAfter([taint], []), 0);
  t.equal(evictedAfter([taint], [{ key: "k", operator: "Equal", value: "w" }]), 0);
  t.equal(evictedAfter([taint], [{ key: "k", operator: "Equal", value: "v" }]), undefined);
  t.equal(evictedAfter([taint], [{ operator: "Exists", tolerationSeconds: 20 }]), 15_000);
  t.equal(evictedAfter([taint, { ...taint, key: "l" }], [{ key: "k", operator: "Exists" }]), 0);
});

t.test("nodes renew their Lease where the profile says so", async (t) => {
  const { clock, cluster, nodes } = setUp(10_000);
  const renewed = () => {
    const lease = cluster.get("leases.coordination.k8s.io", { namespace: "kube-node-lease", name: "node1" });
    const spec: unknown = lease?.["spec"];
    return typeof spec === "object" && spec !== null && "renewTime" in spec ? spec.renewTime : undefined;
  };
  clock.skip(10_000);
  const first = renewed();
  t.type(first, "string");
  clock.skip(10_000);
  t.not(renewed(), first);
  nodes.kill("node1");
  const last = renewed();
  clock.skip(60_000);
  t.equal(renewed(), last);
});
