import t from "tap";
import { type TestClock, testClock } from "../testkit/kube/fake_clock.ts";
import { withFaults } from "../testkit/kube/fake_faults.ts";
import { fakeServer } from "../testkit/kube/fake_server.ts";
import type { Client } from "./client_types.ts";
import { type Clock, sleepOn } from "./core/clock.ts";
import { seededRandom } from "./core/random.ts";
import { KubeError } from "./errors.ts";
import { Fence } from "./fence.ts";
import { startElection } from "./lease.ts";
import { nullLog } from "./log.ts";

/** A candidate that logs what happens in `story`. */
function stand(client: Client, clock: TestClock, identity: string, story: string[], seed = 1) {
  return startElection({
    client,
    clock,
    random: seededRandom(seed),
    log: nullLog,
    namespace: "ns",
    name: "manager",
    identity,
    onStarted: () => story.push(`${identity} leads`),
    onLost: () => story.push(`${identity} lost`),
  });
}

t.test("one of several leads, renews, and gives back what it held", async (t) => {
  const server = fakeServer();
  const clock = testClock();
  const story: string[] = [];
  const candidates = ["a", "b", "c"].map((identity, at) => stand(server.client, clock, identity, story, at));
  await clock.advance(60_000);
  t.same(story, ["a leads"]);
  t.same(
    candidates.map((each) => each.isLeader),
    [true, false, false],
  );
  t.equal(candidates[1]?.holder, "a");
  t.match(server.object("leases.coordination.k8s.io", "ns/manager"), {
    spec: { holderIdentity: "a", leaseDurationSeconds: 15, leaseTransitions: 0, renewTime: /\.\d{6}Z$/ },
  });
  const stopped = candidates[0]?.stop();
  await clock.settle();
  await stopped;
  t.match(server.object("leases.coordination.k8s.io", "ns/manager"), {
    spec: { holderIdentity: "", leaseDurationSeconds: 1 },
  });
  await clock.advance(3_000);
  t.equal(story.length, 3, "the next one need not wait for the lease to expire");
  t.equal(story[1], "a lost");
  t.match(server.object("leases.coordination.k8s.io", "ns/manager"), { spec: { leaseTransitions: 1 } });
  await Promise.all([...candidates.slice(1).map((each) => each.stop()), clock.settle()]);
});

t.test("a lease is given back when what was led has ended", async (t) => {
  const server = fakeServer();
  const clock = testClock();
  const election = startElection({
    client: server.client,
    clock,
    random: seededRandom(1),
    log: nullLog,
    namespace: "ns",
    name: "manager",
    identity: "a",
    onStarted: () => undefined,
    onLost: () => clock.sleep(3_000),
  });
  await clock.advance(1_000);
  const holder = () => server.object("leases.coordination.k8s.io", "ns/manager")?.["spec"];
  const stopped = election.stop();
  await clock.advance(2_000);
  t.match(holder(), { holderIdentity: "a" }, "its writes may still be under way");
  await clock.advance(2_000);
  t.match(holder(), { holderIdentity: "" });
  await stopped;
});

t.test("a leader that was stopped knows before it sends anything that its time is over", async (t) => {
  for (const [stoppedMs, expected] of [
    [5_000, []],
    [12_000, [3_000]],
    [25_000, [0]],
  ] as const) {
    const clock = testClock();
    let isStopped = false;
    const after: Clock["after"] = (ms, run) =>
      clock.after(ms, () => {
        if (!isStopped) run();
      });
    const lost: number[] = [];
    const fence = new Fence();
    const election = startElection({
      client: fakeServer().client,
      clock: { ...clock, after, sleep: (ms, signal) => sleepOn({ after }, ms, signal) },
      random: seededRandom(1),
      log: nullLog,
      namespace: "ns",
      name: "manager",
      identity: "a",
      onStarted: () => undefined,
      onLost: (leftMs) => lost.push(leftMs),
      fence,
    });
    await clock.settle();
    t.ok(election.isLeader);
    isStopped = true;
    await clock.advance(stoppedMs);
    t.same(lost, [], "no timer went off");
    fence.check();
    t.same(lost, expected, `stopped for ${stoppedMs} ms`);
    isStopped = false;
  }
});

t.test("a leader that is cut off gives up before others take over", async (t) => {
  const server = fakeServer();
  const clock = testClock();
  const times: [string, number][] = [];
  let cut = false;
  const isolated = withFaults(server.client, {
    replace: () => (cut ? { before: () => Promise.reject(new KubeError("Network", "no route")) } : undefined),
    get: () => (cut ? { before: () => Promise.reject(new KubeError("Network", "no route")) } : undefined),
  });
  const note = (what: string) => () => times.push([what, clock.monotonic()]);
  const base = { clock, random: seededRandom(5), log: nullLog, namespace: "ns", name: "manager" };
  const first = startElection({
    ...base,
    client: isolated,
    identity: "first",
    onStarted: note("first leads"),
    onLost: note("first lost"),
  });
  await clock.advance(1_000);
  const second = startElection({
    ...base,
    client: server.client,
    identity: "second",
    onStarted: note("second leads"),
    onLost: note("second lost"),
  });
  await clock.advance(20_000);
  cut = true;
  await clock.advance(60_000);
  t.same(
    times.map(([what]) => what),
    ["first leads", "first lost", "second leads"],
  );
  const at = (what: string): number => times.find(([each]) => each === what)?.[1] ?? Number.NaN;
  t.ok(at("first lost") - 20_000 <= 12_500, "within the renew deadline");
  t.ok(at("second leads") - at("first lost") >= 2_000, "there was time in between");
  await Promise.all([first.stop(), second.stop(), clock.advance(5_000)]);
});

t.test("a renewal that hangs ends the leadership in time", async (t) => {
  const server = fakeServer();
  const clock = testClock();
  const story: string[] = [];
  let hang = false;
  const client = withFaults(server.client, {
    replace: () => (hang ? { before: () => new Promise(() => undefined) } : undefined),
  });
  const election = stand(client, clock, "a", story);
  await clock.advance(5_000);
  t.ok(election.isLeader);
  hang = true;
  await clock.advance(13_000);
  t.notOk(election.isLeader);
  t.same(story, ["a leads", "a lost"]);
});

t.test("the holder's clock does not matter: an unchanged lease expires by what is observed", async (t) => {
  const server = fakeServer();
  const clock = testClock();
  const story: string[] = [];
  await server.client.create(
    {
      group: "coordination.k8s.io",
      version: "v1",
      plural: "leases",
      kind: "Lease",
      namespaced: true,
      codec: (await import("./lease.ts")).leaseResource.codec,
    },
    "ns",
    {
      metadata: { name: "manager" },
      spec: {
        holderIdentity: "dead",
        leaseDurationSeconds: 15,
        renewTime: "1999-01-01T00:00:00.000000Z",
        leaseTransitions: 4,
      },
    },
  );
  const election = stand(server.client, clock, "a", story);
  await clock.advance(14_000);
  t.same(story, [], "an old time alone proves nothing");
  await clock.advance(5_000);
  t.same(story, ["a leads"]);
  t.match(server.object("leases.coordination.k8s.io", "ns/manager"), { spec: { leaseTransitions: 5 } });
  await Promise.all([election.stop(), clock.settle()]);
});

t.test("property: never two leaders at once, whatever breaks", async (t) => {
  for (let seed = 1; seed <= 15; seed++) {
    const random = seededRandom(seed);
    const server = fakeServer();
    const clock = testClock();
    const leaders = new Set<string>();
    let most = 0;
    const broken = new Set<string>();
    const elections = ["a", "b", "c"].map((identity, at) => {
      const fault = () =>
        broken.has(identity) || random() < 0.1
          ? {
              [random() < 0.5 ? "before" : "after"]: () =>
                Promise.reject(new KubeError("Network", "cut", { ambiguous: true })),
            }
          : undefined;
      return startElection({
        client: withFaults(server.client, { get: fault, create: fault, replace: fault }),
        clock,
        random: seededRandom(seed * 10 + at),
        log: nullLog,
        namespace: "ns",
        name: "manager",
        identity,
        onStarted: () => {
          leaders.add(identity);
          most = Math.max(most, leaders.size);
        },
        onLost: () => leaders.delete(identity),
      });
    });
    let led = 0;
    for (let turn = 0; turn < 25; turn++) {
      broken.clear();
      for (const identity of ["a", "b", "c"]) if (random() < 0.35) broken.add(identity);
      await clock.advance(2_000 + random() * 20_000);
      led += leaders.size;
    }
    t.ok(most === 1 && led > 3, `seed ${seed}: at most ${most} leader, led ${led} of 25 turns`);
    await Promise.all([...elections.map((each) => each.stop()), clock.advance(5_000)]);
  }
});

t.test("settings that cannot work are refused", async (t) => {
  const bad = {
    client: fakeServer().client,
    clock: testClock(),
    random: seededRandom(1),
    log: nullLog,
    namespace: "ns",
    name: "x",
    identity: "a",
    onStarted: () => undefined,
    onLost: () => undefined,
  };
  t.throws(
    () => startElection({ ...bad, leaseDurationMs: 5_000 }),
    /lease duration \(5000 ms\) > renew deadline/,
  );
});
