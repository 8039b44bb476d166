import t from "tap";
import { findCondition, seededRandom } from "../../kube/core/index.ts";
import { testClock } from "../../testkit/kube/fake_clock.ts";
import { FakeCluster } from "../../testkit/sandbox/fake_cluster.ts";
import { createEventWriter } from "../events.ts";
import { type NodeProfile, nodeObject } from "../nodes/node_object.ts";
import { isPod, type PodObject, type PodSpec } from "../objects/index.ts";
import { Scheduler } from "./scheduler.ts";

function setUp(nodes: readonly NodeProfile[]) {
  const clock = testClock();
  const cluster = new FakeCluster();
  cluster.now = clock.now;
  const addresses = { hostIp: "1.2.3.4", cidr: "10.0.0.0/22" };
  const addNode = (profile: NodeProfile): void => {
    cluster.create("nodes", nodeObject(profile, profile.name ?? "", addresses, clock.now()));
  };
  for (const profile of nodes) addNode(profile);
  const events = createEventWriter(cluster, clock, seededRandom(1));
  const errors: unknown[] = [];
  const scheduler = new Scheduler({
    cluster,
    clock,
    events,
    tellSuccess: false,
    onError: (e) => errors.push(e),
  });
  t.teardown(() => scheduler.stop());
  const add = (name: string, spec: Partial<PodSpec> = {}, labels: Record<string, string> = {}): void => {
    cluster.create("pods", {
      metadata: { namespace: "default", name, labels },
      spec: { containers: [{ name: "c", image: "x" }], ...spec },
    });
    clock.skip(0);
  };
  const pod = (name: string): PodObject => {
    const found = cluster.get("pods", { namespace: "default", name });
    if (!isPod(found)) throw new Error(`no pod ${name}`);
    return found;
  };
  const at = (name: string): string => pod(name).spec.nodeName ?? "";
  const why = (name: string): string =>
    findCondition(pod(name).status?.conditions, "PodScheduled")?.message ?? "";
  return { clock, cluster, add, addNode, pod, at, why, errors };
}

const asking = (cpu: string): Partial<PodSpec> => ({
  containers: [{ name: "c", image: "x", resources: { requests: { cpu } } }],
});

t.test("pods are spread over nodes, and the reason is shown where none fits", async (t) => {
  const { clock, cluster, add, addNode, at, why, pod, errors } = setUp([
    { name: "master1", taints: [{ key: "node-role.kubernetes.io/control-plane", effect: "NoSchedule" }] },
    { name: "node1", capacity: { cpu: "2" } },
    { name: "node2", capacity: { cpu: "2" } },
  ]);
  for (const name of ["a", "b", "c", "d"]) add(name, asking("900m"));
  const places = ["a", "b", "c", "d"].map(at);
  t.equal(places.filter((node) => node === "node1").length, 2);
  t.equal(places.filter((node) => node === "node2").length, 2);
  t.equal(findCondition(pod("a").status?.conditions, "PodScheduled")?.status, "True");
  add("e", asking("900m"));
  t.equal(at("e"), "");
  t.equal(
    why("e"),
    "0/3 nodes are available: 1 node(s) had untolerated taint {node-role.kubernetes.io/control-plane: }, 2 Insufficient cpu.",
  );
  t.ok([...cluster.list("events")].some((event) => event["reason"] === "FailedScheduling"));
  cluster.remove("pods", { namespace: "default", name: "a" }, { gracePeriodSeconds: 0 });
  clock.skip(100);
  t.match(at("e"), /^node[12]$/, "room was made");
  add("f", asking("1500m"));
  t.equal(at("f"), "");
  addNode({ name: "node3" });
  clock.skip(100);
  t.equal(at("f"), "node3", "a node came");
  t.same(errors, []);
});

t.test("selectors, affinity, taints, cordons, host ports, other schedulers", async (t) => {
  const { add, at, why } = setUp([
    { name: "node1", labels: { colour: "blue" } },
    { name: "node2", taints: [{ key: "k", value: "v", effect: "NoExecute" }] },
    { name: "node3", unschedulable: true },
  ]);
  add("selected", { nodeSelector: { colour: "green" } });
  t.match(why("selected"), /1 node\(s\) didn't match Pod's node affinity\/selector/);
  add("tolerant", {
    tolerations: [{ key: "k", operator: "Equal", value: "v" }],
    nodeSelector: { "kubernetes.io/hostname": "node2" },
  });
  t.equal(at("tolerant"), "node2");
  const pinned = (node: string) => ({
    affinity: {
      nodeAffinity: {
        requiredDuringSchedulingIgnoredDuringExecution: {
          nodeSelectorTerms: [{ matchFields: [{ key: "metadata.name", operator: "In", values: [node] }] }],
        },
      },
    },
  });
  add("pinned", pinned("node3"));
  t.equal(at("pinned"), "");
  t.match(why("pinned"), /1 node\(s\) were unschedulable/);
  const tolerations = [{ key: "node.kubernetes.io/unschedulable", operator: "Exists", effect: "NoSchedule" }];
  add("daemon", { ...pinned("node3"), tolerations });
  t.equal(at("daemon"), "node3");
  const port = { containers: [{ name: "c", image: "x", ports: [{ containerPort: 80, hostPort: 80 }] }] };
  add("port-a", port);
  add("port-b", port);
  t.equal(at("port-a"), "node1");
  t.match(why("port-b"), /free ports/);
  add("foreign", { schedulerName: "other" });
  t.equal(why("foreign"), "");
  add("gated", { schedulingGates: [{ name: "wait" }] });
  t.equal(at("gated"), "");
});

t.test("rules between pods: spread over zones, apart on hosts", async (t) => {
  const { add, at, why } = setUp([
    { name: "node1", zone: "a" },
    { name: "node2", zone: "a" },
    { name: "node3", zone: "b" },
  ]);
  const labelSelector = { matchLabels: { app: "x" } };
  const spread = {
    topologySpreadConstraints: [
      {
        maxSkew: 1,
        topologyKey: "topology.kubernetes.io/zone",
        whenUnsatisfiable: "DoNotSchedule",
        labelSelector,
      },
    ],
  };
  for (const name of ["s1", "s2", "s3", "s4"]) add(name, spread, { app: "x" });
  t.equal(["s1", "s2", "s3", "s4"].filter((name) => at(name) === "node3").length, 2);
  const apart = {
    affinity: {
      podAntiAffinity: {
        requiredDuringSchedulingIgnoredDuringExecution: [
          { topologyKey: "kubernetes.io/hostname", labelSelector: { matchLabels: { app: "y" } } },
        ],
      },
    },
  };
  for (const name of ["y1", "y2", "y3", "y4"]) add(name, apart, { app: "y" });
  t.same(["y1", "y2", "y3"].map(at).toSorted(), ["node1", "node2", "node3"]);
  t.match(why("y4"), /3 node\(s\) didn't match pod anti-affinity rules/);
});

t.test("binding is one write per pod, and many pods cost no rescans", async (t) => {
  const { cluster, clock } = setUp(Array.from({ length: 20 }, (_, index) => ({ name: `n${index}` })));
  const before = cluster.writes.length;
  for (let index = 0; index < 500; index++) {
    cluster.create("pods", {
      metadata: { namespace: "default", name: `p${index}` },
      spec: { containers: [{ name: "c", image: "x" }] },
    });
  }
  let lists = 0;
  const list = cluster.list.bind(cluster);
  cluster.list = (resource, namespace) => {
    lists += 1;
    return list(resource, namespace);
  };
  clock.skip(10);
  t.equal(cluster.writes.length - before, 1_000);
  t.equal(lists, 0);
  const perNode = new Map<string, number>();
  for (const pod of list("pods")) {
    const node = isPod(pod) ? (pod.spec.nodeName ?? "") : "";
    perNode.set(node, (perNode.get(node) ?? 0) + 1);
  }
  t.same([...new Set(perNode.values())], [25]);
});
