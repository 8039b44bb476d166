import t from "tap";
import { type Change, nullMetrics, type Pod, podResource, seededRandom } from "../../kube/index.ts";
import { testClock } from "../../testkit/kube/fake_clock.ts";
import { testLog } from "../../testkit/kube/fake_log.ts";
import { type FakeServer, fakeServer } from "../../testkit/kube/fake_server.ts";
import { pod } from "../../testkit/kube/pod_manifest_builder.ts";
import { type ObjectSelection, SelectedObjects } from "./selected_objects.ts";

function selecting(server: FakeServer, namespace = "") {
  const clock = testClock();
  const selected = new SelectedObjects<Pod>({
    client: server.client,
    clock,
    random: seededRandom(1),
    log: testLog(),
    metrics: nullMetrics,
    resource: podResource,
    namespace,
  });
  return { clock, selected };
}

const web: ObjectSelection = { namespace: "ns", labels: { matchLabels: { app: "web" } } };
const names = (pods: { values(): Iterable<Pod> }) => [...pods.values()].map(({ name }) => name).sort();

t.test(
  "only what is selected is watched; the key is enqueued once when it is there, then by each change",
  async (t) => {
    const server = fakeServer();
    server.put("pods", pod("a", { app: "web" }));
    server.put("pods", pod("b", { app: "web" }));
    server.put("pods", pod("other", { app: "db" }));
    const { clock, selected } = selecting(server);
    const enqueued: [string, string | undefined][] = [];
    const needs = selected.needs((key: string, change?: Change<Pod>) =>
      enqueued.push([key, change?.object.name]),
    );
    t.equal(needs.need("ns/x", [web]), undefined, "not known yet");
    await clock.settle();
    t.same(enqueued, [["ns/x", undefined]]);
    const [held] = needs.need("ns/x", [web]) ?? [];
    t.same(held && names(held), ["a", "b"]);
    server.put("pods", pod("other", { app: "db", changed: "yes" }));
    server.put("pods", pod("c", { app: "web" }));
    await clock.settle();
    t.same(enqueued.slice(1), [["ns/x", "c"]], "a pod that is not selected enqueues nothing");
    t.same(server.watched, ["ns|app=web|"]);
    await selected.stop();
    t.equal(server.openWatches, 0);
  },
);

t.test("equal selections share a watch, which ends with its last user", async (t) => {
  const server = fakeServer();
  const { clock, selected } = selecting(server);
  const enqueued: string[] = [];
  const budgets = selected.needs((key) => enqueued.push(`budget ${key}`));
  const markers = selected.needs((key) => enqueued.push(`marker ${key}`));
  budgets.need("ns/x", [web]);
  budgets.need("ns/y", [web]);
  markers.need("ns/x", [
    { ...web, labels: { matchExpressions: [{ key: "app", operator: "In", values: ["web"] }] } },
  ]);
  markers.need("ns/z", [web]);
  await clock.settle();
  t.equal(selected.watches, 2, "the two texts differ although they mean the same");
  t.same(enqueued.sort(), ["budget ns/x", "budget ns/y", "marker ns/x", "marker ns/z"]);
  budgets.release("ns/x");
  budgets.release("ns/y");
  budgets.release("ns/y");
  await clock.settle();
  t.equal(server.openWatches, 2, "a marker still needs it");
  enqueued.length = 0;
  server.put("pods", pod("a", { app: "web" }));
  await clock.settle();
  t.same(enqueued.sort(), ["marker ns/x", "marker ns/z"]);
  markers.release("ns/z");
  markers.release("ns/x");
  await clock.settle();
  t.equal(server.openWatches, 0);
  t.equal(selected.watches, 0);
  t.ok(markers.need("ns/z", [web]) === undefined, "and begins anew");
  await clock.settle();
  t.same(markers.need("ns/z", [web])?.map(names), [["a"]]);
  await selected.stop();
});

t.test("a changed selector takes the place of the one before", async (t) => {
  const server = fakeServer();
  server.put("pods", pod("a", { app: "web", tier: "front" }));
  server.put("pods", pod("b", { app: "web" }));
  const { clock, selected } = selecting(server);
  const needs = selected.needs(() => undefined);
  const front: ObjectSelection = { namespace: "", labels: "all", fields: "spec.restartPolicy!=Always" };
  needs.need("k", [web]);
  await clock.settle();
  t.equal(needs.need("k", [web, front]), undefined);
  await clock.settle();
  t.same(needs.need("k", [web, front])?.map(names), [
    ["a", "b"],
    ["a", "b"],
  ]);
  t.same(server.watched, ["ns|app=web|", "*||spec.restartPolicy!=Always"], "what stays is not watched anew");
  needs.need("k", [front]);
  await clock.settle();
  t.equal(server.openWatches, 1);
  await selected.stop();
});

t.test(
  "a pod that leaves the selection may come back; late answers of writes bring nothing back",
  async (t) => {
    const server = fakeServer();
    server.put("pods", pod("a", { app: "web" }));
    const stored = await server.client.get(podResource, { namespace: "ns", name: "a" });
    const { clock, selected } = selecting(server);
    const needs = selected.needs(() => undefined);
    needs.need("k", [web]);
    await clock.settle();
    const [held] = needs.need("k", [web]) ?? [];
    if (held === undefined) throw new Error("the selection is complete");
    t.ok(held.writeBack({ ...stored, phase: "Running", resourceVersion: "2" }));
    t.equal(held.get("ns/a")?.phase, "Running");
    server.put("pods", pod("a", { app: "db" }));
    await clock.settle();
    t.equal(held.size, 0);
    t.notOk(held.writeBack({ ...stored, resourceVersion: "100" }), "it left while the write was under way");
    server.put("pods", pod("a", { app: "web" }));
    await clock.settle();
    t.same(names(held), ["a"]);
    t.ok(held.writeBack({ ...stored, labels: {}, resourceVersion: "101" }));
    t.equal(held.size, 0, "a write that takes it out of the selection takes it out here");
    await selected.stop();
  },
);

t.test("a process for one namespace watches only there", async (t) => {
  const server = fakeServer();
  const { clock, selected } = selecting(server, "mine");
  selected.needs(() => undefined).need("k", [{ namespace: "", labels: {} }]);
  await clock.settle();
  t.same(server.watched, ["mine||"]);
  await selected.stop();
});

t.test("a selector that no server accepts is reported and holds nothing", async (t) => {
  const server = fakeServer();
  const { selected } = selecting(server);
  const needs = selected.needs(() => undefined);
  t.throws(() => needs.need("k", [{ namespace: "ns", labels: { matchLabels: { "a b": "" } } }]), {
    code: "InvalidSelector",
  });
  t.equal(selected.watches, 0);
  await selected.stop();
});
