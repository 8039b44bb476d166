import t from "tap";
import type { KubeObject } from "../../kube/core/index.ts";
import { jsonResource, KubeError, nullMetrics, seededRandom } from "../../kube/index.ts";
import { testClock } from "../../testkit/kube/fake_clock.ts";
import { testLog } from "../../testkit/kube/fake_log.ts";
import { fakeServer } from "../../testkit/kube/fake_server.ts";
import { namespaceIndex, SharedInformers } from "./informers.ts";

const widget = () =>
  jsonResource<KubeObject>({
    group: "example.org",
    version: "v1",
    plural: "widgets",
    kind: "Widget",
    namespaced: true,
  });

function informed(plurals: readonly string[]) {
  const server = fakeServer();
  const asked: string[] = [];
  const { client } = server;
  client.request = async (_method: string, path: string) => {
    asked.push(path);
    return { resources: plurals.map((name) => ({ name })) };
  };
  const log = testLog();
  const clock = testClock();
  const informers = new SharedInformers({
    client,
    clock,
    random: seededRandom(1),
    log,
    metrics: nullMetrics,
    namespace: "",
  });
  return { server, informers, asked, log, clock };
}

t.test("one cache a resource, with the indexes of all who ask", async (t) => {
  const { server, informers, asked, clock } = informed(["widgets"]);
  const resource = widget();
  const first = informers.cacheOf(resource, { name: (each) => [each.metadata.name ?? ""] });
  const second = informers.cacheOf(resource, namespaceIndex);
  t.equal(first, second);
  informers.start();
  await informers.synced();
  await server.client.create(resource, "ns", { metadata: { name: "a" } });
  await clock.settle();
  t.equal([...first.byIndex("name", "a")].length, 1);
  t.equal([...first.byIndex("namespace", "ns")].length, 1);
  t.same(asked, ["/apis/example.org/v1"]);
  t.throws(() => informers.cacheOf(widget()), /described twice/);
  informers.stop();
});

t.test("the objects of one namespace have a cache of their own", async (t) => {
  const { server, informers, clock } = informed(["widgets"]);
  const resource = widget();
  const all = informers.cacheOf(resource);
  const some = informers.cacheOf(resource, {}, { namespace: "system" });
  t.equal(informers.cacheOf(resource, {}, { namespace: "system" }), some);
  informers.start();
  await informers.synced();
  await server.client.create(resource, "ns", { metadata: { name: "a" } });
  await server.client.create(resource, "system", { metadata: { name: "b" } });
  await clock.settle();
  t.equal(all.size, 2);
  t.strictSame(
    [...some.values()].map(({ metadata }) => metadata.name),
    ["b"],
  );
  informers.stop();
});

t.test("what was written before is known once they have caught up", async (t) => {
  const { server, informers, clock } = informed(["widgets"]);
  const resource = widget();
  const cache = informers.cacheOf(resource);
  informers.start();
  await informers.synced();
  await clock.settle();
  await informers.caughtUp();
  server.endWatches(new KubeError("Network", "connection reset"));
  await server.client.create(resource, "ns", { metadata: { name: "a" } });
  await clock.settle();
  t.equal(cache.size, 0, "nobody watches");
  const caughtUp = informers.caughtUp();
  await clock.advance(2_000);
  await caughtUp;
  t.equal(cache.size, 1);
  informers.stop();
});

t.test("what is not served is not waited for", async (t) => {
  const { informers, log } = informed([]);
  const cache = informers.cacheOf(widget());
  informers.start();
  await informers.synced();
  t.equal(cache.size, 0);
  t.match(log.lines[0]?.message, /not served/);
  informers.stop();
});

t.test("the watches begin when everybody has subscribed", async (t) => {
  const { server, informers, clock } = informed(["widgets"]);
  const resource = widget();
  await server.client.create(resource, "ns", { metadata: { name: "a" } });
  const cache = informers.cacheOf(resource);
  await clock.settle();
  t.equal(cache.size, 0);
  const reported: string[] = [];
  cache.subscribe(({ type, object }) => reported.push(`${type} ${object.metadata.name}`));
  informers.start();
  await informers.synced();
  t.same(reported, ["added a"]);
  const other = jsonResource<KubeObject>({ ...widget(), plural: "gadgets", kind: "Gadget" });
  t.throws(() => informers.cacheOf(other), /example.org\/v1\/gadgets is asked for after the watches began/);
  informers.stop();
});
