import t from "tap";
import { testClock } from "../testkit/kube/fake_clock.ts";
import { withFaults } from "../testkit/kube/fake_faults.ts";
import { testLog } from "../testkit/kube/fake_log.ts";
import { fakeServer } from "../testkit/kube/fake_server.ts";
import { Cache } from "./cache.ts";
import type { Client } from "./client_types.ts";
import { jsonResource } from "./codecs/json.ts";
import type { KubeObject } from "./core/index.ts";
import { seededRandom } from "./core/random.ts";
import { KubeError } from "./errors.ts";
import { startInformer } from "./watch.ts";

interface Widget extends KubeObject {
  size?: number;
}
const widgets = jsonResource<Widget>({
  group: "example.org",
  version: "v1",
  plural: "widgets",
  kind: "Widget",
  namespaced: true,
});
const widget = (name: string, size = 1): Widget => ({ metadata: { name }, size });
const ref = (name: string) => ({ namespace: "ns", name });

function informed(client: Client) {
  const clock = testClock();
  const log = testLog();
  const cache = new Cache<Widget>({ identify: widgets.codec.identify });
  const reported: string[] = [];
  cache.subscribe((change) => reported.push(`${change.type} ${change.object.metadata.name}`));
  const informer = startInformer({ client, resource: widgets, cache, clock, random: seededRandom(3), log });
  return { clock, log, cache, reported, informer };
}

/** Informed through a client whose watches fail for as long as `faults.watch` says with what. */
function interrupted() {
  const server = fakeServer();
  const faults: { watch: KubeError | undefined } = { watch: undefined };
  const client = withFaults(server.client, {
    watch: () => {
      const fault = faults.watch;
      return fault && { before: () => Promise.reject(fault) };
    },
  });
  return { ...informed(client), server, faults };
}

t.test("it fills the cache and follows", async (t) => {
  const server = fakeServer();
  await server.client.create(widgets, "ns", widget("a"));
  const { clock, cache, reported, informer } = informed(server.client);
  await informer.synced;
  await server.client.create(widgets, "ns", widget("b"));
  await server.client.patch(widgets, ref("a"), { type: "merge", body: { size: 2 } });
  await server.client.delete(widgets, ref("b"));
  await clock.settle();
  t.same(reported, ["added a", "added b", "changed a", "removed b"]);
  t.equal(cache.get("ns/a")?.size, 2);
  t.equal(informer.lastEventAt, clock.now());
  await informer.stop();
  t.equal(server.openWatches, 0);
});

t.test("a server that closes is watched again from the last version, without a new list", async (t) => {
  const server = fakeServer({ streamingLists: false });
  const { clock, reported, informer } = informed(server.client);
  await informer.synced;
  await clock.settle();
  await server.client.create(widgets, "ns", widget("a"));
  await clock.settle();
  server.endWatches();
  await clock.advance(200);
  t.equal(server.openWatches, 1);
  t.same(
    server.calls.filter((call) => !call.startsWith("create")),
    ["watch widgets with list", "list widgets", "watch widgets from 0", "watch widgets from 1"],
  );
  t.same(reported, ["added a"]);
  await informer.stop();
});

t.test("an expired version brings a new list of which only the differences are reported", async (t) => {
  const server = fakeServer();
  await server.client.create(widgets, "ns", widget("stays"));
  await server.client.create(widgets, "ns", widget("goes"));
  const { clock, reported, informer } = informed(server.client);
  await informer.synced;
  reported.length = 0;
  server.endWatches(new KubeError("Gone", "too old"));
  await server.client.delete(widgets, ref("goes"));
  await server.client.create(widgets, "ns", widget("comes"));
  await clock.advance(100);
  t.same(reported, ["added comes", "removed goes"]);
  await informer.stop();
});

t.test("a connection that says nothing any more is given up", async (t) => {
  const server = fakeServer();
  const { clock, informer } = informed(server.client);
  await informer.synced;
  await clock.settle();
  const before = server.calls.length;
  await clock.advance(250_000);
  t.equal(server.calls.length, before, "silence within the watch's own time is no sign of death");
  await clock.advance(400_000);
  t.match(server.calls.slice(before), [/watch widgets from 0/]);
  t.equal(server.openWatches, 1, "the dead one was left");
  await informer.stop();
});

t.test(
  "who decides by what is newest waits for an interrupted watch, for some seconds at most",
  async (t) => {
    const { server, faults, clock, cache, informer } = interrupted();
    await informer.synced;
    await clock.settle();
    t.equal(informer.caughtUp, undefined, "nothing to wait for");
    const seen: string[] = [];
    const decide = async () => {
      await informer.caughtUp;
      seen.push([...cache.values()].map(({ metadata }) => metadata.name).join());
    };
    faults.watch = new KubeError("TooManyRequests", "storage is (re)initializing", { retryAfterMs: 1_000 });
    server.endWatches();
    await server.client.create(widgets, "ns", widget("a"));
    await clock.advance(300);
    const early = decide();
    faults.watch = undefined;
    await clock.advance(2_500);
    await early;
    t.same(seen, ["a"], "what was written meanwhile is known");
    t.equal(informer.caughtUp, undefined);
    faults.watch = new KubeError("Forbidden", "no rights", { status: 403 });
    server.endWatches();
    await clock.advance(500);
    await server.client.create(widgets, "ns", widget("b"));
    const late = decide();
    await clock.advance(8_000);
    await late;
    t.same(seen, ["a", "a"], "it does not wait for what may stay broken");
    await informer.stop();
  },
);

t.test("it goes on through failures and says so", async (t) => {
  const server = fakeServer();
  let failures = 0;
  const down = new KubeError("Network", "connection refused");
  const client = withFaults(server.client, {
    watch: () => (failures++ < 3 ? { before: () => Promise.reject(down) } : undefined),
  });
  const { clock, log, informer } = informed(client);
  await clock.advance(60_000);
  await informer.synced;
  t.equal(failures, 4);
  t.match(log.lines.filter((line) => line.level === "warn").length, 3);
  await informer.stop();
});

t.test(
  "a server that was away for long, and refuses at first, is watched again within seconds",
  async (t) => {
    const { server, faults, clock, cache, informer } = interrupted();
    await informer.synced;
    faults.watch = new KubeError("Network", "connection refused");
    server.endWatches(faults.watch);
    await clock.advance(20 * 60_000);
    t.equal(server.openWatches, 0);
    faults.watch = new KubeError("Forbidden", "rights are not read yet", { status: 403 });
    await clock.advance(1_500);
    faults.watch = undefined;
    await clock.advance(8_500);
    t.equal(server.openWatches, 1);
    await server.client.create(widgets, "ns", widget("a"));
    await clock.settle();
    t.ok(cache.get("ns/a"), "it is reported again");
    await informer.stop();
  },
);

t.test("a listener that throws does not end the watch", async (t) => {
  const server = fakeServer();
  const { clock, cache, log, informer } = informed(server.client);
  await informer.synced;
  const off = cache.subscribe(() => {
    throw new Error("a bug");
  });
  await server.client.create(widgets, "ns", widget("a"));
  await clock.settle();
  off();
  await clock.advance(5_000);
  t.ok(cache.get("ns/a"));
  t.equal(server.openWatches, 1);
  t.match(log.lines.find((line) => line.level === "warn")?.fields, { error: { message: "a bug" } });
  await informer.stop();
});

t.test("stopped before it was in sync: the promise says so", async (t) => {
  const hanging = withFaults(fakeServer().client, {
    watch: () => ({ before: () => Promise.reject(new KubeError("Forbidden", "no")) }),
  });
  const { informer } = informed(hanging);
  const synced = informer.synced;
  await informer.stop();
  await t.rejects(synced, { code: "Aborted" });
});
