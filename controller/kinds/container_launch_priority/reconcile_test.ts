import assert from "node:assert/strict";
import fc from "fast-check";
import t from "tap";
import { KubeError, type Pod } from "../../../kube/index.ts";
import { sharedDeps } from "../../../testkit/controller/kind_deps_builder.ts";
import { barePod } from "../../../testkit/controller/pod_builder.ts";
import { testClock } from "../../../testkit/kube/fake_clock.ts";
import { fakeServer, type StoredObject } from "../../../testkit/kube/fake_server.ts";
import { plainShellOf } from "../../runtime/shell.ts";
import { LaunchPriorityReconciler } from "./reconcile.ts";

function pod(ready: readonly string[], more: Partial<Pod> = {}): Pod {
  const containers = ["a", "b", "c"].map((name, index) => ({
    name,
    image: "i",
    resources: {},
    resizePolicy: {},
    env: [{ name: "KRUISE_CONTAINER_BARRIER", configMapKey: { name: "web-barrier", key: `p_${-index}` } }],
  }));
  return barePod("web", {
    uid: "pod-1",
    fieldManagers: "updates",
    containers,
    containerStatuses: containers.map(({ name }) => {
      const isReady = ready.includes(name);
      return { name, image: "i", imageID: "", containerID: "", ready: isReady, restartCount: 0 };
    }),
    ...more,
  });
}

const created = pod([], { containerStatuses: [] });

/** The pod on an API server, with what is there under the name of its barrier. */
function setUp(present?: Pick<StoredObject, "metadata" | "data">) {
  const server = fakeServer();
  server.put("pods", { metadata: { namespace: "default", name: "web", uid: "pod-1" } });
  if (present !== undefined)
    server.put("configmaps", {
      ...present,
      metadata: { uid: "map", ...present.metadata, namespace: "default", name: "web-barrier" },
    });
  const clock = testClock();
  let duringWrite: (() => void) | undefined;
  const create: typeof server.client.create = async (...given) => {
    const written = await server.client.create(...given);
    duringWrite?.();
    duringWrite = undefined;
    return written;
  };
  let isLost = false;
  const patch: typeof server.client.patch = async (...given) => {
    const written = await server.client.patch(...given);
    if (!isLost) return written;
    isLost = false;
    throw new KubeError("Unavailable", "no answer", { ambiguous: true });
  };
  const deps = sharedDeps({ ...server.client, create, patch }, clock);
  t.teardown(() => deps.stop());
  const shellOfNewProcess = () => plainShellOf(deps, new LaunchPriorityReconciler(deps));
  let shell = shellOfNewProcess();
  // Above those of the server, whose pod is a name only.
  let version = 1000;
  const pass = async () => {
    // As a worker does; a pass that nothing asked for is one more.
    const key = deps.queue.depth > 0 ? await deps.queue.next() : undefined;
    const outcome = await shell.reconcile("default/web");
    if (key !== undefined) deps.queue.done(key);
    return outcome;
  };
  return {
    server,
    clock,
    queue: deps.queue,
    events: deps.events,
    launch(one: Pod) {
      deps.caches.pods.upsert({ ...one, resourceVersion: String(++version) });
      return pass();
    },
    /** What a watch shows after the next creation is stored and before it is answered. */
    duringCreation(happens: (show: (one: Pod) => void, forget: (one: Pod) => void) => void) {
      const { pods } = deps.caches;
      const show = (one: Pod) => void pods.upsert({ ...one, resourceVersion: String(++version) });
      duringWrite = () => happens(show, ({ uid }) => void pods.remove("default/web", uid));
    },
    /** Another pass, nothing having changed. */
    again: pass,
    /** The next patch that is carried out has no answer. */
    loseAnswer() {
      isLost = true;
    },
    restart() {
      shell = shellOfNewProcess();
    },
    barrier: () => server.object("configmaps", "default/web-barrier"),
    /** Writes since the last look. */
    written(): string[] {
      const writes = server.writes.map((call) => call.replace(/ default\/.*/, ""));
      server.calls.length = 0;
      return writes;
    },
    annotations: () => server.read("pods", "default/web").metadata.annotations ?? {},
  };
}

const released = "refit.dev/launch-released";
const completed = "apps.kruise.io/container-launch-priority-completed";
const owner = (name: string, uid: string, kind = "Pod") => ({ apiVersion: "v1", kind, name, uid });

t.test("a whole launch: one ConfigMap, one patch a level, and the pod shows it", async (t) => {
  const { launch, written, barrier, annotations } = setUp();
  await launch(created);
  await launch(pod([]));
  t.strictSame(written(), ["create configmaps"], "nothing is written while nothing changes");
  t.match(barrier(), { metadata: { ownerReferences: [owner("web", "pod-1")] }, data: { p_0: "true" } });
  await launch(pod(["a"]));
  t.strictSame(written(), ["patch configmaps", "patch pods"]);
  t.strictSame(barrier()?.["data"], { p_0: "true", "p_-1": "true" });
  t.strictSame(annotations(), { [released]: "p_-1" });
  await launch(pod(["a", "b"]));
  t.strictSame(written(), ["patch configmaps", "patch pods"]);
  t.strictSame(barrier()?.["data"], { p_0: "true", "p_-1": "true", "p_-2": "true" });
  t.strictSame(annotations(), { [completed]: "true" });
});

t.test("a level that becomes ready while keys are being written lets the next one go", async (t) => {
  const { launch, again, duringCreation, barrier } = setUp();
  duringCreation((show) => show(pod(["a"])));
  await launch(created);
  t.strictSame(barrier()?.["data"], { p_0: "true" });
  await again();
  t.strictSame(barrier()?.["data"], { p_0: "true", "p_-1": "true" });
});

t.test(
  "a pod that takes another one's place while keys are being written gets keys of its own",
  async (t) => {
    const { launch, again, duringCreation, written, barrier } = setUp();
    duringCreation((show, forget) => {
      forget(created);
      show({ ...created, uid: "pod-2" });
    });
    await launch(created);
    written();
    await again();
    t.ok(written().length > 0, "nothing that was written for the former pod counts");
    t.match(barrier()?.metadata.ownerReferences, [owner("web", "pod-2")]);
  },
);

t.test("a level that is no longer ready halts the next, without a write", async (t) => {
  const { launch, written } = setUp();
  await launch(created);
  await launch(pod(["a"]));
  written();
  await launch(pod([]));
  await launch(pod(["b"]));
  await launch(pod(["a"]));
  t.strictSame(written(), []);
});

t.test("a controller that starts in the middle goes on", async (t) => {
  const { server, launch, restart, written, barrier } = setUp({
    metadata: { ownerReferences: [owner("web", "pod-1")] },
    data: { p_0: "true", mine: "1" },
  });
  await launch(pod(["a"]));
  t.strictSame(barrier()?.["data"], { p_0: "true", mine: "1", "p_-1": "true" });
  server.remove("configmaps", "default/web-barrier");
  written();
  restart();
  await launch(pod(["a"]));
  t.strictSame(written(), ["patch configmaps", "create configmaps", "patch pods"]);
  t.strictSame(barrier()?.["data"], { p_0: "true", "p_-1": "true" }, "a lost ConfigMap comes back whole");
});

t.test("the ConfigMap of a former pod of the name is taken over, with no key but its own", async (t) => {
  const { launch, written, barrier, again, clock, queue } = setUp({
    metadata: { ownerReferences: [owner("web", "pod-0")] },
    data: { p_0: "true", "p_-1": "true", "p_-2": "true" },
  });
  await launch(created);
  t.strictSame(written(), ["create configmaps", "patch configmaps", "patch configmaps"]);
  t.strictSame(barrier()?.["data"], { p_0: "true" });
  t.strictSame(barrier()?.metadata.ownerReferences, [owner("web", "pod-1")]);
  t.equal(queue.delayed, 1, "it is looked at again");
  await again();
  await clock.advance(5_000);
  t.ok(written().length > 0, "until the collection of the former pod's objects cannot take it any more");
  await again();
  written();
  await again();
  t.strictSame(written(), []);
});

t.test("collected in that moment, it is made again, also where every level was let go", async (t) => {
  const { server, launch, barrier, again, clock, annotations } = setUp({
    metadata: { ownerReferences: [owner("web", "pod-0")] },
    data: {},
  });
  await launch(pod(["a", "b", "c"]));
  t.notOk(completed in annotations(), "the pod is not left alone yet");
  await again();
  server.remove("configmaps", "default/web-barrier");
  await clock.advance(5_000);
  await again();
  t.strictSame(barrier()?.["data"], { p_0: "true", "p_-1": "true", "p_-2": "true" });
  t.ok(completed in annotations());
});

t.test("so it is where nobody answered when it was taken over", async (t) => {
  const { server, launch, barrier, again, clock, loseAnswer } = setUp({
    metadata: { ownerReferences: [owner("web", "pod-0")] },
    data: {},
  });
  loseAnswer();
  await t.rejects(launch(pod([])), /no answer/);
  t.match(barrier(), { metadata: { ownerReferences: [owner("web", "pod-1")] } }, "it was");
  await again();
  server.remove("configmaps", "default/web-barrier");
  await clock.advance(5_000);
  await again();
  t.strictSame(barrier()?.["data"], { p_0: "true" });
});

t.test(
  "what is not the pod's is left as it is, the pod says why it waits, and goes on when it is gone",
  async (t) => {
    for (const ownerReferences of [
      undefined,
      [owner("other", "pod-1x")],
      [owner("web", "web-set", "StatefulSet")],
      [owner("web-2", "pod-2"), owner("web", "pod-1")],
    ]) {
      const metadata = ownerReferences === undefined ? {} : { ownerReferences };
      const { server, launch, again, events, clock, queue, barrier, annotations } = setUp({
        metadata,
        data: { mine: "1" },
      });
      const before = barrier();
      for (const one of [created, pod([]), pod(["a"])]) await launch(one);
      t.strictSame(barrier(), before);
      t.strictSame(annotations(), {});
      t.match(events, [/^Warning BarrierNotOwned .*ConfigMap web-barrier/]);
      t.equal(queue.delayed, 1);
      server.remove("configmaps", "default/web-barrier");
      await clock.advance(15_000);
      t.equal(queue.depth, 1, "nobody tells of that: it is looked for");
      await again();
      t.strictSame(barrier()?.["data"], { p_0: "true", "p_-1": "true" });
    }
  },
);

const name = fc.constantFrom("web", "other");
const anyOwner = fc.record({
  apiVersion: fc.constant("v1"),
  kind: fc.constantFrom("Pod", "Pod", "StatefulSet"),
  name,
  uid: fc.constantFrom("pod-0", "pod-1", "pod-2"),
});
const anyBarrier = fc.record({
  ownerReferences: fc.array(anyOwner, { maxLength: 2 }),
  data: fc.dictionary(fc.constantFrom("p_0", "p_-1", "mine"), fc.constantFrom("true", "x")),
});

t.test(
  "whatever is there: only the pod's own and a former pod's are written to, and no pod waits unheard",
  async (t) => {
    await fc.assert(
      fc.asyncProperty(
        anyBarrier,
        fc.array(fc.subarray(["a", "b", "c"]), { minLength: 1, maxLength: 4 }),
        fc.boolean(),
        async ({ ownerReferences, data }, passes, fresh) => {
          const world = setUp({ metadata: { ownerReferences }, data });
          const before = world.barrier();
          if (fresh) await world.launch(created);
          for (const ready of passes) await world.launch(pod(ready));
          const [first] = ownerReferences;
          const isOwn = first?.uid === "pod-1";
          const isFormer = !isOwn && first?.kind === "Pod" && first.name === "web";
          const after = world.barrier();
          const verbs = new Set(world.server.calls.map((call) => call.split(" ", 1)[0]));
          assert.ok(!verbs.has("get") && !verbs.has("delete") && !verbs.has("list"), [...verbs].join());
          if (!isOwn && !isFormer) {
            assert.deepEqual(after, before);
            assert.ok(world.events.length > 0);
            return;
          }
          assert.equal(Object(after?.["data"]).p_0, "true");
          if (isOwn) for (const key of Object.keys(data)) assert.ok(key in Object(after?.["data"]), key);
          else assert.ok(!("mine" in Object(after?.["data"])));
          assert.deepEqual(world.events, []);
        },
      ),
      { seed: 77, numRuns: 1000 },
    );
    t.pass("held in all runs");
  },
);

t.test("a pod that goes meanwhile is looked at once more", async (t) => {
  const { server, launch, written } = setUp();
  await launch(created);
  server.remove("pods", "default/web");
  written();
  t.same(await launch(pod(["a"])), { requeueAfterMs: 100 });
  t.strictSame(written(), ["patch configmaps", "patch pods"]);
});
