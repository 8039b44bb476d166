/** What the shell decides for every kind; what kinds return is the test's. */
import t from "tap";
import type { CloneSet } from "../../crds/index.ts";
import { applyMergePatch, type JsonObject, type ObjectMeta } from "../../kube/core/index.ts";
import { type Client, KubeError, type KubeErrorCode, podResource } from "../../kube/index.ts";
import { kindDeps } from "../../testkit/controller/kind_deps_builder.ts";
import { testClock } from "../../testkit/kube/fake_clock.ts";
import { fakeServer } from "../../testkit/kube/fake_server.ts";
import { cloneSetResource } from "../plan/resources.ts";
import { writable } from "./executor/writable.ts";
import type { Reconciler, Result } from "./reconciler.ts";
import { Shell } from "./shell.ts";

const key = "d/app";

/** One object before a server that refuses what it is sent. */
function scene(reconciler: Partial<Reconciler<CloneSet>> & { pass?: () => Result | undefined }) {
  const clock = testClock();
  const sent: string[] = [];
  let refusal: KubeError | undefined;
  let stored: JsonObject = {};
  const answer = (call: string): void => {
    sent.push(call);
    if (refusal !== undefined) throw refusal;
  };
  const text = () => Buffer.from(JSON.stringify(stored));
  const client: Client = {
    ...fakeServer().client,
    create: async (resource, namespace, body) => {
      answer(`create in ${namespace} ${JSON.stringify(body)}`);
      stored = {
        ...Object(body),
        metadata: { ...Object(Object(body).metadata), uid: "u", resourceVersion: "1" },
      };
      return resource.codec.decode(text(), "application/json");
    },
    patch: async (resource, _ref, patch, options = {}) => {
      if (options.bodyWhenSent !== undefined) await clock.settle();
      const body = options.bodyWhenSent?.() ?? patch.body;
      answer(`patch ${options.subresource ?? "object"} ${JSON.stringify(body)}`);
      const { metadata, ...rest } = applyMergePatch(stored, body);
      const resourceVersion = String(Number(Object(stored["metadata"]).resourceVersion) + 1);
      stored = { ...rest, metadata: { ...Object(metadata), resourceVersion } };
      return resource.codec.decode(text(), "application/json");
    },
    get: async (resource) => {
      sent.push("get");
      return resource.codec.decode(text(), "application/json");
    },
    delete: async (_resource, _ref, options = {}) => {
      answer(`delete ${options.uid} ${options.resourceVersion} ${options.propagationPolicy}`);
      return undefined;
    },
  };
  const deps = kindDeps(cloneSetResource, client, clock);
  const { objects, events, queue } = deps;
  const writes = { pods: writable(podResource) };
  const shell = new Shell(deps, { reconcile: () => reconciler.pass?.(), writes, ...reconciler });
  return {
    sent,
    events,
    queue,
    objects,
    refuse(code?: KubeErrorCode, about?: string, name = "d") {
      const details = about === undefined ? {} : { about: { kind: about, name } };
      refusal = code === undefined ? undefined : new KubeError(code, code, details);
    },
    store(metadata: ObjectMeta = {}) {
      const spec = { selector: {}, template: { spec: { containers: [] } } };
      stored = {
        metadata: { name: "app", namespace: "d", uid: "u", resourceVersion: "5", ...metadata },
        spec,
      };
      objects.upsert(cloneSetResource.codec.decode(text(), "application/json"));
    },
    /** Somebody else's write, of which no watch has told yet. */
    writeUnseen(resourceVersion: string) {
      stored = { ...stored, metadata: { ...Object(stored["metadata"]), resourceVersion } };
    },
    /** What a watch brings; the server has it too, and answers with its own. */
    hold(metadata: ObjectMeta) {
      const held = objects.get(key);
      if (held !== undefined) objects.upsert({ ...held, metadata: { ...held.metadata, ...metadata } });
    },
    settle: () => clock.settle(),
    pass: () =>
      shell.reconcile(key).then(
        (outcome) => outcome,
        (error: Error) => error.message,
      ),
  };
}

t.test("a status is compared with what is stored when the pass is over", async (t) => {
  const begun = Promise.withResolvers<void>();
  const zero = { availableReplicas: 0, readyReplicas: 0, updatedReadyReplicas: 0, updatedReplicas: 0 };
  const s = scene({
    reconcile: async (object) => {
      if (object.status !== undefined) return undefined;
      await begun.promise;
      return { status: zero };
    },
  });
  s.store();
  const pass = s.pass();
  const stored = s.objects.get(key);
  if (stored === undefined) throw new Error("the object was stored");
  const stale = { ...zero, replicas: 1 };
  // An earlier write is answered meanwhile.
  s.objects.upsert({
    ...stored,
    metadata: { ...stored.metadata, resourceVersion: "6" },
    status: stale,
  });
  begun.resolve();
  await pass;
  await s.settle();
  t.same(s.sent, ['patch status {"status":{"replicas":null}}']);
});

t.test("actions are carried out in order, each on the version that the one before led to", async (t) => {
  const pass = (): Result => ({
    effects: [
      { type: "patch object", body: { spec: { paused: true } }, exact: true },
      { type: "patch status", status: { replicas: 1 }, exact: true },
      { type: "patch status", status: {}, exact: true },
      { type: "patch", resource: "pods", namespace: "d", name: "p", patch: { type: "merge", body: {} } },
      { type: "delete object" },
    ],
    requeueAfterMs: 7,
  });
  const { store, sent, objects, pass: run } = scene({ pass });
  t.same([await run(), sent], [{}, []], "nothing for an object that is not there");
  store();
  t.same(await run(), { requeueAfterMs: 7 });
  t.same(sent, [
    'patch object {"metadata":{"uid":"u","resourceVersion":"5"},"spec":{"paused":true}}',
    'patch status {"metadata":{"uid":"u","resourceVersion":"6"},"status":{"replicas":1}}',
    "patch object {}",
    "delete u 7 Background",
  ]);
  t.equal(objects.size, 0);
});

t.test(
  "a status that others write all the time is renewed when it is sent, with what follows it",
  async (t) => {
    const planned = { type: "patch status", status: { replicas: 1 }, exact: true, renewable: true } as const;
    const event = (reason: string) =>
      ({ type: "event", event: { type: "Normal", reason, message: "m" } }) as const;
    const renewed = (): Result => ({
      effects: [event("Early"), { ...planned, status: { replicas: 2 } }, event("Renewed")],
    });
    for (const [what, newest, sent, events] of [
      ["others wrote it", { resourceVersion: "8" }, '"8"},"status":{"replicas":2}', ["Normal Renewed m"]],
      ["nobody did", undefined, '"5"},"status":{"replicas":1}', ["Normal Planned m"]],
      [
        "another spec",
        { resourceVersion: "8", generation: 2 },
        '"5"},"status":{"replicas":1}',
        ["Normal Planned m"],
      ],
      [
        "another object",
        { resourceVersion: "8", uid: "v" },
        '"5"},"status":{"replicas":1}',
        ["Normal Planned m"],
      ],
    ] as const) {
      const s = scene({ pass: () => ({ effects: [planned, event("Planned")] }), renewed });
      s.store();
      const pass = s.pass();
      // While it waited.
      if (newest !== undefined) s.hold(newest);
      await pass;
      t.same(s.sent, [`patch status {"metadata":{"uid":"u","resourceVersion":${sent}}`], what);
      t.same(s.events, events, what);
    }
  },
);

t.test("an object is made under the name of its key", async (t) => {
  const reconcileAbsent = (): Result => ({ effects: [{ type: "create object", body: { spec: {} } }] });
  const { pass, sent, objects } = scene({ reconcileAbsent });
  await pass();
  t.match(sent, [
    'create in d {"apiVersion":"apps.kruise.io/v1beta1","kind":"CloneSet","metadata":{"namespace":"d","name":"app"},"spec":{}}',
  ]);
  t.ok(objects.holds(key, "u"));
});

t.test("the finalizer comes before the first pass, and goes when the pass says so", async (t) => {
  const finalizer = "ours";
  const seen: unknown[] = [];
  const reconcile = ({ metadata }: CloneSet): Result => {
    seen.push(metadata.finalizers);
    return metadata.deletionTimestamp ? { effects: [{ type: "remove finalizer", finalizer }] } : {};
  };
  const { store, sent, objects, refuse, pass } = scene({ finalizer, reconcile });
  store({ finalizers: ["theirs"] });
  refuse("Conflict");
  await pass();
  t.same(seen, [], "nothing is done without it");
  refuse();
  await pass();
  await pass();
  t.same(seen, [
    ["theirs", finalizer],
    ["theirs", finalizer],
  ]);
  t.equal(sent.filter((call) => call !== "get").length, 2, "it is written once");
  store({ finalizers: [finalizer], deletionTimestamp: "2026-01-01T00:00:00Z", resourceVersion: "9" });
  await pass();
  t.equal(sent.at(-1), 'patch object {"metadata":{"uid":"u","resourceVersion":"9","finalizers":[]}}');
  t.equal(objects.size, 0, "nobody else holds it");
});

t.test("who was faster is looked at again; other refusals are the queue's, and time goes on", async (t) => {
  const pass = (): Result => ({ effects: [{ type: "patch object", body: {} }], requeueAfterMs: 250 });
  const { store, refuse, queue, events, pass: run } = scene({ pass });
  store();
  for (const code of ["Conflict", "NotFound", "AlreadyExists"] as const) {
    refuse(code);
    t.same(await run(), { requeueAfterMs: 100 });
    refuse();
    await run();
  }
  t.equal(queue.delayed, 0);
  refuse("NotFound", "namespaces");
  t.equal(await run(), "NotFound", "a namespace that does not exist is no race");
  refuse("Forbidden");
  t.equal(await run(), "Forbidden");
  t.equal(queue.delayed, 1, "what time alone changes");
  t.same(events, [], "what the server refused is no matter of the object");
  queue.stop();
});

t.test("what somebody else wrote is read once where a watch is late to tell of it", async (t) => {
  const exact: Result = { effects: [{ type: "patch status", status: { replicas: 1 }, exact: true }] };
  const { store, hold, writeUnseen, refuse, sent, objects, pass } = scene({ pass: () => exact });
  const version = () => objects.get(key)?.metadata.resourceVersion;
  store();
  writeUnseen("7");
  refuse("Conflict");
  t.same(await pass(), { requeueAfterMs: 100 });
  t.same([sent.splice(0).at(-1), version()], ["get", "7"], "an event that comes now meets no conflict");
  writeUnseen("6");
  await pass();
  t.same(
    [sent.splice(0).at(-1), version()],
    ["get", "7"],
    "an answer of a server that is behind changes nothing",
  );
  const late = pass();
  hold({ resourceVersion: "8" });
  await late;
  t.equal(sent.filter((call) => call === "get").length, 0, "the watch was quicker");
  refuse("Forbidden");
  await pass();
  t.notOk(sent.includes("get"), "no conflict");
});

t.test("an object that was changed meanwhile is looked at again before it is deleted", async (t) => {
  const pass = (): Result => ({ effects: [{ type: "delete object" }] });
  const { store, writeUnseen, refuse, sent, objects, pass: run } = scene({ pass });
  store();
  writeUnseen("7");
  refuse("Conflict");
  t.same(await run(), { requeueAfterMs: 100 });
  refuse();
  await run();
  t.same(sent, ["delete u 5 Background", "get", "delete u 7 Background"]);
  t.equal(objects.size, 0);
});

t.test("what the server says is gone is not planned for any more, before a watch tells of it", async (t) => {
  const { store, refuse, objects, pass } = scene({
    pass: () => ({ effects: [{ type: "patch status", status: { replicas: 1 } }] }),
  });
  store();
  refuse("NotFound", "clonesets");
  await pass();
  t.equal(objects.size, 1, "its definition has no status, or another object is not there");
  refuse("NotFound", "clonesets", "app");
  await pass();
  t.equal(objects.size, 0);
});

t.test("who is faster again and again is waited for ever longer, within bounds", async (t) => {
  const {
    store,
    refuse,
    pass: run,
  } = scene({ pass: () => ({ effects: [{ type: "patch object", body: {} }] }) });
  store();
  refuse("Conflict");
  const waits: unknown[] = [];
  for (let nth = 0; nth < 8; nth++) waits.push(await run());
  const expected = [100, 200, 400, 800, 1600, 3200, 5000, 5000];
  t.same(
    waits,
    expected.map((requeueAfterMs) => ({ requeueAfterMs })),
  );
  refuse();
  t.same(await run(), { requeueAfterMs: undefined });
  refuse("Conflict");
  t.same(await run(), { requeueAfterMs: 100 }, "a pass went well meanwhile");
});

t.test("an object that no plan can work with is reported once a generation", async (t) => {
  let failure: Error | undefined = new Error("no such number");
  const pass = () => {
    if (failure !== undefined) throw failure;
    return undefined;
  };
  const { store, events, pass: run } = scene({ pass });
  store({ generation: 1 });
  const line = "Warning FailedReconcile CloneSet cannot be reconciled: no such number";
  t.equal(await run(), "no such number", "and tried again");
  await run();
  t.same(events, [line]);
  store({ generation: 2, resourceVersion: "6" });
  await run();
  t.same(events, [line, line]);
  const before = failure;
  failure = undefined;
  t.same(await run(), {});
  failure = before;
  await run();
  t.equal(events.length, 3, "after a success it is news again");
});
