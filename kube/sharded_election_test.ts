import t from "tap";
import { testClock } from "../testkit/kube/fake_clock.ts";
import { withFaults } from "../testkit/kube/fake_faults.ts";
import { fakeServer } from "../testkit/kube/fake_server.ts";
import type { Clock } from "./clock.ts";
import { seededRandom } from "./core/random.ts";
import { KubeError } from "./errors.ts";
import { nullLog } from "./log.ts";
import { startShardedElection } from "./sharded_election.ts";

/** Replicas before one server. `cut` is a replica that reaches nothing any more, as one that was killed. */
function replicas(shards: number, seed = 1) {
  const server = fakeServer();
  const clock = testClock();
  const cut = new Set<string>();
  const leaders = new Map<number, string>();
  const clashes: string[] = [];
  const start = (identity: string, replicaClock: Clock = clock, drainMs = 0) => {
    const fault = () =>
      cut.has(identity)
        ? { before: () => Promise.reject(new KubeError("Network", "cut", { ambiguous: true })) }
        : undefined;
    return startShardedElection({
      client: withFaults(server.client, { get: fault, create: fault, replace: fault, patch: fault }),
      clock: replicaClock,
      random: seededRandom(seed * 31 + identity.length + identity.charCodeAt(0)),
      log: nullLog,
      namespace: "ns",
      name: "manager",
      identity,
      shards,
      onStarted(shard) {
        const before = leaders.get(shard);
        if (before !== undefined) clashes.push(`${shard}: ${before} and ${identity}`);
        leaders.set(shard, identity);
      },
      async onLost(shard) {
        // Writes in flight end before another replica may start.
        if (drainMs > 0) await clock.sleep(drainMs);
        if (leaders.get(shard) === identity) leaders.delete(shard);
      },
    });
  };
  const shares = () => {
    const counts: Record<string, number> = {};
    for (const identity of leaders.values()) counts[identity] = (counts[identity] ?? 0) + 1;
    return counts;
  };
  return { clock, cut, start, shares, leaders, clashes, server };
}

t.test("replicas that start together share from the beginning", async (t) => {
  const { clock, start, shares, clashes } = replicas(4);
  const all = ["a", "b"].map((identity) => start(identity));
  await clock.advance(30_000);
  t.same(shares(), { a: 2, b: 2 });
  t.same(clashes, []);
  await Promise.all([...all.map((each) => each.stop()), clock.advance(5_000)]);
});

t.test("one alone takes all; a second one is given its share, after the first has finished", async (t) => {
  const { clock, start, shares, clashes } = replicas(4);
  const first = start("a", clock, 3_000);
  await clock.advance(40_000);
  t.same(shares(), { a: 4 });
  const second = start("b");
  await clock.advance(60_000);
  t.same(shares(), { a: 2, b: 2 });
  t.same(clashes, []);
  t.equal(first.held.length, 2);
  await Promise.all([first.stop(), second.stop(), clock.advance(10_000)]);
});

t.test("a lease that was lost is not led again before what was led has ended", async (t) => {
  const { clock, cut, start, shares, clashes } = replicas(1);
  const only = start("a", clock, 9_000);
  await clock.advance(5_000);
  t.same(shares(), { a: 1 });
  cut.add("a");
  await clock.advance(11_000);
  t.same(only.held, [], "it could not renew for ten seconds");
  cut.clear();
  await clock.advance(30_000);
  t.same(only.held, [0]);
  t.same(clashes, []);
  await Promise.all([only.stop(), clock.advance(15_000)]);
});

t.test("the lease of a single shard has the plain name", async (t) => {
  const { clock, start, server } = replicas(1);
  const only = start("a");
  await clock.advance(1_000);
  t.match(server.object("leases.coordination.k8s.io", "ns/manager"), { spec: { holderIdentity: "a" } });
  await Promise.all([only.stop(), clock.advance(5_000)]);
});

t.test("the shards of a killed replica are led by others within a lease's duration and a turn", async (t) => {
  const { clock, cut, start, leaders, clashes } = replicas(3);
  const all = ["a", "b", "c"].map((identity) => start(identity));
  await clock.advance(30_000);
  t.equal(leaders.size, 3);
  cut.add("c");
  await clock.advance(18_000);
  t.equal(leaders.size, 3, "15 s after the last renewal, plus the pause between two looks");
  t.notOk([...leaders.values()].includes("c"));
  t.same(clashes, []);
  await Promise.all([...all.map((each) => each.stop()), clock.advance(5_000)]);
});

t.test(
  "property: no shard has two leaders, with clocks that differ and replicas that come and go",
  async (t) => {
    for (let seed = 1; seed <= 12; seed++) {
      const random = seededRandom(seed);
      const { clock, cut, start, leaders, clashes, shares } = replicas(3, seed);
      const skewed = (skewMs: number): Clock => ({ ...bound(clock), now: () => clock.now() + skewMs });
      const all = ["a", "bb", "ccc"].map((identity, at) => start(identity, skewed((at - 1) * 3_600_000)));
      for (let turn = 0; turn < 20; turn++) {
        cut.clear();
        for (const identity of ["a", "bb", "ccc"]) if (random() < 0.3) cut.add(identity);
        await clock.advance(3_000 + random() * 20_000);
      }
      cut.clear();
      await clock.advance(90_000);
      t.same(clashes, [], `seed ${seed}`);
      t.equal(leaders.size, 3, `seed ${seed}: every shard is led in the end`);
      t.same(Object.values(shares()), [1, 1, 1], `seed ${seed}: and fairly`);
      await Promise.all([...all.map((each) => each.stop()), clock.advance(5_000)]);
    }
  },
);

function bound(clock: Clock): Clock {
  return {
    now: () => clock.now(),
    monotonic: () => clock.monotonic(),
    sleep: (ms, signal) => clock.sleep(ms, signal),
    after: (ms, run) => clock.after(ms, run),
  };
}
