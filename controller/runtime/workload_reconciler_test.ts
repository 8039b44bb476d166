/** When somebody outside finds in the status what they have seen of the pods; time is the test's. */
import t, { type Test } from "tap";
import { applyMergePatch, applyStrategicPatch, type JsonObject } from "../../kube/core/index.ts";
import {
  type Client,
  jsonResource,
  KubeError,
  type KubeObject,
  nullMetrics,
  type Pod,
  podResource,
  runController,
  seededRandom,
} from "../../kube/index.ts";
import { kindDeps } from "../../testkit/controller/kind_deps_builder.ts";
import { testClock } from "../../testkit/kube/fake_clock.ts";
import { testLog } from "../../testkit/kube/fake_log.ts";
import { ownerReference } from "../rollout/pods/pod_manifest.ts";
import type { Action } from "../rollout/writes/actions.ts";
import { writePod } from "../rollout/writes/pod_actions.ts";
import { enqueueItself, OwnerQueues } from "./owner_queues.ts";
import { Shell } from "./shell.ts";
import { WorkloadReconciler } from "./workload_reconciler.ts";

interface App extends KubeObject {
  status?: { observedGeneration: number; replicas: number; seen: number };
}

const place = {
  group: "apps.kruise.io",
  version: "v1beta1",
  plural: "clonesets",
  kind: "CloneSet",
  namespaced: true,
};
const apps = jsonResource<App>(place);
const key = "ns/app";
const podJson = (version: number, seen: number): JsonObject => ({
  metadata: {
    name: "app-1",
    namespace: "ns",
    uid: "pod-1",
    resourceVersion: String(version),
    labels: { seen: String(seen) },
    ownerReferences: [ownerReference("CloneSet", "app", "app-uid")],
  },
  spec: { containers: [{ name: "main", image: "i" }] },
});

interface Settings {
  /** Of the workload, in its status. */
  readonly size: number;
  /** What a plan takes, and what an answer takes; milliseconds. */
  readonly planMs?: number;
  readonly answerMs?: number;
  /** What the plan of a generation asks for. */
  actions?(generation: number, pod: Pod): readonly Action[];
  refuses?(plural: string): boolean;
  /** Its pods are those of others, and nothing is done to them. */
  readonly onlySelects?: boolean;
  /** A watch tells of each write before it is answered. */
  readonly toldFirst?: boolean;
}

const selectedPods = { subscribe: () => undefined, writeBack: () => undefined, removed: () => undefined };

/** A workload with one pod before a server that answers after a while. Its status repeats the pod's label `seen`. */
function scene(t: Test, settings: Settings) {
  const { size, planMs = 0, answerMs = 2, actions, refuses = () => false, onlySelects = false } = settings;
  const { toldFirst = false } = settings;
  const clock = testClock();
  const stop = new AbortController();
  const writes: { readonly what: string; readonly at: number; readonly status?: App["status"] }[] = [];
  const statuses = { inFlight: 0, mostInFlight: 0 };
  const plans = { made: 0 };
  const metadata = { name: "app", namespace: "ns", uid: "app-uid", generation: 1 };
  let version = 1;
  let app: JsonObject = { ...place, metadata: { ...metadata, resourceVersion: "1" } };
  let pod = podJson(1, 0);
  const none = () => Promise.reject(new KubeError("MethodNotAllowed", "only patches are served here"));
  const stored = (object: JsonObject): JsonObject => ({
    ...object,
    metadata: { ...Object(object["metadata"]), resourceVersion: String(++version) },
  });
  const client: Client = {
    get: none,
    list: none,
    create: none,
    replace: none,
    delete: none,
    watch: none,
    request: none,
    stream: none,
    close: async () => undefined,
    async patch(resource, _ref, { body }) {
      const isPod = resource.plural === "pods";
      if (!isPod) statuses.mostInFlight = Math.max(statuses.mostInFlight, ++statuses.inFlight);
      await clock.sleep(answerMs);
      if (!isPod) statuses.inFlight--;
      const refused = refuses(resource.plural);
      writes.push({
        what: `${resource.plural}${refused ? " refused" : ""}`,
        at: clock.monotonic(),
        status: Object(body).status,
      });
      if (refused) throw new KubeError("Forbidden", "refused", { status: 403 });
      if (isPod) pod = stored(applyStrategicPatch(pod, body, "Pod"));
      else app = stored(applyMergePatch(app, body));
      const text = JSON.stringify(isPod ? { apiVersion: "v1", kind: "Pod", ...pod } : app);
      if (toldFirst && !isPod) {
        objects.upsert(decode(apps, app));
        await clock.sleep(answerMs);
      }
      return resource.codec.decode(Buffer.from(text), "application/json");
    },
  };
  const deps = kindDeps<App>(apps, client, clock);
  const { caches, objects, queue } = deps;
  const reconciler = new WorkloadReconciler(deps, {
    ...(onlySelects ? { pods: selectedPods } : {}),
    plan: ({ metadata: { generation = 0 } }) => {
      const held = caches.pods.get("ns/app-1");
      const seen = Number(held?.labels["seen"]);
      plans.made++;
      clock.skip(planMs);
      // Something is always under way.
      const event = { type: "Normal", reason: "Planned", message: "" } as const;
      return {
        actions: [
          ...(onlySelects ? [] : [{ type: "event" as const, event }]),
          ...(held === undefined ? [] : (actions?.(generation, held) ?? [])),
        ],
        status: { observedGeneration: generation, replicas: size, seen },
        waiting: [],
        requeueAfterMs: undefined,
      };
    },
  });
  const shell = new Shell(deps, reconciler);
  const queues = new OwnerQueues("kruise-system");
  queues.add({ resource: apps }, (owner) => queue.addAfter(owner, shell.coalescingMs(owner)));
  queues.follow(caches);
  objects.subscribe((change) =>
    enqueueItself({ resource: apps, changeMatters: () => false }, queue, shell, change),
  );
  const ended = runController({
    name: "test",
    queue,
    workers: 1,
    reconcile: (one) => shell.reconcile(one),
    clock,
    log: testLog(),
    metrics: nullMetrics,
    signal: stop.signal,
  });
  t.teardown(async () => {
    stop.abort();
    await clock.advance(60_000);
    await ended;
  });
  const decode = <T>(
    resource: { codec: { decode(body: Uint8Array, type: string): T } },
    object: JsonObject,
  ): T => resource.codec.decode(Buffer.from(JSON.stringify(object)), "application/json");
  return {
    clock,
    writes,
    statuses,
    plans,
    reported: () => objects.get(key)?.status,
    /** The pod changes, and a watch says so. */
    change(seen: number) {
      pod = podJson(++version, seen);
      caches.pods.upsert(decode(podResource, { apiVersion: "v1", kind: "Pod", ...pod }));
    },
    /** Somebody else stores a status, and a watch says so. */
    others(status: JsonObject) {
      app = stored({ ...app, status });
      objects.upsert(decode(apps, app));
    },
    async generation(generation: number) {
      app = stored({ ...app, metadata: { ...Object(app["metadata"]), generation } });
      objects.upsert(decode(apps, app));
      await clock.settle();
    },
  };
}

for (const size of [1, 20, 100]) {
  for (const planMs of [0, 3, 10]) {
    t.test(`the status of ${size} pods follows within 50 ms, plans of ${planMs} ms`, async (t) => {
      const { change, clock, generation, reported } = scene(t, { size, planMs });
      const random = seededRandom(size + planMs);
      change(0);
      await generation(1);
      await clock.advance(1000);
      const changedAt: number[] = [clock.monotonic()];
      let longest = 0;
      let next = 0;
      for (let round = 0; round < 600; round++) {
        if (clock.monotonic() >= next) {
          changedAt.push(clock.monotonic());
          change(changedAt.length - 1);
          next = clock.monotonic() + random() * (random() < 0.2 ? 100 : 10);
        }
        await clock.advance(1);
        const oldestUnreported = changedAt[(reported()?.seen ?? -1) + 1];
        if (oldestUnreported !== undefined) longest = Math.max(longest, clock.monotonic() - oldestUnreported);
      }
      t.ok(changedAt.length > 30);
      t.ok(longest <= 50, `${longest} ms`);
    });
  }
}

t.test(
  "while pods churn, a status is written the more seldom the more pods there are, once at a time",
  async (t) => {
    const writesOf = async (size: number, onlySelects = false): Promise<number> => {
      const made = scene(t, { size, answerMs: 30, onlySelects });
      const { change, clock, generation, statuses, writes } = made;
      change(0);
      await generation(1);
      for (let round = 1; round <= 2000; round++) {
        change(round);
        await clock.advance(1);
      }
      t.equal(statuses.mostInFlight, 1);
      return writes.length;
    };
    t.ok((await writesOf(100)) <= 2000 / 25);
    t.ok((await writesOf(600)) <= 2000 / 300 + 2);
    t.ok((await writesOf(5000)) <= 2 + 2);
    t.ok(
      (await writesOf(5000, true)) <= 2 + 2,
      "pods of others are not at rest when nothing is written to them",
    );
  },
);

t.test("what somebody else writes into the status is set right, whenever it comes", async (t) => {
  const random = seededRandom(7);
  const made = scene(t, { size: 3, answerMs: 20 });
  const { change, clock, generation, others, reported, writes } = made;
  change(0);
  await generation(1);
  for (let round = 1; round <= 200; round++) {
    if (random() < 0.7) change(round);
    await clock.advance(Math.floor(random() * 40));
    others({ observedGeneration: 1, replicas: 3, seen: -round });
    const before = writes.length;
    await clock.advance(2_000);
    t.ok(Number(reported()?.seen) >= 0, `round ${round}: ${JSON.stringify(reported())}`);
    t.ok(writes.length - before <= 4, "and nobody goes on writing");
  }
});

for (const toldFirst of [false, true]) {
  const when = toldFirst ? "before its answer" : "with its answer";
  t.test(`a status of its own that comes back ${when} asks for no further pass`, async (t) => {
    const { change, clock, generation, plans, writes } = scene(t, { size: 3, toldFirst });
    change(0);
    await generation(1);
    await clock.advance(2_000);
    const before = { plans: plans.made, writes: writes.length };
    for (let round = 1; round <= 20; round++) {
      change(round);
      await clock.advance(2_000);
    }
    t.equal(writes.length - before.writes, 20);
    t.equal(plans.made - before.plans, 20);
  });
}

/** Generation 2 asks for one write of the pod, once. */
function patchOnce(generation: number, pod: Pod): readonly Action[] {
  if (generation < 2 || pod.labels["seen"] === "2") return [];
  const after = { ...pod, labels: { ...pod.labels, seen: "2" } };
  const write = { steps: [{ body: { metadata: { labels: { seen: "2" } } } }], after };
  return [writePod(pod, write, "update")];
}

t.test("a generation is reported as observed with what it did to the pods, not before", async (t) => {
  const { change, clock, generation, reported, writes } = scene(t, {
    size: 3,
    answerMs: 40,
    actions: patchOnce,
  });
  change(1);
  await generation(1);
  await clock.advance(200);
  t.match(reported(), { observedGeneration: 1, seen: 1 });
  await generation(2);
  await clock.advance(500);
  t.match(reported(), { observedGeneration: 2, seen: 2 });
  const observed = writes.findIndex(({ status }) => status?.observedGeneration === 2);
  t.ok(writes.findIndex(({ what }) => what === "pods") < observed, "the write of the pod was answered");
  t.ok(writes.findIndex(({ status }) => status?.seen === 2) <= observed, "no earlier than what it did");
});

t.test("a generation whose first write is refused is reported as observed after the refusal", async (t) => {
  const refuses = (plural: string) => plural === "pods";
  const { change, clock, generation, reported, writes } = scene(t, {
    size: 3,
    answerMs: 40,
    actions: patchOnce,
    refuses,
  });
  change(1);
  await generation(1);
  await clock.advance(200);
  await generation(2);
  await clock.advance(39);
  t.match(reported(), { observedGeneration: 1 });
  await clock.advance(500);
  t.match(reported(), { observedGeneration: 2, seen: 1 });
  t.ok(writes.some(({ what }) => what === "pods refused"));
});
