import t from "tap";
import { applyStrategicPatch } from "../../../kube/core/index.ts";
import type { Pod, PodContainer } from "../../../kube/index.ts";
import { acceptedPod } from "../pods/pod_manifest.ts";
import { IN_PLACE_READY, isReady } from "../pods/pod_state.ts";
import { isUpdateComplete } from "../pods/readiness.ts";
import { afterChange, type PodPatch } from "../writes/pod_patch.ts";
import { inPlaceChange, type Template } from "./change.ts";
import { isCompleted } from "./completion.ts";
import { LEAN_UPDATE_ANNOTATION } from "./lean.ts";
import {
  GRACE_ANNOTATION,
  graceState,
  inPlaceState,
  RUNTIME_META_ANNOTATION,
  STATE_ANNOTATION,
} from "./state.ts";
import { withUnissued } from "./unissued.ts";
import { refreshInPlace, startInPlace } from "./update.ts";

const now = Date.UTC(2023, 2, 1, 3, 45, 33);
const options = { verticalScaling: true, resizeSubresource: true, resetsManagers: false };
const changeOptions = { verticalScaling: true, envFromMetadata: true };
const target = {
  revision: "sample-56dfb978d4",
  labels: { "controller-revision-hash": "sample-56dfb978d4" },
  graceSeconds: 0,
  lifecycle: true,
  lean: false,
};

function container(name: string, image: string, extra: Partial<PodContainer> = {}): PodContainer {
  return { name, image, resources: {}, env: [], resizePolicy: {}, ...extra };
}

function barrier(priority: number): Partial<PodContainer> {
  return {
    env: [{ name: "KRUISE_CONTAINER_BARRIER", configMapKey: { name: "p-barrier", key: `p_${priority}` } }],
  };
}

function running(containers: PodContainer[], overrides: Partial<Pod> = {}): Pod {
  const conditions = ["Ready", "ContainersReady", "InPlaceUpdateReady"].map((type) => ({
    type,
    status: "True",
    reason: "",
    message: "",
    lastTransitionAt: now - 60_000,
  }));
  return {
    ...acceptedPod({ name: "p", namespace: "d" }, { containers: [] }, now - 100_000),
    uid: "u",
    resourceVersion: "7",
    nodeName: "n",
    phase: "Running",
    readinessGates: ["InPlaceUpdateReady"],
    containers,
    conditions,
    containerStatuses: containers.map((one) => ({
      name: one.name,
      image: one.image,
      imageID: `id-of-${one.image}`,
      containerID: `c-${one.name}`,
      ready: true,
      restartCount: 0,
    })),
    ...overrides,
  };
}

function template(images: Record<string, string>, rest: Partial<Template["metadata"]> = {}): Template {
  return {
    metadata: { labels: { app: "x" }, ...rest },
    spec: { containers: Object.entries(images).map(([name, image]) => ({ name, image })) },
  };
}

function changeOf(before: Template, after: Template) {
  const { change, ...why } = inPlaceChange(before, after, changeOptions);
  if (change === undefined) throw new Error(JSON.stringify(why));
  return change;
}

const body = (step: PodPatch | undefined) => step?.body as Record<string, never>;

t.test(
  "one image: gate off with the seen version, then the spec with the state of the specification",
  async (t) => {
    const pod = running([container("nginx", "nginx:alpine")]);
    const change = changeOf(template({ nginx: "nginx:alpine" }), template({ nginx: "nginx:mainline" }));
    const { steps, after } = startInPlace(pod, change, target, options, now);
    t.equal(steps.length, 2);
    t.equal(steps[0]?.subresource, "status");
    t.match(body(steps[0]), {
      metadata: { uid: "u", resourceVersion: "7" },
      status: {
        conditions: [
          { type: "InPlaceUpdateReady", status: "False", reason: "StartInPlaceUpdate" },
          {
            type: "Ready",
            status: "False",
            reason: "ReadinessGatesNotReady",
            message: 'the status of pod readiness gate "InPlaceUpdateReady" is not "True", but False',
          },
        ],
      },
    });
    t.match(body(steps[1]), {
      metadata: {
        uid: "u",
        labels: { "lifecycle.apps.kruise.io/state": "Updating", "controller-revision-hash": target.revision },
      },
      spec: { containers: [{ name: "nginx", image: "nginx:mainline" }] },
    });
    t.equal(
      after.annotations[STATE_ANNOTATION],
      '{"revision":"sample-56dfb978d4","updateTimestamp":"2023-03-01T03:45:33Z","lastContainerStatuses":{"nginx":{"imageID":"id-of-nginx:alpine"}},"updateImages":true,"containerBatchesRecord":[{"timestamp":"2023-03-01T03:45:33Z","containers":["nginx"]}]}',
    );
    t.equal(refreshInPlace(after, () => true, options, now).kind, "waiting");
    const restarted = {
      ...after,
      containerStatuses: after.containerStatuses.map((one) => ({ ...one, imageID: "other" })),
    };
    t.match(
      refreshInPlace(restarted, () => true, options, now),
      { kind: "gate", conditions: [{ status: "True" }] },
    );
    t.ok(isCompleted(restarted, options));
  },
);

t.test("two tags of one image end by what the runtime reports", async (t) => {
  const pod = running([container("nginx", "nginx:a")]);
  const { after } = startInPlace(
    pod,
    changeOf(template({ nginx: "nginx:a" }), template({ nginx: "nginx:b" })),
    target,
    options,
    now,
  );
  t.notOk(isCompleted(after, options));
  const meta = (plainHash: number): Pod => ({
    ...after,
    annotations: {
      ...after.annotations,
      [RUNTIME_META_ANNOTATION]: JSON.stringify({
        containers: [{ name: "nginx", containerID: "c-nginx", restartCount: 1, hashes: { plainHash } }],
      }),
    },
  });
  t.notOk(isCompleted(meta(1), options), "another hash");
  const { plainHash } = await import("../../../kube/core/index.ts");
  t.ok(isCompleted(meta(plainHash("nginx", "nginx:b")), options));
});

t.test("two tags of one image end without the agent, however the runtime writes the new one", async (t) => {
  const shown = (from: string, to: string, image: string) => {
    const { after } = startInPlace(
      running([container("main", from)]),
      changeOf(template({ main: from }), template({ main: to })),
      target,
      options,
      now,
    );
    const containerStatuses = after.containerStatuses.map((one) => ({ ...one, image }));
    return isCompleted({ ...after, containerStatuses }, options);
  };
  t.ok(shown("nginx:a", "nginx:b", "docker.io/library/nginx:b"));
  t.ok(shown("nginx:a", "nginx", "nginx:latest"));
  t.ok(shown("host:5000/app:a", "host:5000/app", "host:5000/app:latest"), "a port is no tag");
  t.notOk(shown("nginx:a", "nginx:b", "docker.io/library/nginx:a"));
  t.notOk(shown("nginx:a", "other/nginx:b", "docker.io/library/nginx:b"));
  t.notOk(shown("nginx:a", "nginx:b", ""));
});

t.test("grace: not ready and written down first, the spec when the time is over", async (t) => {
  const pod = running([container("main", "a:1")]);
  const change = changeOf(
    template({ main: "a:1" }, { labels: { app: "x", gone: "1" } }),
    template({ main: "a:2" }),
  );
  const held = startInPlace(pod, change, { ...target, graceSeconds: 10 }, options, now);
  t.equal(held.after.containers[0]?.image, "a:1", "the image waits");
  t.match(graceState(held.after).value, {
    revision: target.revision,
    containerImages: { main: "a:2" },
    graceSeconds: 10,
  });
  t.match(
    refreshInPlace(held.after, () => true, options, now + 9_500),
    { kind: "waiting", requeueAfterMs: 1000 },
  );
  t.match(
    refreshInPlace(held.after, () => false, options, now),
    { kind: "write", why: "grace dropped" },
  );
  const over = refreshInPlace(held.after, () => true, options, now + 10_000);
  if (over.kind !== "write") throw new Error(over.kind);
  t.equal(over.write.steps.length, 1, "one request");
  t.equal(over.write.after.containers[0]?.image, "a:2");
  t.notOk(GRACE_ANNOTATION in over.write.after.annotations);
  t.match(body(over.write.steps[0]), {
    metadata: { labels: { gone: null }, annotations: { [GRACE_ANNOTATION]: null } },
  });
});

t.test("batches by launch priority, the next when the former is complete and ready", async (t) => {
  const pod = running([container("nginx", "n:1", barrier(0)), container("redis", "r:1", barrier(10))]);
  const change = changeOf(template({ nginx: "n:1", redis: "r:1" }), template({ nginx: "n:2", redis: "r:2" }));
  const { after } = startInPlace(pod, change, target, options, now);
  t.same(
    after.containers.map((one) => one.image),
    ["n:1", "r:2"],
  );
  t.match(inPlaceState(after).value, {
    nextContainerImages: { nginx: "n:2" },
    preCheckBeforeNext: { containersRequiredReady: ["redis"] },
    containerBatchesRecord: [{ containers: ["redis"] }],
  });
  const crashed = withStatus(after, "redis", { imageID: "id-of-r:2", ready: false });
  t.match(
    refreshInPlace(crashed, () => true, options, now),
    { kind: "waiting" },
    "a crashing first batch holds the second",
  );
  const next = refreshInPlace(
    withStatus(after, "redis", { imageID: "id-of-r:2", ready: true }),
    () => true,
    options,
    now,
  );
  if (next.kind !== "write") throw new Error(next.kind);
  t.same(
    next.write.after.containers.map((one) => one.image),
    ["n:2", "r:2"],
  );
  const state = inPlaceState(next.write.after).value;
  t.same(
    state?.containerBatchesRecord?.map((one) => one.containers),
    [["redis"], ["nginx"]],
  );
  t.same(Object.keys(state?.lastContainerStatuses ?? {}).sort(), ["nginx", "redis"], "accumulated");
  t.equal(state?.nextContainerImages, undefined);
  t.equal(state?.preCheckBeforeNext, undefined);
});

t.test("a newer update takes along what a later batch had not written", async (t) => {
  const pod = running([container("nginx", "n:1", barrier(0)), container("redis", "r:1", barrier(10))]);
  const first = changeOf(template({ nginx: "n:1", redis: "r:1" }), template({ nginx: "n:2", redis: "r:2" }));
  const { after } = startInPlace(pod, first, target, options, now);
  const second = changeOf(template({ nginx: "n:2", redis: "r:2" }), template({ nginx: "n:2", redis: "r:3" }));
  t.same(withUnissued(after, second).images, { nginx: "n:2", redis: "r:3" });
  const back = changeOf(template({ nginx: "n:2", redis: "r:2" }), template({ nginx: "n:1", redis: "r:1" }));
  t.same(
    withUnissued(after, back).images,
    { nginx: "n:1", redis: "r:1" },
    "what the change says itself wins",
  );
});

t.test(
  "of what waits for a later batch a newer update replaces only the entries that it changes",
  async (t) => {
    const read = (key: string) => ({
      name: key,
      valueFrom: { fieldRef: { fieldPath: `metadata.annotations['${key}']` } },
    });
    const at = (cpu: string, memory: string, side: string, annotations: Record<string, string>): Template => {
      const resources = { requests: { cpu, memory } };
      const main = { name: "main", image: "a:1", resources, env: [read("x"), read("y")] };
      return { metadata: { annotations }, spec: { containers: [main, { name: "side", image: side }] } };
    };
    const resources = { requests: { cpu: "1", memory: "1Gi" } };
    const pod = running(
      [container("main", "a:1", { resources, ...barrier(0) }), container("side", "b:1", barrier(1))],
      { annotations: { x: "1", y: "1" } },
    );
    const first = at("1", "1Gi", "b:1", { x: "1", y: "1" });
    const second = at("2", "1Gi", "b:broken", { x: "2", y: "1" });
    const waiting = startInPlace(pod, changeOf(first, second), target, options, now).after;
    const third = withUnissued(waiting, changeOf(second, at("2", "2Gi", "b:2", { x: "2", y: "2" })));
    t.same(third.resources, { main: { requests: { cpu: "2", memory: "2Gi" } } });
    t.same(third.refMetadata, { main: { annotations: { x: "2", y: "2" } } });
    const without = withUnissued(waiting, changeOf(second, at("2", "1Gi", "b:2", { y: "1" })));
    t.same(without.refMetadata, {});
    t.notOk("x" in startInPlace(waiting, without, target, options, now).after.annotations);
  },
);

t.test("what a node tells that has not seen the new spec is about an older one", async (t) => {
  const pod = running([container("main", "a:1")]);
  const there = startInPlace(
    pod,
    changeOf(template({ main: "a:1" }), template({ main: "a:2" })),
    target,
    options,
    now,
  );
  const back = changeOf(template({ main: "a:2" }), template({ main: "a:1" }));
  const { after } = startInPlace(there.after, back, target, options, now);
  t.notOk(isCompleted({ ...after, behind: true }, options), "it may have started a:2 meanwhile");
  t.ok(isCompleted(after, options), "it has seen the last spec, and a:1 runs");
});

t.test("an update whose gate is open is over, whoever changes the spec after it", async (t) => {
  const pod = { ...running([container("main", "a:1")]), readinessGates: [IN_PLACE_READY] };
  const change = changeOf(template({ main: "a:1" }), template({ main: "a:2" }));
  const { after } = startInPlace(pod, change, target, options, now);
  const gate = after.conditions.find(({ type }) => type === IN_PLACE_READY);
  if (gate === undefined) throw new Error("the gate was not closed");
  const open = { ...after, conditions: [{ ...gate, status: "True", reason: "" }] };
  t.notOk(isUpdateComplete({ ...after, behind: true }, options));
  t.ok(isUpdateComplete({ ...open, behind: true }, options), "an ephemeral container, or another sidecar");
  const lean = { ...open, annotations: { ...open.annotations, [LEAN_UPDATE_ANNOTATION]: "r2" } };
  t.notOk(isUpdateComplete({ ...lean, behind: true }, options), "that gate was never closed");
});

t.test("an image that was asked for in between is not taken for the wanted one", async (t) => {
  const change = (from: string, to: string) => changeOf(template({ main: from }), template({ main: to }));
  const runs = (pod: Pod, image: string) =>
    withStatus(pod, "main", { image: `docker.io/library/${image}`, imageID: `id-of-${image}` });
  const pod = runs(running([container("main", "a:1")]), "a:1");
  const there = startInPlace(pod, change("a:1", "a:2"), target, options, now).after;
  t.notOk(inPlaceState(there).value?.supersededImages, "nothing was under way");

  const onwards = startInPlace(there, change("a:2", "a:3"), target, options, now).after;
  t.same(inPlaceState(onwards).value?.supersededImages, { main: ["a:2"] });
  t.notOk(isCompleted(onwards, options));
  t.notOk(isCompleted(runs(onwards, "a:2"), options), "the node was about to start it");
  t.ok(isCompleted(runs(onwards, "a:3"), options));
  t.ok(
    isCompleted(withStatus(onwards, "main", { image: "sha256:1", imageID: "new" }), options),
    "no name is reported",
  );

  const back = startInPlace(onwards, change("a:3", "a:1"), target, options, now).after;
  t.same(inPlaceState(back).value?.supersededImages, { main: ["a:2", "a:3"] });
  for (const between of ["a:2", "a:3"]) t.notOk(isCompleted(runs(back, between), options), between);
  t.ok(isCompleted(back, options), "the old one was never stopped");

  const taken = runs(onwards, "a:2");
  t.match(
    refreshInPlace(taken, () => true, options, now + 59_000),
    { kind: "waiting", requeueAfterMs: 1_000 },
  );
  t.match(
    refreshInPlace({ ...taken, behind: true }, () => true, options, now + 60_000),
    { kind: "waiting", requeueAfterMs: undefined },
    "a node that has not seen the spec has nothing to say",
  );
  const forgotten = refreshInPlace(taken, () => true, options, now + 60_000);
  if (forgotten.kind !== "write") throw new Error(`not a write: ${forgotten.kind}`);
  t.equal(forgotten.write.steps.length, 1);
  t.notOk(inPlaceState(forgotten.write.after).value?.supersededImages, "one image may have two names");
  t.ok(isCompleted(forgotten.write.after, options));

  const waited = startInPlace(runs(there, "a:2"), change("a:2", "a:3"), target, options, now).after;
  t.notOk(inPlaceState(waited).value?.supersededImages, "the first update was complete");
});

t.test("a container that is not ready is waited for, however long it takes", async (t) => {
  const waiting = withStatus(running([container("main", "a:1")]), "main", { image: "a:1", imageID: "" });
  const change = changeOf(template({ main: "a:1" }), template({ main: "a:2" }));
  const { after } = startInPlace(waiting, change, target, options, now);
  const started = { image: "docker.io/library/a:1", imageID: "id-of-a:1" };
  const refreshed = (ready: boolean) =>
    refreshInPlace(withStatus(after, "main", { ...started, ready }), () => true, options, now + 60_000);
  t.match(refreshed(false), { kind: "waiting", requeueAfterMs: undefined });
  t.match(refreshed(true), { kind: "write", why: "superseded images forgotten" });
});

t.test("what an earlier update waits for is waited for when only metadata changes", async (t) => {
  const change = changeOf(template({ main: "a:1" }), template({ main: "a:2" }));
  const there = startInPlace(running([container("main", "a:1")]), change, target, options, now).after;
  const marked = {
    ...template({ main: "a:2" }),
    metadata: { labels: { app: "x" }, annotations: { round: "2" } },
  };
  const { after } = startInPlace(there, changeOf(template({ main: "a:2" }), marked), target, options, now);
  t.notOk(isCompleted(after, options), "a:2 does not run yet");
  t.ok(isCompleted(withStatus(after, "main", { image: "a:2", imageID: "id-of-a:2" }), options));
});

t.test("a container that has not run yet may still be started with its old image", async (t) => {
  const waiting = withStatus(running([container("main", "a:1")]), "main", { image: "a:1", imageID: "" });
  const change = changeOf(template({ main: "a:1" }), template({ main: "a:2" }));
  const { after } = startInPlace(waiting, change, target, options, now);
  t.same(inPlaceState(after).value?.supersededImages, { main: ["a:1"] });
  const started = withStatus(after, "main", { image: "docker.io/library/a:1", imageID: "id-of-a:1" });
  t.notOk(isCompleted(started, options), "its image was being pulled");
  t.ok(isCompleted(withStatus(after, "main", { image: "a:2", imageID: "id-of-a:2" }), options));
});

function modeTemplate(mode: string, images: Record<string, string>): Template {
  const env = [{ name: "MODE", valueFrom: { fieldRef: { fieldPath: "metadata.annotations['mode']" } } }];
  return {
    metadata: { labels: { app: "x" }, annotations: { mode } },
    spec: { containers: Object.entries(images).map(([name, image]) => ({ name, image, env })) },
  };
}

t.test("metadata alone goes with the gate, in one request", async (t) => {
  const before = modeTemplate("1", { main: "a:1" });
  const change = changeOf(before, modeTemplate("2", { main: "a:1" }));
  const pod = running([container("main", "a:1")]);
  const { steps, after } = startInPlace(pod, change, target, { ...options, resetsManagers: true }, now);
  t.equal(steps.length, 1);
  t.equal(steps[0]?.subresource, "status");
  t.match(body(steps[0]), {
    metadata: {
      uid: "u",
      resourceVersion: "7",
      labels: { "controller-revision-hash": target.revision, "lifecycle.apps.kruise.io/state": "Updating" },
      annotations: { mode: "2", [STATE_ANNOTATION]: /"updateEnvFromMetadata":true/ },
    },
    status: {
      conditions: [
        { type: "InPlaceUpdateReady", status: "False" },
        { type: "Ready", status: "False" },
      ],
    },
  });
  t.equal(after.annotations["mode"], "2");
  t.match(after.conditions, [{ type: "Ready", status: "False" }, {}, { status: "False" }]);
  const plain = changeOf(
    template({ main: "a:1" }, { labels: { app: "x", gone: "1" } }),
    template({ main: "a:1" }),
  );
  t.match(
    startInPlace(pod, plain, target, options, now).steps,
    [{ subresource: "status", body: { metadata: { labels: { gone: null } } } }],
    "also when no container reads it",
  );
  const held = startInPlace(pod, change, { ...target, graceSeconds: 10 }, options, now);
  t.same(
    held.steps.map((step) => step.subresource ?? "spec"),
    ["status", "spec"],
  );
  t.equal(held.after.annotations["mode"], undefined, "not before the grace period is over");
  const ungated = startInPlace({ ...pod, readinessGates: [] }, change, target, options, now);
  t.same(
    ungated.steps.map((step) => step.subresource ?? "spec"),
    ["spec"],
  );
});

t.test(
  "metadata that comes with an image waits for it: one restart, and none for a refused one",
  async (t) => {
    const change = changeOf(modeTemplate("1", { main: "a:1" }), modeTemplate("2", { main: "a:2" }));
    const { steps } = startInPlace(running([container("main", "a:1")]), change, target, options, now);
    t.equal(steps.length, 2);
    t.notHas(body(steps[0]), { metadata: { annotations: {} } });
    t.match(body(steps[1]), {
      metadata: { annotations: { mode: "2" } },
      spec: { containers: [{ name: "main", image: "a:2" }] },
    });
  },
);

t.test("a key that the first batch reads pulls its other readers in", async (t) => {
  const env = (name: string) => ({
    name,
    env: [{ name: "MODE", valueFrom: { fieldRef: { fieldPath: "metadata.annotations['mode']" } } }],
  });
  const templateOf = (mode: string): Template => ({
    metadata: { annotations: { mode } },
    spec: { containers: [env("a"), env("b")] },
  });
  const pod = running([container("a", "x:1", barrier(5)), container("b", "x:1", barrier(0))]);
  const { after } = startInPlace(pod, changeOf(templateOf("1"), templateOf("2")), target, options, now);
  t.match(inPlaceState(after).value, {
    updateEnvFromMetadata: true,
    containerBatchesRecord: [{ containers: ["a", "b"] }],
  });
  t.equal(after.annotations["mode"], "2");
});

t.test("resources go through the resize subresource and need no gate when nothing restarts", async (t) => {
  const amounts = (cpu: string): Template => ({
    spec: { containers: [{ name: "main", image: "a:1", resources: { requests: { cpu, memory: "64Mi" } } }] },
  });
  const resources = { requests: { cpu: "100m", memory: "64Mi" } };
  const pod = running([container("main", "a:1", { resources })]);
  const change = changeOf(amounts("100m"), amounts("200m"));
  const { steps, after } = startInPlace(pod, change, target, options, now);
  t.same(
    steps.map((step) => step.subresource ?? "spec"),
    ["resize", "spec"],
  );
  t.match(body(steps[0]), {
    spec: { containers: [{ name: "main", resources: { requests: { cpu: "200m" } } }] },
  });
  t.notOk(isCompleted(after, options));
  const resized = withStatus(after, "main", { resources: { requests: { cpu: "0.2", memory: "64Mi" } } });
  t.ok(isCompleted(resized, options), "0.2 is 200m");
  const restarts = running([
    container("main", "a:1", { resources, resizePolicy: { cpu: "RestartContainer" } }),
  ]);
  t.equal(
    startInPlace(restarts, change, target, options, now).steps[0]?.subresource,
    "status",
    "a restart drops the gate",
  );
  const older = startInPlace(pod, change, target, { ...options, resizeSubresource: false }, now);
  t.equal(older.steps.length, 1, "an older server takes resources with the rest");
});

t.test("what is not possible in place", async (t) => {
  const refused = (before: Template, after: Template): boolean =>
    inPlaceChange(before, after, changeOptions).change === undefined;
  const base = template({ main: "a:1" });
  t.ok(
    refused(base, {
      ...base,
      spec: { containers: [{ name: "main", image: "a:1", env: [{ name: "A", value: "1" }] }] },
    }),
  );
  t.ok(refused(base, template({ other: "a:1" })), "renamed");
  t.ok(refused(base, template({ main: "a:1", more: "b:1" })), "added");
  const cpu = (requests: Record<string, string>, limits?: Record<string, string>): Template => ({
    spec: { containers: [{ name: "m", image: "a", resources: { requests, ...(limits ? { limits } : {}) } }] },
  });
  t.ok(refused(cpu({ cpu: "1" }), cpu({ cpu: "1", memory: "1Gi" })), "an added amount");
  t.ok(
    refused(
      cpu({ cpu: "1", memory: "1Gi" }, { cpu: "2", memory: "1Gi" }),
      cpu({ cpu: "2", memory: "1Gi" }, { cpu: "2", memory: "1Gi" }),
    ),
    "another QoS class",
  );
  t.notOk(refused(cpu({ cpu: "1" }), cpu({ cpu: "2" })));
  t.equal(
    inPlaceChange(cpu({ cpu: "1" }), cpu({ cpu: "2" }), { ...changeOptions, verticalScaling: false }).change,
    undefined,
    "without the gate",
  );
});

t.test("broken annotations are distinguished from absent ones and stop nothing", async (t) => {
  const pod = running([container("main", "a:1")], {
    annotations: { [STATE_ANNOTATION]: "{broken", [GRACE_ANNOTATION]: "[]" },
  });
  t.match(inPlaceState(pod), { value: undefined, broken: /inplace-update-state/ });
  t.equal(refreshInPlace(pod, () => true, options, now).kind, "done");
  t.same(afterChange(pod, { annotations: { [STATE_ANNOTATION]: null } }, now).annotations, {
    [GRACE_ANNOTATION]: "[]",
  });
});

function withStatus(pod: Pod, name: string, change: Partial<Pod["containerStatuses"][number]>): Pod {
  return {
    ...pod,
    containerStatuses: pod.containerStatuses.map((one) => (one.name === name ? { ...one, ...change } : one)),
  };
}

t.test(
  "the tracking of field managers ends with the write of the spec, but not where somebody applies",
  async (t) => {
    const change = changeOf(template({ nginx: "nginx:1" }), template({ nginx: "nginx:2" }));
    const managedIn = (fieldManagers: Pod["fieldManagers"], resetsManagers: boolean) => {
      const pod = running([container("nginx", "nginx:1")], { fieldManagers });
      const { steps } = startInPlace(pod, change, target, { ...options, resetsManagers }, now);
      return steps.map(
        (step) => (step.body as { metadata: { managedFields?: object[] } }).metadata.managedFields,
      );
    };
    t.same(
      managedIn("updates", true),
      [undefined, [{}]],
      "not through the subresource, where it has no effect",
    );
    t.same(managedIn("applies", true), [undefined, undefined]);
    t.same(managedIn("none", true), [undefined, undefined]);
    t.same(managedIn("updates", false), [undefined, undefined]);
  },
);

t.test("a lean update leaves no container with its old environment", async (t) => {
  const lean = { ...target, lean: true };
  const pod = running([container("main", "a:1"), container("side", "b:1")]);
  const conditionsOf = (images: Record<string, string>) => {
    const change = changeOf(modeTemplate("1", { main: "a:1", side: "b:1" }), modeTemplate("2", images));
    return startInPlace(pod, change, lean, options, now).after.conditions.map(({ status }) => status);
  };
  t.same(conditionsOf({ main: "a:2", side: "b:2" }), ["True", "True", "True"], "both restart anyway");
  for (const images of [
    { main: "a:1", side: "b:1" },
    { main: "a:2", side: "b:1" },
  ])
    t.same(conditionsOf(images), ["False", "True", "False"], "the agent restarts those that the gate holds");
});

t.test("a lean update is one request; until its containers run the pod is not ready", async (t) => {
  const pod = running([container("nginx", "nginx:1")]);
  const change = changeOf(template({ nginx: "nginx:1" }), template({ nginx: "nginx:2" }));
  const { steps, after } = startInPlace(pod, change, { ...target, lean: true }, options, now);
  t.equal(steps.length, 1);
  t.match(body(steps[0]), {
    metadata: {
      resourceVersion: "7",
      labels: { "controller-revision-hash": "sample-56dfb978d4" },
      annotations: { "refit.dev/lean-update": "sample-56dfb978d4" },
    },
    spec: { containers: [{ name: "nginx", image: "nginx:2" }] },
  });
  t.notOk("lifecycle.apps.kruise.io/state" in after.labels);
  t.notOk(isReady(after), "although its condition Ready is still True");
  t.same(refreshInPlace(after, () => true, options, now).kind, "waiting");
  const [status] = after.containerStatuses;
  if (status === undefined) throw new Error("no container");
  const restarted = {
    ...after,
    containerStatuses: [{ ...status, imageID: "id-of-nginx:2", restartCount: 1 }],
  };
  t.ok(isReady(restarted));
  t.same(
    refreshInPlace(restarted, () => true, options, now),
    { kind: "done" },
  );

  const next = changeOf(template({ nginx: "nginx:2" }), template({ nginx: "nginx:3" }));
  const full = startInPlace(restarted, next, target, options, now);
  t.equal(full.steps.length, 2);
  t.notOk("refit.dev/lean-update" in full.after.annotations, "the next update may be an ordinary one");
});

t.test(
  "what the template loses goes from the pod, also the last entry of a map, and nothing else",
  async (t) => {
    const annotated = template({ main: "a:1" }, { annotations: { restartedAt: "noon" } });
    const pod = running([container("main", "a:1")], { annotations: { restartedAt: "noon", theirs: "1" } });
    for (const bare of [template({ main: "a:1" }), template({ main: "a:1" }, { annotations: {} })]) {
      const change = changeOf(annotated, bare);
      const { steps, after } = startInPlace(pod, change, target, options, now);
      t.match(body(steps[0]), { metadata: { annotations: { restartedAt: null } } });
      t.match(after.annotations, { theirs: "1", restartedAt: undefined });
      const held = startInPlace(pod, change, { ...target, graceSeconds: 5 }, options, now).after;
      const step = refreshInPlace(held, () => true, options, now + 5000);
      t.equal(step.kind, "write");
      if (step.kind === "write")
        t.match(step.write.after.annotations, { theirs: "1", restartedAt: undefined });
    }
  },
);

t.test("finalizers of the template come and go with an update, beside those of others", async (t) => {
  const having = (finalizer: string) => template({ main: "a:1" }, { finalizers: ["x/kept", finalizer] });
  const finalizers = ["x/kept", "x/old", "x/theirs"];
  const pod = running([container("main", "a:1")], { finalizers });
  const change = changeOf(having("x/old"), having("x/new"));
  const { steps, after } = startInPlace(pod, change, target, options, now);
  t.same(
    steps.map(({ subresource = "spec" }) => subresource),
    ["status", "spec"],
    "they do not go through the status subresource",
  );
  const wanted = ["x/kept", "x/theirs", "x/new"];
  t.same(after.finalizers, wanted);
  const patched = applyStrategicPatch({ metadata: { finalizers } }, steps[1]?.body ?? {}, "Pod");
  t.match(patched, { metadata: { finalizers: ["x/new", "x/kept", "x/theirs"] } });

  const held = startInPlace(pod, change, { ...target, graceSeconds: 5 }, options, now).after;
  t.same(held.finalizers, finalizers, "after the grace period");
  const step = refreshInPlace(held, () => true, options, now + 5000);
  t.same(step.kind === "write" ? step.write.after.finalizers : [], wanted);
  const back = withUnissued(held, changeOf(having("x/new"), having("x/old")));
  t.same([...startInPlace(held, back, target, options, now).after.finalizers].sort(), finalizers);
  t.same(
    startInPlace(pod, changeOf(having("x/old"), template({ main: "a:1" })), target, options, now).after
      .finalizers,
    ["x/theirs"],
    "also the last one",
  );
});

t.test("a container of the template that the pod was made without is not added to it", async (t) => {
  const pod = running([container("main", "a:1")], { annotations: { mode: "1" } });
  const change = changeOf(
    modeTemplate("1", { main: "a:1", left: "b:1" }),
    modeTemplate("2", { main: "a:1", left: "b:2" }),
  );
  const onlyLeft = { ...change, refMetadata: { left: change.refMetadata["left"] ?? {} } };
  for (const graceSeconds of [0, 5]) {
    let { after } = startInPlace(pod, onlyLeft, { ...target, graceSeconds }, options, now);
    const step = graceSeconds > 0 ? refreshInPlace(after, () => true, options, now + 5000) : undefined;
    if (step?.kind === "write") {
      t.notMatch(step.write.steps[0]?.body, { spec: {} });
      after = step.write.after;
    }
    t.equal(after.annotations["mode"], "2");
    t.match(inPlaceState(after).value, { lastContainerStatuses: null, nextContainerImages: undefined });
    t.ok(isCompleted(after, options), "nothing is waited for");
  }
  const { steps } = startInPlace(pod, onlyLeft, target, options, now);
  for (const step of steps) t.notOk("spec" in step.body);
});
