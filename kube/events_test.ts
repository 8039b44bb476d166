import t from "tap";
import { testClock } from "../testkit/kube/fake_clock.ts";
import { withFaults } from "../testkit/kube/fake_faults.ts";
import { fakeServer } from "../testkit/kube/fake_server.ts";
import { seededRandom } from "./core/random.ts";
import { KubeError } from "./errors.ts";
import { createEvents, type EventTarget } from "./events.ts";
import { nullLog } from "./log.ts";
import { nullMetrics } from "./metrics_types.ts";

const target: EventTarget = {
  apiVersion: "apps.kruise.io/v1alpha1",
  kind: "CloneSet",
  namespace: "ns",
  name: "web",
  uid: "u1",
};

function recording(options: { queueLimit?: number; client?: ReturnType<typeof fakeServer>["client"] } = {}) {
  const server = fakeServer();
  const clock = testClock();
  let dropped = 0;
  const events = createEvents({
    client: options.client ?? server.client,
    clock,
    random: seededRandom(1),
    log: nullLog,
    metrics: { ...nullMetrics, eventDropped: () => dropped++ },
    ...(options.queueLimit === undefined ? {} : { queueLimit: options.queueLimit }),
  });
  const stored = () =>
    server.calls
      .filter((call) => call.startsWith("create events"))
      .map((call) => server.object("events", call.split(" ")[2] ?? ""));
  return {
    server,
    clock,
    events,
    stored,
    recorder: events.from("cloneset-controller"),
    dropped: () => dropped,
  };
}

t.test("an event has what kubectl describe shows", async (t) => {
  const { events, recorder, stored } = recording();
  recorder.event(target, "Normal", "SuccessfulCreate", "succeed to create pod web-abc");
  await events.flush();
  t.match(stored(), [
    {
      apiVersion: "v1",
      kind: "Event",
      metadata: { namespace: "ns", name: /^web\.[0-9a-f]{16}$/ },
      involvedObject: {
        kind: "CloneSet",
        namespace: "ns",
        name: "web",
        uid: "u1",
        apiVersion: "apps.kruise.io/v1alpha1",
      },
      reason: "SuccessfulCreate",
      message: "succeed to create pod web-abc",
      source: { component: "cloneset-controller" },
      reportingComponent: "cloneset-controller",
      firstTimestamp: "2026-01-01T00:00:00Z",
      lastTimestamp: "2026-01-01T00:00:00Z",
      count: 1,
      type: "Normal",
    },
  ]);
});

t.test("the same again is counted, not written anew", async (t) => {
  const { server, clock, events, recorder, stored } = recording();
  for (let i = 0; i < 3; i++) recorder.event(target, "Warning", "FailedCreate", "no quota");
  await events.flush();
  t.match(stored(), [{ count: 3 }], "what comes at once goes as one");
  await clock.advance(60_000);
  recorder.event(target, "Warning", "FailedCreate", "no quota");
  await events.flush();
  t.match(stored(), [
    { count: 4, firstTimestamp: "2026-01-01T00:00:00Z", lastTimestamp: "2026-01-01T00:01:00Z" },
  ]);
  t.same(
    server.calls.map((call) => call.split(" ")[0]),
    ["create", "patch"],
  );
});

t.test("many similar ones become one, and one object cannot flood the server", async (t) => {
  const { clock, events, recorder, stored } = recording();
  for (let i = 0; i < 200; i++) {
    recorder.event(
      target,
      "Normal",
      "SuccessfulUpdatePodInPlace",
      `successfully update pod web-${i} in-place`,
    );
    await clock.settle();
  }
  await events.flush();
  const messages = stored().map((event) => String(event?.["message"]));
  t.equal(messages.length, 11);
  t.match(messages.at(-1), /^\(combined from similar events\): /);
  t.equal(stored().at(-1)?.["count"], 15, "25 in all, then no more for five minutes");
  await clock.advance(301_000);
  recorder.event(target, "Normal", "SuccessfulUpdatePodInPlace", "one more");
  await events.flush();
  t.equal(stored().at(-1)?.["count"], 16);
  recorder.event(
    { ...target, name: "other", uid: "u2" },
    "Normal",
    "SuccessfulCreate",
    "others are not held back",
  );
  await events.flush();
  t.equal(stored().length, 12);
});

t.test("a full queue drops and counts, a failing server is nobody's problem", async (t) => {
  const down = withFaults(fakeServer().client, {
    create: () => ({ before: () => Promise.reject(new KubeError("Forbidden", "no")) }),
  });
  const { events, recorder, dropped } = recording({ queueLimit: 2, client: down });
  for (let i = 0; i < 5; i++)
    recorder.event({ ...target, name: `web-${i}`, uid: `u${i}` }, "Normal", "R", "m");
  t.equal(dropped(), 3);
  await events.flush();
  await events.stop();
  recorder.event(target, "Normal", "R", "after the end");
  t.equal(dropped(), 3);
});

t.test("events of cluster-scoped objects live in default; one that expired begins anew", async (t) => {
  const { server, clock, events, recorder, stored } = recording();
  const node = { apiVersion: "v1", kind: "Node", name: "n1", uid: "n" };
  recorder.event(node, "Normal", "Seen", "m");
  await events.flush();
  t.match(stored()[0]?.metadata, { namespace: "default" });
  const { eventName } = { eventName: stored()[0]?.metadata.name ?? "" };
  await server.client.delete(
    {
      group: "",
      version: "v1",
      plural: "events",
      kind: "Event",
      namespaced: true,
      codec: (await import("./lease.ts")).leaseResource.codec,
    },
    { namespace: "default", name: eventName },
  );
  await clock.advance(1_000);
  recorder.event(node, "Normal", "Seen", "m");
  await events.flush();
  t.equal(server.calls.filter((call) => call.startsWith("create events")).length, 2);
});

t.test("a slow answer holds up the events of its object, in their order, and of no other", async (t) => {
  const server = fakeServer();
  const held: (() => void)[] = [];
  const slow = withFaults(server.client, {
    create: () => ({ before: () => new Promise<void>((resolve) => held.push(resolve)) }),
  });
  const { clock, events, recorder } = recording({ client: slow });
  const other = { ...target, name: "other", uid: "u2" };
  recorder.event(target, "Normal", "First", "1");
  recorder.event(target, "Normal", "Second", "2");
  recorder.event(other, "Normal", "Other", "3");
  await clock.settle();
  t.equal(held.length, 2, "one event of each object");
  held[1]?.();
  await clock.settle();
  t.equal(held.length, 2);
  held[0]?.();
  await clock.settle();
  t.equal(held.length, 3);
  held[2]?.();
  await events.flush();
  const reasons = server.calls
    .filter((call) => call.startsWith("create events"))
    .map((call) => Object(server.object("events", call.split(" ")[2] ?? "")).reason);
  t.same(reasons, ["Other", "First", "Second"]);
});

t.test("stop gives up on a server that hangs", async (t) => {
  const hanging = withFaults(fakeServer().client, {
    create: () => ({
      before: () =>
        new Promise((_resolve, reject) => setImmediate(() => reject(new KubeError("Aborted", "aborted")))),
    }),
  });
  const { clock, events, recorder } = recording({ client: hanging });
  for (let i = 0; i < 50; i++) recorder.event({ ...target, uid: `u${i}` }, "Normal", "R", "m");
  const stopped = events.stop(100);
  await clock.advance(200);
  await stopped;
  t.pass("it ended");
});
