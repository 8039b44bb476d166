import fc from "fast-check";
import t from "tap";
import type { ContainerRecreateRequest, ContainerRecreateRequestStatus } from "../../../crds/index.ts";
import { formatTime, type ObjectMeta } from "../../../kube/core/index.ts";
import type { Pod, PodCondition } from "../../../kube/index.ts";
import type { RecreateAction } from "./model.ts";
import { planRecreateRequest } from "./plan.ts";

const start = Date.UTC(2026, 0, 1);
const finalizer = "crr.apps.kruise.io/unready-acquired";
const active = "crr.apps.kruise.io/active";
const key = '[{"userAgent":"ContainerRecreateRequest","key":"default/one"}]';

function pod(changes: Partial<Pod> = {}): Pod {
  return {
    namespace: "default",
    name: "web",
    uid: "pod-1",
    resourceVersion: "7",
    createdAt: start,
    deletionAt: undefined,
    labels: {},
    annotations: {},
    finalizers: [],
    fieldManagers: "updates",
    controller: undefined,
    nodeName: "node1",
    readinessGates: [],
    containers: [],
    phase: "Running",
    conditions: [],
    containerStatuses: [status("app", "containerd://a0", 0), status("side", "containerd://s0", 0)],
    podIP: "10.0.0.1",
    ...changes,
  };
}

function status(name: string, containerID: string, restartCount: number, ready = true) {
  return { name, image: "i", imageID: "i", containerID, ready, restartCount };
}

function condition(type: string, value: string, message = ""): PodCondition {
  return { type, status: value, reason: "", message, lastTransitionAt: start };
}

/** A pod that controllers can hold not ready. */
const gated = (...conditions: PodCondition[]): Pod =>
  pod({
    readinessGates: ["KruisePodReady"],
    conditions:
      conditions.length > 0
        ? conditions
        : [condition("KruisePodReady", "True"), condition("ContainersReady", "True")],
  });

function request(
  spec: Partial<ContainerRecreateRequest["spec"]> = {},
  state: Partial<ContainerRecreateRequestStatus> = {},
  metadata: ObjectMeta = {},
): ContainerRecreateRequest {
  return {
    metadata: {
      name: "one",
      namespace: "default",
      uid: "crr-1",
      creationTimestamp: formatTime(start),
      labels: { [active]: "true", "crr.apps.kruise.io/pod-uid": "pod-1" },
      ...metadata,
    },
    spec: {
      podName: "web",
      containers: [{ name: "app", statusContext: { containerID: "containerd://a0", restartCount: 0 } }],
      ...spec,
    },
    ...(Object.keys(state).length === 0 ? {} : { status: { phase: "Pending", ...state } }),
  };
}

const plan = (one: ContainerRecreateRequest, of: Pod | undefined, afterMs = 0, watched = true) =>
  planRecreateRequest({ request: one, pod: of, watched }, start + afterMs);

const completion = (message: string, afterMs: number): RecreateAction => ({
  type: "patch status",
  status: { phase: "Completed", completionTime: formatTime(start + afterMs), message },
  exact: true,
});

t.test("requests end without their agent", async (t) => {
  t.strictSame(plan(request(), undefined, 900).effects, [completion("pod has gone", 900)]);
  t.strictSame(plan(request({}, { phase: "Recreating" }), undefined).effects, [
    completion("pod has gone", 0),
  ]);
  t.strictSame(plan(request(), pod(), 59_000), { effects: [], requeueAfterMs: 1_000 });
  t.strictSame(plan(request(), pod(), 60_000).effects, [
    completion("daemon has not responded for a long time", 60_000),
  ]);
  t.strictSame(
    plan(request({}, { phase: "Pending" }), pod(), 90_000),
    { effects: [] },
    "the agent has seen it",
  );
  const limited = request({ activeDeadlineSeconds: 5 }, { phase: "Recreating" });
  t.strictSame(plan(limited, pod(), 4_000), { effects: [], requeueAfterMs: 1_000 });
  t.strictSame(plan(limited, pod(), 5_000).effects, [
    completion("recreating has exceeded the activeDeadlineSeconds", 5_000),
  ]);
});

t.test("a pod that nobody watches is looked at every three seconds", async (t) => {
  t.strictSame(plan(request(), pod(), 0, false), { effects: [], requeueAfterMs: 3_000 });
  t.strictSame(plan(request(), pod(), 58_500, false), { effects: [], requeueAfterMs: 1_500 });
});

const drain = { strategy: { unreadyGracePeriodSeconds: 1 } };
const grace = {
  type: "PreRecreateGrace",
  status: "True",
  reason: "PreRecreateGrace",
  message: "Pod has been forced to not-ready for unreadyGracePeriodSeconds drain",
  lastTransitionTime: formatTime(start),
} as const;

t.test("the pod is held not ready before the agent may stop anything", async (t) => {
  t.strictSame(plan(request(drain, { phase: "Pending" }), gated()).effects, [], "not before its turn");
  t.strictSame(plan(request(drain, { phase: "Recreating" }), gated()).effects, [
    { type: "add finalizer", finalizer },
    {
      type: "set pod conditions",
      conditions: [
        { type: "KruisePodReady", status: "False", message: key },
        {
          type: "Ready",
          status: "False",
          reason: "ReadinessGatesNotReady",
          message: 'the status of pod readiness gate "KruisePodReady" is not "True", but False',
        },
      ],
      annotations: { "refit.dev/held-not-ready-since": formatTime(start) },
    },
  ]);
  const tells = [{ type: "patch status", status: { conditions: [grace] }, exact: true }];
  const without = plan(request(drain, { phase: "Recreating" }), pod()).effects;
  t.strictSame(without, tells);
  const held = gated(condition("KruisePodReady", "False", key), condition("ContainersReady", "True"));
  const holding = request(drain, { phase: "Recreating" }, { finalizers: [finalizer] });
  t.strictSame(
    plan(holding, held).effects,
    tells,
    "the grace begins when the pod is held, however long that took",
  );
  const later = request(
    drain,
    { phase: "Recreating", conditions: [grace] },
    { finalizers: ["x", finalizer] },
  );
  t.strictSame(plan(later, held, 5_000).effects, [], "its time never moves");
});

t.test("the pod is given back when the request is over or deleted", async (t) => {
  const held = gated(condition("KruisePodReady", "False", key));
  const free = {
    type: "set pod conditions",
    conditions: [{ type: "KruisePodReady", status: "True", message: "[]" }],
    annotations: { "refit.dev/held-not-ready-since": null },
  };
  const done = request(drain, { phase: "Completed", conditions: [grace] }, { finalizers: ["x", finalizer] });
  t.strictSame(plan(done, held).effects, [
    free,
    {
      type: "patch object",
      body: { metadata: { finalizers: ["x"], labels: { [active]: null } } },
      exact: true,
    },
  ]);
  const deleted = request(
    drain,
    { phase: "Recreating" },
    { finalizers: [finalizer], deletionTimestamp: formatTime(start) },
  );
  t.match(plan(deleted, held).effects, [free, { body: { metadata: { finalizers: [] } } }]);
  t.match(plan(deleted, undefined).effects, [
    { type: "patch object", body: { metadata: { finalizers: [] } } },
  ]);
  const others =
    '[{"userAgent":"ContainerRecreateRequest","key":"default/one"},{"userAgent":"Lifecycle","key":"preUpdateHook"}]';
  const shared = gated(condition("KruisePodReady", "False", others));
  t.match(plan(done, shared).effects[0], {
    conditions: [{ status: "False", message: '[{"userAgent":"Lifecycle","key":"preUpdateHook"}]' }],
  });
});

t.test("a finished request loses its label, then its time to live runs", async (t) => {
  const completionTime = formatTime(start + 1_000);
  const done = request({ ttlSecondsAfterFinished: 3 }, { phase: "Completed", completionTime });
  const body = { metadata: { labels: { [active]: null } } };
  const unlabel = { type: "patch object", body, exact: true } as const;
  t.strictSame(plan(done, undefined, 2_000), { effects: [unlabel], requeueAfterMs: 2_000 });
  const kept = request({}, { phase: "Completed", completionTime }, { labels: {} });
  t.strictSame(plan(kept, undefined, 9_000_000), { effects: [] }, "without one it stays");
  const over = request(
    { ttlSecondsAfterFinished: 3 },
    { phase: "Completed", completionTime },
    { labels: {} },
  );
  t.strictSame(plan(over, undefined, 4_000).effects, [{ type: "delete object" }]);
});

t.test("the snapshot shows replaced containers of the list, and is never emptied", async (t) => {
  const recreating = request({}, { phase: "Recreating" });
  t.strictSame(plan(recreating, pod()).effects, [], "the old container is none");
  const statusContext = { containerID: "containerd://a2", restartCount: 2 };
  const ofLater = request({ containers: [{ name: "app", statusContext }] }, { phase: "Recreating" });
  t.strictSame(plan(ofLater, pod()).effects, [], "nor is one before it, which a late watch still shows");
  const replaced = pod({
    containerStatuses: [status("app", "containerd://a1", 1, false), status("side", "containerd://s1", 1)],
  });
  const entry = { name: "app", ready: false, restartCount: 1, containerID: "containerd://a1" };
  t.strictSame(plan(recreating, replaced).effects, [
    { type: "patch status", status: { containerStatusSnapshot: [entry] }, exact: true },
  ]);
  const shown = request({}, { phase: "Recreating", containerStatusSnapshot: [entry] });
  t.strictSame(plan(shown, replaced).effects, []);
  t.strictSame(plan(shown, pod({ containerStatuses: [] })).effects, []);
});

t.test(
  "whatever the request and pod: an unfinished one is requeued, a pod is held only with the finalizer",
  async (t) => {
    const seconds = fc.option(fc.integer({ min: 0, max: 100 }), { nil: undefined });
    const given = fc.record({
      phase: fc.constantFrom("", "Pending", "Recreating", "Completed"),
      pod: fc.constantFrom(
        undefined,
        pod(),
        gated(),
        gated(condition("KruisePodReady", "False", key)),
        gated(condition("KruisePodReady", "False", "junk")),
      ),
      deadline: seconds,
      unready: seconds,
      ttl: seconds,
      finalized: fc.boolean(),
      watched: fc.boolean(),
      afterMs: fc.integer({ min: 0, max: 200_000 }),
    });
    await fc.assert(
      fc.asyncProperty(
        given,
        async ({ phase, deadline, unready, ttl, finalized, watched, afterMs, ...rest }) => {
          const one = request(
            {
              ...(deadline === undefined ? {} : { activeDeadlineSeconds: deadline }),
              ...(ttl === undefined ? {} : { ttlSecondsAfterFinished: ttl }),
              ...(unready === undefined ? {} : { strategy: { unreadyGracePeriodSeconds: unready } }),
            },
            phase === "Pending" || phase === "Recreating" || phase === "Completed" ? { phase } : {},
            finalized ? { finalizers: [finalizer] } : {},
          );
          const { effects, requeueAfterMs } = plan(one, rest.pod, afterMs, watched);
          t.ok(requeueAfterMs === undefined || requeueAfterMs > 0);
          const kinds = effects.map((action) => action.type);
          if (kinds.includes("delete object")) t.equal(phase, "Completed");
          const ends = effects.some((action) => action.type === "patch status" && "phase" in action.status);
          if (phase !== "Completed" && !watched && !ends)
            t.ok(requeueAfterMs !== undefined && requeueAfterMs <= 3_000);
          const holds = effects.findIndex(
            (action) => action.type === "set pod conditions" && action.conditions[0]?.status === "False",
          );
          if (holds >= 0 && phase !== "Completed")
            t.ok(finalized || kinds.slice(0, holds).includes("add finalizer"));
          if (phase !== "Recreating" && phase !== "Completed") t.notOk(kinds.includes("set pod conditions"));
        },
      ),
      { seed: 47, numRuns: 1000 },
    );
  },
);
