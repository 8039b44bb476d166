import t from "tap";
import { testClock } from "../testkit/kube/fake_clock.ts";
import {
  conflictOnce,
  droppedAfterOnce,
  droppedBeforeOnce,
  latency,
  withFaults,
} from "../testkit/kube/fake_faults.ts";
import { fakeServer } from "../testkit/kube/fake_server.ts";
import { sleepOn, systemClock } from "./clock.ts";
import { seededRandom } from "./core/random.ts";
import { leaseResource } from "./lease.ts";

t.test("sleeping ends in time, or at once when it is aborted", async (t) => {
  await systemClock.sleep(1);
  const controller = new AbortController();
  const asleep = systemClock.sleep(60_000, controller.signal);
  controller.abort(new Error("enough"));
  await t.rejects(asleep, /enough/);
  await t.rejects(systemClock.sleep(1, controller.signal), /enough/);
  let ran = false;
  systemClock
    .after(2 ** 40, () => {
      ran = true;
    })
    .cancel();
  await systemClock.sleep(2);
  t.notOk(ran, "delays beyond the range of timers do not fire at once");
});

t.test("the test clock fires in order of time and lets promises settle between", async (t) => {
  const clock = testClock(1000);
  const seen: string[] = [];
  clock.after(20, () => seen.push(`b ${clock.now()}`));
  clock.after(10, () => {
    seen.push(`a ${clock.now()}`);
    void sleepOn(clock, 5).then(() => seen.push(`after a ${clock.now()}`));
  });
  clock.after(15, () => seen.push("cancelled")).cancel();
  t.equal(clock.nextAt, 10);
  await clock.advance(30);
  t.same(seen, ["a 1010", "after a 1015", "b 1020"]);
  t.same([clock.now(), clock.monotonic(), clock.pending], [1030, 30, 0]);
});

t.test("the same seed gives the same chance", async (t) => {
  const draw = (seed: number): number[] => Array.from({ length: 1000 }, seededRandom(seed));
  t.same(draw(7), draw(7));
  t.notSame(draw(7), draw(8));
  const numbers = draw(7);
  t.ok(numbers.every((each) => each >= 0 && each < 1));
  const mean = numbers.reduce((sum, each) => sum + each, 0) / numbers.length;
  t.ok(mean > 0.45 && mean < 0.55, `mean ${mean}`);
});

t.test("faults come before or after the server acted", async (t) => {
  const server = fakeServer();
  const clock = testClock();
  const ref = { namespace: "ns", name: "a" };
  const create = (client = server.client) => client.create(leaseResource, "ns", { metadata: { name: "a" } });
  await t.rejects(create(withFaults(server.client, { create: droppedBeforeOnce() })), {
    code: "Network",
    ambiguous: false,
  });
  t.equal(server.object("leases.coordination.k8s.io", "ns/a"), undefined);
  await t.rejects(create(withFaults(server.client, { create: droppedAfterOnce() })), {
    code: "Network",
    ambiguous: true,
  });
  t.ok(server.object("leases.coordination.k8s.io", "ns/a"));
  const client = withFaults(server.client, { patch: conflictOnce(), get: latency(clock, 50) });
  const patch = () => client.patch(leaseResource, ref, { type: "merge", body: { spec: {} } });
  await t.rejects(patch(), { code: "Conflict" });
  await patch();
  let got = false;
  void client.get(leaseResource, ref).then(() => {
    got = true;
  });
  await clock.advance(49);
  t.notOk(got);
  await clock.advance(1);
  t.ok(got);
});
