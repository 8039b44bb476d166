/**
 * How late the status of a SidecarSet tells of its pods while they come and go; time is the test's. What it should tell is
 * a plain reading of the rules over the server's objects, which shares no code with the plan. Spec: sidecarset 4, rules 29, 31.
 */
import fc from "fast-check";
import t from "tap";
import {
  defaultSidecarSet,
  injectedListAnnotation,
  sidecarInPlaceStateAnnotation,
  sidecarSetHashAnnotation,
  sidecarSetHashWithoutImageAnnotation,
} from "../../../crds/index.ts";
import { type JsonObject, jsonEqual } from "../../../kube/core/index.ts";
import { type Client, nullMetrics, runController } from "../../../kube/index.ts";
import { kindDeps } from "../../../testkit/controller/kind_deps_builder.ts";
import { testClock } from "../../../testkit/kube/fake_clock.ts";
import { testLog } from "../../../testkit/kube/fake_log.ts";
import { fakeServer, type StoredObject } from "../../../testkit/kube/fake_server.ts";
import { sidecarSetResource } from "../../plan/resources.ts";
import { enqueueItself } from "../../runtime/owner_queues.ts";
import { Shell } from "../../runtime/shell.ts";
import { sidecarSetReconciler } from "./reconcile.ts";

const sets = "sidecarsets.apps.kruise.io";
/** What the server takes for a write. */
const answerMs = 2;

type SidecarSetStrategy = "RollingUpdate" | "NotUpdate" | "paused";

const setOf = (strategy: SidecarSetStrategy): JsonObject =>
  defaultSidecarSet({
    apiVersion: "apps.kruise.io/v1beta1",
    kind: "SidecarSet",
    metadata: { name: "set", uid: "uid-set", generation: 1 },
    spec: {
      selector: { matchLabels: { app: "web" } },
      containers: [{ name: "side", image: "side:2" }],
      updateStrategy: strategy === "paused" ? { paused: true } : { type: strategy, maxUnavailable: "50%" },
    },
  });

const events = [
  ...["create", "create old", "create bare", "ready", "not ready", "restart", "restart"],
  ...["other id", "other name"],
  ...["finish", "terminate", "delete", "delete", "leave", "return"],
] as const;
type Event = (typeof events)[number];

/** As its webhook and its node leave a pod; `old`: with the image before the present one. */
function newPod(set: StoredObject, name: string, event: Event): StoredObject {
  const { annotations = {} } = set.metadata;
  const image = event === "create old" ? "side:1" : "side:2";
  const hash = event === "create old" ? "earlier" : annotations[sidecarSetHashAnnotation];
  const marks = {
    [injectedListAnnotation]: "other,set",
    [sidecarSetHashAnnotation]: JSON.stringify({ set: hash }),
    [sidecarSetHashWithoutImageAnnotation]: JSON.stringify({
      set: annotations[sidecarSetHashWithoutImageAnnotation],
    }),
  };
  return {
    apiVersion: "v1",
    kind: "Pod",
    metadata: {
      name,
      namespace: "ns",
      uid: `uid-${name}`,
      labels: { app: "web" },
      annotations: event === "create bare" ? {} : marks,
    },
    spec: { containers: [{ name: "side", image }] },
    status: {
      phase: "Running",
      conditions: [{ type: "Ready", status: "True" }],
      containerStatuses: [{ name: "side", image, imageID: `id-of-${image}`, ready: true }],
    },
  };
}

/** What happens to a pod that is there; undefined: it is gone. */
function after(pod: StoredObject, event: Event): StoredObject | undefined {
  const { metadata } = pod;
  const { containers } = Object(pod["spec"]);
  const status = Object(pod["status"]);
  const others = status.conditions.filter(({ type }: JsonObject) => type !== "Ready");
  const ready = (value: string) => ({ ...status, conditions: [...others, { type: "Ready", status: value }] });
  switch (event) {
    case "ready":
      return { ...pod, status: ready("True") };
    case "not ready":
      return { ...pod, status: ready("False") };
    case "restart": {
      const [{ image }] = containers;
      const containerStatuses = [{ name: "side", image, imageID: `id-of-${image}`, ready: true }];
      return { ...pod, status: { ...status, containerStatuses } };
    }
    case "other id":
    case "other name": {
      // A node may write the image's name otherwise, and two names may be one image.
      const [before] = status.containerStatuses;
      const [{ image }] = containers;
      const after = event === "other id" ? { ...before, imageID: `id-of-${image}` } : { ...before, image };
      return { ...pod, status: { ...status, containerStatuses: [after] } };
    }
    case "finish":
      return { ...pod, status: { ...status, phase: "Succeeded" } };
    case "terminate":
      return { ...pod, metadata: { ...metadata, deletionTimestamp: "2026-01-01T00:00:00Z" } };
    case "delete":
      return undefined;
    case "leave":
      return { ...pod, metadata: { ...metadata, labels: { app: "other" } } };
    default:
      return { ...pod, metadata: { ...metadata, labels: { app: "web" } } };
  }
}

/** From the rules. */
function expected(set: StoredObject, pods: readonly StoredObject[]): JsonObject {
  const hash = set.metadata.annotations?.[sidecarSetHashAnnotation];
  const counts = { matchedPods: 0, updatedPods: 0, readyPods: 0, updatedReadyPods: 0 };
  for (const { metadata, spec, status } of pods) {
    const { labels = {}, annotations = {}, deletionTimestamp } = metadata;
    const { phase, conditions, containerStatuses } = Object(status);
    const isActive = !["Succeeded", "Failed"].includes(phase) && deletionTimestamp === undefined;
    const isInjected = (annotations[injectedListAnnotation] ?? "").split(",").includes("set");
    if (!isActive || !isInjected || labels["app"] !== "web") continue;
    const entry = JSON.parse(annotations[sidecarSetHashAnnotation] ?? "{}").set;
    const isUpdated = (entry?.hash ?? entry) === hash;
    const recorded = JSON.parse(annotations[sidecarInPlaceStateAnnotation] ?? "{}").set;
    const [running] = containerStatuses;
    const isBehind =
      recorded?.lastContainerStatuses.side.imageID === running.imageID &&
      Object(spec).containers[0].image !== running.image;
    const { status: ready } = conditions.find(({ type }: JsonObject) => type === "Ready");
    const isReady = phase === "Running" && ready === "True" && !isBehind;
    counts.matchedPods++;
    if (isUpdated) counts.updatedPods++;
    if (isReady) counts.readyPods++;
    if (isReady && isUpdated) counts.updatedReadyPods++;
  }
  return counts;
}

/** What was true since a time. */
interface Truth {
  readonly since: number;
  readonly counts: JsonObject;
}

/** A controller with a set and its pods. */
function scene(strategy: SidecarSetStrategy, size: number) {
  const clock = testClock();
  const stop = new AbortController();
  const server = fakeServer();
  const truths: Truth[] = [];
  /** After each change, also of the controller's: a plan may come between two of the same millisecond. */
  const note = (): void => {
    const counts = expected(set, server.all("pods"));
    if (!jsonEqual(truths.at(-1)?.counts, counts)) truths.push({ since: clock.monotonic(), counts });
  };
  const slowly = async <T>(write: () => Promise<T>): Promise<T> => {
    await clock.sleep(answerMs);
    const answer = await write();
    note();
    return answer;
  };
  const { client } = server;
  const slow: Client = {
    ...client,
    create: (resource, namespace, body, options) =>
      slowly(() => client.create(resource, namespace, body, options)),
    patch: (resource, ref, patch, options) => slowly(() => client.patch(resource, ref, patch, options)),
  };
  const set = server.put(sets, { ...setOf(strategy), metadata: Object(setOf(strategy)["metadata"]) });
  let created = 0;
  const create = (event: Event) => server.put("pods", newPod(set, `pod-${created++}`, event));
  for (let index = 0; index < size; index++) create(index % 3 === 0 ? "create old" : "create");
  const deps = kindDeps(sidecarSetResource, slow, clock);
  const shell = new Shell(deps, sidecarSetReconciler(deps));
  const { objects, queue } = deps;
  objects.subscribe((change) =>
    enqueueItself({ resource: sidecarSetResource, changeMatters: () => false }, queue, shell, change),
  );
  const ended = runController({
    name: "test",
    queue,
    workers: 1,
    reconcile: (key) => shell.reconcile(key),
    clock,
    log: testLog(),
    metrics: nullMetrics,
    signal: stop.signal,
  });
  note();
  objects.upsert(sidecarSetResource.codec.decode(Buffer.from(JSON.stringify(set)), "application/json"));
  return {
    clock,
    happen(event: Event, which: number): void {
      if (event.startsWith("create")) create(event);
      const pods = server.all("pods");
      const pod = pods[which % Math.max(1, pods.length)];
      if (pod === undefined || event.startsWith("create")) {
        note();
        return;
      }
      const next = after(pod, event);
      if (next === undefined) server.remove("pods", `ns/${pod.metadata.name}`);
      else server.put("pods", next);
      note();
    },
    reported(): JsonObject {
      const {
        matchedPods,
        updatedPods,
        readyPods,
        updatedReadyPods = 0,
      } = Object(server.read(sets, "set")["status"]);
      return { matchedPods, updatedPods, readyPods, updatedReadyPods };
    },
    truths,
    statusWrites: () => server.writes.filter((write) => write.includes("sidecarsets")).length,
    async end(): Promise<void> {
      stop.abort();
      await deps.stop();
      await clock.advance(60_000);
      await ended;
    },
  };
}

const history = fc.array(
  fc.record({
    event: fc.constantFrom(...events),
    which: fc.nat(1000),
    // Of this program's own: many at once, and pauses that are shorter and longer than what is gathered.
    gapMs: fc.oneof(fc.constant(0), fc.integer({ min: 1, max: 6 }), fc.integer({ min: 1, max: 60 })),
  }),
  { minLength: 60, maxLength: 120 },
);

function check(size: number, withinMs: number, numRuns: number) {
  const met = { ticks: 0, late: 0, matched: 0, notReady: 0, old: 0, writes: 0, changes: 0 };
  const property = fc.asyncProperty(
    fc.constantFrom<SidecarSetStrategy>("RollingUpdate", "NotUpdate", "paused"),
    history,
    async (strategy, steps) => {
      const { clock, end, happen, reported, statusWrites, truths } = scene(strategy, size);
      try {
        await clock.advance(2000);
        const look = (): boolean => {
          const now = clock.monotonic();
          const found = reported();
          met.ticks++;
          if (!jsonEqual(found, truths.at(-1)?.counts)) met.late++;
          // Anything that was so at some time not longer ago than the bound.
          return truths.some(({ counts }, index) => {
            const until = truths[index + 1]?.since ?? Number.POSITIVE_INFINITY;
            return until >= now - withinMs && jsonEqual(found, counts);
          });
        };
        for (const { event, which, gapMs } of steps) {
          happen(event, which);
          for (let ms = 0; ms < gapMs; ms++) {
            await clock.advance(1);
            if (!look()) return false;
          }
        }
        // Nothing happens any more but what the controller does itself.
        await clock.advance(withinMs + 500);
        const counts = truths.at(-1)?.counts ?? {};
        met.changes += truths.length;
        met.writes += statusWrites();
        if (Number(counts["matchedPods"]) > 0) met.matched++;
        if (Number(counts["readyPods"]) < Number(counts["matchedPods"])) met.notReady++;
        if (Number(counts["updatedPods"]) < Number(counts["matchedPods"])) met.old++;
        const written = statusWrites();
        const isExact = jsonEqual(reported(), counts);
        await clock.advance(60_000);
        return isExact && jsonEqual(reported(), counts) && statusWrites() === written;
      } finally {
        await end();
      }
    },
  );
  return { met, run: () => fc.assert(property, { seed: 23_006, numRuns }) };
}

for (const [size, withinMs, numRuns] of [
  [4, 50, 60],
  [300, 250, 10],
] as const) {
  t.test(
    `property: of ${size} pods the status tells what was so ${withinMs} ms ago at most, and is exact in the end`,
    async (t) => {
      const { met, run } = check(size, withinMs, numRuns);
      await t.resolves(run());
      t.ok(
        met.late > 100 &&
          met.matched > 0.8 * numRuns &&
          met.notReady > 0.3 * numRuns &&
          met.old > 0.3 * numRuns,
        JSON.stringify(met),
      );
      t.ok(met.writes < met.changes, `${met.writes} writes for ${met.changes} changes`);
    },
  );
}
