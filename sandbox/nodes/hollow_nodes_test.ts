/** The driver before a sink that answers later, as one that speaks HTTP would. */
import t from "tap";
import { seededRandom } from "../../kube/core/index.ts";
import { testClock } from "../../testkit/kube/fake_clock.ts";
import { isPodReady, type PodObject } from "../objects/index.ts";
import { profiles } from "../stages/profile.ts";
import { HollowNodes, type NodeSink } from "./hollow_nodes.ts";

const settle = () => new Promise<void>((resolve) => setImmediate(resolve));

function setUp() {
  const clock = testClock();
  let version = 1;
  let stored: PodObject = {
    apiVersion: "v1",
    kind: "Pod",
    metadata: { namespace: "default", name: "a", uid: "u", resourceVersion: "1", generation: 1 },
    spec: { nodeName: "n", containers: [{ name: "web", image: "nginx:1.20" }] },
    status: { phase: "Pending" },
  };
  let gone = false;
  let writes = 0;
  const pending: (() => void)[] = [];
  const store = (change: Partial<PodObject>): PodObject => {
    version += 1;
    stored = {
      ...stored,
      ...change,
      metadata: { ...stored.metadata, ...change.metadata, resourceVersion: String(version) },
    };
    return stored;
  };
  const sink: NodeSink = {
    reportStatus: (_pod, compute) => {
      writes += 1;
      return new Promise((resolve) => pending.push(() => resolve(store({ status: compute(stored) }))));
    },
    removePod: () => {
      gone = true;
      return undefined;
    },
    annotate: () => undefined,
    event: () => undefined,
  };
  const errors: unknown[] = [];
  const nodes = new HollowNodes({
    clock,
    random: seededRandom(1),
    timing: profiles.bench,
    sink,
    sources: { get: () => undefined },
    onError: (error) => errors.push(error),
  });
  nodes.addNode("n", {}, { cpu: "4" });
  const answer = async (): Promise<void> => {
    for (const write of pending.splice(0)) write();
    await settle();
  };
  return { clock, nodes, answer, store, pod: () => stored, gone: () => gone, writes: () => writes, errors };
}

t.test(
  "reports answered later: one per start, and no change of another hand is lost meanwhile",
  async (t) => {
    const { clock, nodes, answer, store, pod, gone, writes, errors } = setUp();
    nodes.podChanged(pod());
    clock.skip(250);
    t.equal(writes(), 1);
    // While the first report is on its way, somebody changes the image.
    const web = (image: string) => ({ ...pod().spec, containers: [{ name: "web", image }] });
    nodes.podChanged(store({ spec: web("nginx:1.21") }));
    await answer();
    t.equal(isPodReady(pod()), true);
    clock.skip(250);
    await answer();
    t.equal(writes(), 2);
    t.match(pod().status?.containerStatuses, [{ image: "nginx:1.21", restartCount: 1, ready: true }]);
    const metadata = {
      ...pod().metadata,
      deletionTimestamp: "2026-01-01T00:00:30Z",
      deletionGracePeriodSeconds: 30,
    };
    nodes.podChanged(store({ metadata }));
    clock.skip(250);
    t.equal(gone(), true);
    nodes.podGone("u");
    t.equal(nodes.node("n")?.pods.size, 0);
    t.same(errors, []);
  },
);

t.test("an older state that arrives late is not believed", async (t) => {
  const { clock, nodes, answer, store, pod, writes } = setUp();
  const old = pod();
  nodes.podChanged(store({ spec: { ...old.spec, containers: [{ name: "web", image: "nginx:1.22" }] } }));
  nodes.podChanged(old);
  clock.skip(250);
  await answer();
  t.equal(writes(), 1);
  t.match(pod().status?.containerStatuses, [{ image: "nginx:1.22", restartCount: 0 }]);
});

t.test("a pod that a node takes over keeps its running containers", async (t) => {
  const first = setUp();
  first.nodes.podChanged(first.pod());
  first.clock.skip(250);
  await first.answer();
  const second = setUp();
  second.nodes.podChanged(first.pod());
  second.clock.skip(5_000);
  t.equal(second.writes(), 0, "nothing to report");
  t.equal(second.nodes.node("n")?.pods.size, 1);
});
