import fc from "fast-check";
import t from "tap";
import type { KubeObject } from "../../kube/core/index.ts";
import { Cache, jsonResource, KubeError, nullMetrics, seededRandom } from "../../kube/index.ts";
import { testClock } from "../../testkit/kube/fake_clock.ts";
import { testLog } from "../../testkit/kube/fake_log.ts";
import { fakeServer } from "../../testkit/kube/fake_server.ts";
import { namespaceIndex, SharedInformers, SharedWatches } from "./informers.ts";

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
  const deps = { client, clock, random: seededRandom(1), log, metrics: nullMetrics, namespace: "" };
  return { server, deps, informers: new SharedInformers(deps), asked, log, clock };
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

/** One who follows widgets and says what it was told. */
function follower(informers: SharedInformers, resource: ReturnType<typeof widget>) {
  const reported: string[] = [];
  const held = new Map<string, KubeObject>();
  let indexed = 0;
  const label = (object: KubeObject): string[] => {
    indexed++;
    return [object.metadata.labels?.["label"] ?? ""];
  };
  const cache: Cache<KubeObject> = informers.cacheOf(resource, { label });
  cache.subscribe(({ type, object }) => {
    const { name = "", labels } = object.metadata;
    reported.push(`${type} ${name} ${labels?.["label"]}`);
    if ((type === "added") === held.has(name)) throw new Error(`${type} ${name} is out of order`);
    if (type === "removed") held.delete(name);
    else held.set(name, object);
  });
  return { informers, cache, reported, held, indexed: () => indexed };
}

const labelled = (name: string, label: string) => ({ metadata: { name, labels: { label } } });

t.test(
  "a watch is shared by all of a process, from the first who begins to the last who stops",
  async (t) => {
    const { server, deps, clock } = informed(["widgets"]);
    const watches = new SharedWatches(nullMetrics);
    const resource = widget();
    const join = async () => {
      const joined = follower(new SharedInformers(deps, watches), resource);
      joined.informers.start();
      await joined.informers.synced();
      return joined;
    };
    await server.client.create(resource, "ns", labelled("a", "1"));
    const first = await join();
    const second = await join();
    t.equal(server.openWatches, 1);
    t.equal(server.watched.length, 1);
    t.same(second.reported, ["added a 1"], "what is there is added for who comes later");
    t.equal(first.cache.get("ns/a"), second.cache.get("ns/a"), "one object for both");
    await server.client.create(resource, "ns", labelled("b", "1"));
    await clock.settle();
    first.informers.stop();
    first.informers.stop();
    await server.client.create(resource, "ns", labelled("c", "2"));
    await clock.settle();
    t.same(first.reported, ["added a 1", "added b 1"]);
    t.same(second.reported, ["added a 1", "added b 1", "added c 2"]);
    t.equal(server.openWatches, 1, "who leaves takes the watch from nobody");
    second.informers.stop();
    await clock.settle();
    t.equal(server.openWatches, 0);
    const third = await join();
    t.same(third.reported, ["added a 1", "added b 1", "added c 2"]);
    second.informers.stop();
    const fourth = await join();
    t.equal(server.watched.length, 2, "who stops twice takes the next watch from nobody");
    for (const { informers } of [third, fourth]) informers.stop();
  },
);

t.test("who joins a watch that is interrupted catches up with it", async (t) => {
  const { server, deps, clock } = informed(["widgets"]);
  const watches = new SharedWatches(nullMetrics);
  const resource = widget();
  const first = follower(new SharedInformers(deps, watches), resource);
  first.informers.start();
  await first.informers.synced();
  await clock.settle();
  server.endWatches(new KubeError("Network", "connection reset"));
  await clock.settle();
  await server.client.create(resource, "ns", labelled("a", "1"));
  const second = follower(new SharedInformers(deps, watches), resource);
  second.informers.start();
  const caughtUp = second.informers.caughtUp();
  await clock.settle();
  t.same(second.reported, []);
  await clock.advance(2_000);
  await caughtUp;
  t.same(second.reported, ["added a 1"]);
  for (const { informers } of [first, second]) informers.stop();
});

t.test("what a user keeps in a cache of its own is watched for that user alone", async (t) => {
  const { server, deps } = informed(["widgets"]);
  const watches = new SharedWatches(nullMetrics);
  const resource = widget();
  await server.client.create(resource, "ns", labelled("a", "1"));
  const all = follower(new SharedInformers(deps, watches), resource);
  const some = new SharedInformers(deps, watches);
  const none = new Cache<KubeObject>({ identify: resource.codec.identify, keep: () => false });
  some.watch(resource, none);
  t.equal(some.cacheOf(resource), none);
  for (const informers of [all.informers, some]) {
    informers.start();
    await informers.synced();
  }
  t.equal(server.openWatches, 2);
  t.equal(none.size, 0);
  t.equal(all.cache.size, 1);
  for (const informers of [all.informers, some]) informers.stop();
});

t.test("who stops before the first list waits for nothing any more", async (t) => {
  const { deps } = informed(["widgets"]);
  deps.client.watch = () => new Promise(() => undefined);
  const watches = new SharedWatches(nullMetrics);
  const resource = widget();
  const stays = follower(new SharedInformers(deps, watches), resource);
  stays.informers.start();
  const leaves = follower(new SharedInformers(deps, watches), resource);
  leaves.informers.start();
  await deps.clock.settle();
  leaves.informers.stop();
  await t.rejects(leaves.informers.synced(), { code: "Aborted" });
  stays.informers.stop();
});

t.test("the lead is lost and taken 1,000 times, and nothing of it stays", async (t) => {
  const { server, deps, clock } = informed(["widgets"]);
  const watches = new SharedWatches(nullMetrics);
  const resource = widget();
  await server.client.create(resource, "ns", labelled("a", "1"));
  const admission = follower(new SharedInformers(deps, watches), resource);
  admission.informers.start();
  await admission.informers.synced();
  const gone: ReturnType<typeof follower>[] = [];
  for (let times = 0; times < 1_000; times++) {
    const controllers = follower(new SharedInformers(deps, watches), resource);
    controllers.informers.start();
    await controllers.informers.synced();
    controllers.informers.stop();
    gone.push(controllers);
  }
  t.equal(server.watched.length, 1);
  const timers = clock.pending;
  const indexed = gone.map((one) => one.indexed());
  await server.client.create(resource, "ns", labelled("b", "1"));
  await clock.settle();
  t.same(admission.reported, ["added a 1", "added b 1"]);
  t.ok(
    gone.every(({ reported }) => reported.join() === "added a 1"),
    "each was told what is there, and nothing once it had left",
  );
  t.same(
    gone.map((one) => one.indexed()),
    indexed,
    "nothing is indexed for them",
  );
  t.equal(clock.pending, timers);
  admission.informers.stop();
  await clock.settle();
  t.equal(server.openWatches, 0);
  t.equal(clock.pending, 0);
});

t.test("property: users of shared watches hold what each would hold with watches of its own", async (t) => {
  const step = fc.record({
    verb: fc.constantFrom("write", "write", "write", "remove", "break", "wait", "join", "join", "leave"),
    name: fc.constantFrom("p", "q", "r"),
    label: fc.constantFrom("1", "2"),
    user: fc.nat(2),
  });
  const plural = "widgets.example.org";
  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 25, size: "max" }), async (steps) => {
      const { server, deps, clock } = informed(["widgets"]);
      const watches = new SharedWatches(nullMetrics);
      const resource = widget();
      const users = new Map<number, ReturnType<typeof follower>[]>();
      let isBroken = false;
      for (const [index, { verb, name, label, user }] of steps.entries()) {
        const there = server.object(plural, `ns/${name}`);
        const pair = users.get(user);
        if (verb === "write") {
          const metadata = { uid: `uid-${index}`, ...there?.metadata, namespace: "ns" };
          server.put(plural, { metadata: { ...metadata, ...labelled(name, label).metadata } });
        } else if (verb === "remove" && there !== undefined) server.remove(plural, `ns/${name}`);
        else if (verb === "break") server.endWatches(new KubeError("Network", "connection reset"));
        else if (verb === "join" && pair === undefined) {
          const both = [new SharedInformers(deps, watches), new SharedInformers(deps)];
          users.set(
            user,
            both.map((informers) => follower(informers, resource)),
          );
          for (const informers of both) informers.start();
        } else if (verb === "leave") {
          for (const { informers } of pair ?? []) informers.stop();
          users.delete(user);
        }
        await clock.settle();
        if (verb === "break") isBroken = true;
        if (verb === "wait") {
          await clock.advance(10_000);
          isBroken = false;
        }
        // The watches stand again at different times: until then they have missed different changes.
        if (isBroken) continue;
        for (const pair of users.values()) {
          const shown = pair.flatMap(({ cache, held }) => [
            textOf(cache.values()),
            textOf(held.values()),
            textOf(["1", "2"].flatMap((each) => [...cache.byIndex("label", each)])),
          ]);
          if (new Set(shown).size > 1) return false;
        }
        if (server.openWatches !== users.size + Math.min(1, users.size)) return false;
      }
      for (const pair of users.values()) for (const { informers } of pair) informers.stop();
      await clock.settle();
      return server.openWatches === 0 && clock.pending === 0;
    }),
    { seed: 24, numRuns: 100 },
  );
  t.pass("held in all runs");
});

function textOf(objects: Iterable<KubeObject>): string {
  return Array.from(objects, ({ metadata }) => JSON.stringify(metadata))
    .sort()
    .join();
}
