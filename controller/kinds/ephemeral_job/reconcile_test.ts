import t from "tap";
import { applyMergePatch, type JsonObject } from "../../../kube/core/index.ts";
import { type Client, KubeError, type Resource } from "../../../kube/index.ts";
import { kindDeps } from "../../../testkit/controller/kind_deps_builder.ts";
import { testClock } from "../../../testkit/kube/fake_clock.ts";
import { fakeServer } from "../../../testkit/kube/fake_server.ts";
import { pod } from "../../../testkit/kube/pod_manifest_builder.ts";
import { ephemeralJobResource } from "../../plan/resources.ts";
import { Shell } from "../../runtime/shell.ts";
import { EphemeralJobReconciler } from "./reconcile.ts";

const key = "ns/look";

/** A shell over a server with the given pods; pods in `refusing` take no containers. */
function scene(spec: JsonObject, refusing: ReadonlySet<string> = new Set()) {
  const server = fakeServer({
    refuse: ({ name }) =>
      refusing.has(name) ? new KubeError("Invalid", "it takes none", { status: 422 }) : undefined,
  });
  const clock = testClock();
  const writes: string[] = [];
  let mayStore = Promise.resolve();
  let version = 1;
  let stored: JsonObject = {
    metadata: { name: "look", namespace: "ns", uid: "j1", resourceVersion: "1" },
    spec: {
      selector: { matchLabels: { a: "b" } },
      template: { ephemeralContainers: [{ name: "look", image: "i" }] },
      ...spec,
    },
  };
  const decode = <T>(resource: Resource<T>): T =>
    resource.codec.decode(Buffer.from(JSON.stringify(stored)), "application/json");
  const client: Client = {
    ...server.client,
    async patch(resource, ref, patch, options = {}) {
      if (resource.plural === "pods") return server.client.patch(resource, ref, patch, options);
      writes.push(options.subresource ?? "job");
      if (options.subresource === "status") await mayStore;
      const asked: unknown = Object(Object(patch.body).metadata).resourceVersion;
      if (asked !== undefined && asked !== Object(stored["metadata"]).resourceVersion)
        throw new KubeError("Conflict", "it has changed", { status: 409 });
      const next = applyMergePatch(stored, patch.body);
      stored = { ...next, metadata: { ...Object(next["metadata"]), resourceVersion: String(++version) } };
      return decode(resource);
    },
    async delete() {
      writes.push("delete");
      return undefined;
    },
  };
  const deps = kindDeps(ephemeralJobResource, client, clock);
  const { objects, events } = deps;
  objects.upsert(decode(ephemeralJobResource));
  const shell = new Shell(deps, new EphemeralJobReconciler(deps));
  return {
    server,
    clock,
    shell,
    writes,
    events,
    status: () => objects.get(key)?.status,
    /** As somebody else deletes it, or as its status was written before. */
    change: (patch: JsonObject) => {
      stored = applyMergePatch(stored, {
        ...patch,
        metadata: { ...Object(patch["metadata"]), resourceVersion: String(++version) },
      });
      objects.upsert(decode(ephemeralJobResource));
    },
    /** No status is stored until the returned function is called. */
    holdStatus: () => {
      const { promise, resolve } = Promise.withResolvers<void>();
      mayStore = promise;
      return resolve;
    },
    job: () => objects.get(key),
    injected: () => server.patches.map(({ name, subresource }) => `${name} ${subresource}`),
    stop: deps.stop,
  };
}

const running = (name: string) => pod(name, { a: "b" }, { status: { phase: "Running" } });

t.test("one request a pod, the finalizer first, the status once", async (t) => {
  const s = scene({ parallelism: 3 });
  for (const name of ["p1", "p2", "p3"]) s.server.put("pods", running(name));
  await s.shell.reconcile(key);
  t.same(s.writes, ["job"], "nothing is known of pods yet");
  t.same(s.job()?.metadata.finalizers, ["apps.kruise.io/ephemeralcontainers-cleanup"]);
  await s.clock.settle();
  await s.shell.reconcile(key);
  t.same(s.injected(), ["p1 ephemeralcontainers", "p2 ephemeralcontainers", "p3 ephemeralcontainers"]);
  t.same(s.writes, ["job"], "what was written counts in the pass that follows");
  await s.shell.reconcile(key);
  t.same(s.writes, ["job", "status"]);
  t.match(s.status(), { phase: "Waiting", match: 3, waiting: 3, running: 0 }, "no status in between");
  await s.shell.reconcile(key);
  t.equal(s.injected().length, 3);
  t.same(s.writes, ["job", "status"], "no write without a change");
  await s.stop();
});

t.test("a pod that refuses is reported, and the others go first from then on", async (t) => {
  const s = scene({ parallelism: 1 }, new Set(["p1"]));
  for (const name of ["p1", "p2"]) s.server.put("pods", running(name));
  await s.shell.reconcile(key);
  await s.clock.settle();
  await t.rejects(s.shell.reconcile(key), { code: "Invalid" });
  t.same(s.events, ["Warning CreateFailed failed to add ephemeral containers to pod p1: it takes none"]);
  await s.shell.reconcile(key);
  t.same(s.injected(), ["p2 ephemeralcontainers"]);
  await s.shell.reconcile(key).catch(() => undefined);
  t.match(s.status(), { match: 2, waiting: 1 });
  await s.stop();
});

// docs/compatibility.md: a pod that takes no containers is tried last.
t.test("a pod that refuses for good does not hold up one that refused once", async (t) => {
  const refusing = new Set(["p1", "p2"]);
  const s = scene({ parallelism: 1 }, refusing);
  for (const name of refusing) s.server.put("pods", running(name));
  await s.shell.reconcile(key);
  await s.clock.settle();
  for (let pass = 0; pass < 2; pass++) await t.rejects(s.shell.reconcile(key), { code: "Invalid" });
  refusing.delete("p2");
  for (let pass = 0; pass < 2; pass++) await s.shell.reconcile(key).catch(() => undefined);
  t.same(s.injected(), ["p2 ephemeralcontainers"]);
  await s.stop();
});

t.test("a job whose only pod refuses shows its status all the same", async (t) => {
  const s = scene({}, new Set(["p1"]));
  s.server.put("pods", running("p1"));
  await s.shell.reconcile(key);
  await s.clock.settle();
  for (let pass = 0; pass < 2; pass++) await t.rejects(s.shell.reconcile(key), { code: "Invalid" });
  t.match(s.status(), { phase: "Unknown", match: 1 });
  await s.stop();
});

t.test("a finished job watches no pods any more and goes after its time to live", async (t) => {
  const s = scene({ ttlSecondsAfterFinished: 5 });
  s.server.put("pods", running("p1"));
  await s.shell.reconcile(key);
  await s.clock.settle();
  await s.shell.reconcile(key);
  const env = [{ name: "KRUISE_EJOB_ID", value: "j1" }];
  const state = { terminated: { exitCode: 0 } };
  s.server.put("pods", {
    ...running("p1"),
    spec: { ephemeralContainers: [{ name: "look", image: "i", env }] },
    status: { phase: "Running", ephemeralContainerStatuses: [{ name: "look", state }] },
  });
  await s.clock.settle();
  t.same(await s.shell.reconcile(key), { requeueAfterMs: 5_000 });
  t.match(s.status(), { phase: "Succeeded", succeeded: 1 });
  await s.clock.settle();
  t.equal(s.server.openWatches, 0);
  await s.clock.advance(5_000);
  await s.shell.reconcile(key);
  t.equal(s.writes.at(-1), "delete");
  await s.stop();
});

const deleted = { metadata: { deletionTimestamp: "2026-01-01T00:00:00Z" } };
const withState = (name: string, state: JsonObject) => ({
  ...running(name),
  spec: {
    ephemeralContainers: [{ name: "look", image: "i", env: [{ name: "KRUISE_EJOB_ID", value: "j1" }] }],
  },
  status: { phase: "Running", ephemeralContainerStatuses: [{ name: "look", state }] },
});

t.test("a job that is deleted while its containers run says that they stay", async (t) => {
  const s = scene({ parallelism: 3 });
  s.server.put("pods", withState("p1", { running: {} }));
  s.server.put("pods", withState("p2", { terminated: { exitCode: 0 } }));
  s.server.put("pods", withState("p3", { waiting: { reason: "ContainerCreating" } }));
  s.server.put("pods", running("p4"));
  await s.shell.reconcile(key);
  await s.clock.settle();
  await s.shell.reconcile(key);
  t.same(s.events, []);
  s.change(deleted);
  await s.shell.reconcile(key);
  t.same(s.events, [
    "Warning RemoveFailed failed to remove ephemeral containers of 3 pods (p1, p3, p4): Kubernetes cannot remove any, they run until they end",
  ]);
  t.same(s.job()?.metadata.finalizers ?? [], [], "nothing holds it");
  await s.stop();
});

t.test("one whose pods are not looked at any more knows it from its status", async (t) => {
  for (const [status, events] of [
    [
      { phase: "Failed", completionTime: "2026-01-01T00:00:00Z", running: 1, waiting: 0 },
      [
        "Warning RemoveFailed failed to remove ephemeral containers of 1 pod: Kubernetes cannot remove any, they run until they end",
      ],
    ],
    [{ phase: "Succeeded", completionTime: "2026-01-01T00:00:00Z", running: 0, waiting: 0 }, []],
  ] as const) {
    const s = scene({});
    s.change({ ...deleted, status });
    await s.shell.reconcile(key);
    t.same(s.events, events);
    await s.stop();
  }
});

// Spec containers 5.4, rule 5: what is over has a `completionTime`, and its counts are those of all its pods.
t.test("a pod that comes while the end of its job is being stored gets no containers", async (t) => {
  const s = scene({});
  s.server.put("pods", withState("p1", { terminated: { exitCode: 0 } }));
  await s.shell.reconcile(key);
  await s.clock.settle();
  const store = s.holdStatus();
  await s.shell.reconcile(key);
  s.server.put("pods", running("p2"));
  for (let pass = 0; pass < 2; pass++) {
    await s.shell.reconcile(key);
    await s.clock.settle();
  }
  t.same(s.injected(), []);
  store();
  await s.clock.settle();
  t.match(s.status(), { phase: "Succeeded", match: 1, succeeded: 1 });
  await s.stop();
});

t.test("an end that is refused because its job has changed is no end", async (t) => {
  const s = scene({ replicas: 1 });
  s.server.put("pods", withState("p1", { terminated: { exitCode: 0 } }));
  s.server.put("pods", running("p2"));
  await s.shell.reconcile(key);
  await s.clock.settle();
  s.holdStatus();
  await s.shell.reconcile(key);
  s.change({ spec: { replicas: 2 } });
  for (let pass = 0; pass < 2; pass++) {
    await s.shell.reconcile(key);
    await s.clock.settle();
  }
  t.same(s.injected(), ["p2 ephemeralcontainers"]);
  await s.stop();
});

// Spec containers 5.2: the deadline is counted from `status.startTime`.
t.test("the status of a job that is gone is not that of another one made by its name", async (t) => {
  const s = scene({});
  s.server.put("pods", withState("p1", { running: {} }));
  await s.shell.reconcile(key);
  await s.clock.settle();
  const store = s.holdStatus();
  await s.shell.reconcile(key);
  s.change({ metadata: { uid: "j2" } });
  store();
  await s.clock.settle();
  t.equal(s.job()?.metadata.uid, "j2");
  t.equal(s.status(), undefined);
  await s.stop();
});

t.test(
  "a status that comes late, of a controller that is gone, is none of a job that has ended",
  async (t) => {
    const s = scene({});
    s.server.put("pods", withState("p1", { running: {} }));
    await s.shell.reconcile(key);
    await s.clock.settle();
    const store = s.holdStatus();
    await s.shell.reconcile(key);
    const ended = { phase: "Succeeded", completionTime: "2026-01-01T00:00:00Z", running: 0, succeeded: 1 };
    s.change({ status: ended });
    store();
    await s.clock.settle();
    t.same(s.status(), ended);
    await s.stop();
  },
);
