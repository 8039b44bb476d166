/** Random requests against a plain reading of the rules, which shares no code with the plan. Spec: containers 1.4, rules 4, 11, 13. */
import fc from "fast-check";
import t from "tap";
import type { ContainerRecreateRequest } from "../../crds/index.ts";
import type { Pod } from "../../kube/index.ts";
import { barePod } from "../../testkit/controller/pod_builder.ts";
import { planRecreateRequest } from "./plan.ts";

const start = Date.UTC(2026, 0, 1);
const time = (seconds: number) => new Date(start + seconds * 1000).toISOString().replace(".000Z", "Z");
const finalizer = "crr.apps.kruise.io/unready-acquired";
const active = "crr.apps.kruise.io/active";
const ownKey = { userAgent: "ContainerRecreateRequest", key: "default/one" };
const otherKey = { userAgent: "InPlaceUpdate", key: "x" };

const given = fc.record({
  phase: fc.constantFrom(undefined, "Pending", "Recreating", "Succeeded", "Failed", "Completed", "Completed"),
  age: fc.integer({ min: 0, max: 130 }),
  deadline: fc.option(fc.integer({ min: 1, max: 130 }), { nil: undefined }),
  ttl: fc.option(fc.integer({ min: 0, max: 60 }), { nil: undefined }),
  completed: fc.integer({ min: 0, max: 130 }),
  grace: fc.option(fc.nat(30), { nil: undefined }),
  graceSince: fc.option(fc.nat(30), { nil: undefined }),
  hasFinalizer: fc.boolean(),
  isActive: fc.boolean(),
  isDeleted: fc.constantFrom(false, false, false, true),
  hasPod: fc.constantFrom(true, true, true, false),
  isGated: fc.boolean(),
  /** Keys that hold the pod not ready. */
  holders: fc.subarray([ownKey, otherKey]),
  isWatched: fc.boolean(),
});
type Given = typeof given extends fc.Arbitrary<infer G> ? G : never;

function requestOf(one: Given): ContainerRecreateRequest {
  const { phase, deadline, ttl, grace } = one;
  const condition = {
    type: "PreRecreateGrace",
    status: "True" as const,
    reason: "",
    message: "",
    lastTransitionTime: time(one.graceSince ?? 0),
  };
  return {
    metadata: {
      name: "one",
      namespace: "default",
      uid: "crr",
      creationTimestamp: time(0),
      labels: one.isActive ? { [active]: "true" } : {},
      finalizers: ["kept", ...(one.hasFinalizer ? [finalizer] : [])],
      ...(one.isDeleted ? { deletionTimestamp: time(one.age) } : {}),
    },
    spec: {
      podName: "web",
      containers: [],
      ...(deadline === undefined ? {} : { activeDeadlineSeconds: deadline }),
      ...(ttl === undefined ? {} : { ttlSecondsAfterFinished: ttl }),
      ...(grace === undefined ? {} : { strategy: { unreadyGracePeriodSeconds: grace } }),
    },
    ...(phase === undefined
      ? {}
      : {
          status: {
            phase,
            ...(phase === "Completed" ? { completionTime: time(one.completed) } : {}),
            ...(one.graceSince === undefined ? {} : { conditions: [condition] }),
          },
        }),
  };
}

function podOf(one: Given): Pod {
  const condition = (type: string, status: string, message: string) => ({
    type,
    status,
    reason: "",
    message,
    lastTransitionAt: start,
  });
  const holders = one.holders.length > 0;
  return barePod("web", {
    phase: "Running",
    readinessGates: one.isGated ? ["KruisePodReady"] : [],
    conditions: [
      condition("KruisePodReady", holders ? "False" : "True", holders ? JSON.stringify(one.holders) : ""),
      condition("ContainersReady", "True", ""),
    ],
  });
}

/** Words of what is to be done, in order, and when it is looked at again. */
function expected(one: Given): { steps: string[]; requeueAfterMs: number | undefined } {
  const isHeld = one.holders.includes(ownKey);
  const release = [
    ...(one.hasFinalizer && one.hasPod && one.isGated && isHeld
      ? [`pod ready ${one.holders.length === 1}`]
      : []),
    ...(one.hasFinalizer || one.isActive
      ? [`drop ${[one.hasFinalizer ? "finalizer" : "", one.isActive ? "label" : ""].join(" ").trim()}`]
      : []),
  ];
  if (one.isDeleted) return { steps: release, requeueAfterMs: undefined };
  if (one.phase === "Completed") {
    const left = one.ttl === undefined ? undefined : one.completed + one.ttl - one.age;
    if (left === undefined) return { steps: release, requeueAfterMs: undefined };
    return left > 0
      ? { steps: release, requeueAfterMs: left * 1000 }
      : { steps: [...release, "delete"], requeueAfterMs: undefined };
  }
  const ended = (why: string) => ({ steps: [`complete: ${why}`], requeueAfterMs: undefined });
  if (!one.hasPod) return ended("pod has gone");
  if (one.deadline !== undefined && one.age >= one.deadline)
    return ended("recreating has exceeded the activeDeadlineSeconds");
  if (one.phase === undefined && one.age >= 60) return ended("daemon has not responded for a long time");
  const hold =
    one.phase === "Recreating" && one.grace !== undefined && one.isGated
      ? [...(one.hasFinalizer ? [] : ["add finalizer"]), ...(isHeld ? [] : ["pod ready false"])]
      : [];
  const marks = one.phase === "Recreating" && one.grace !== undefined && one.graceSince === undefined;
  const waits = [
    ...(one.deadline === undefined ? [] : [one.deadline - one.age]),
    ...(one.phase === undefined ? [60 - one.age] : []),
    ...(one.isWatched ? [] : [3]),
  ];
  return {
    steps: [...hold, ...(marks ? ["grace begins"] : [])],
    requeueAfterMs: waits.length === 0 ? undefined : Math.min(...waits) * 1000,
  };
}

function planned(one: Given): ReturnType<typeof expected> {
  const pod = one.hasPod ? podOf(one) : undefined;
  const seen = { request: requestOf(one), pod, watched: one.isWatched };
  const { actions, requeueAfterMs } = planRecreateRequest(seen, start + one.age * 1000);
  const steps = actions.map((action) => {
    switch (action.type) {
      case "add finalizer":
        return "add finalizer";
      case "delete object":
        return "delete";
      case "set pod conditions": {
        const ready = action.conditions.find(({ type }) => type === "KruisePodReady");
        return `pod ready ${ready?.status === "True"}`;
      }
      case "patch status": {
        const { phase, message, conditions } = Object(action.status);
        if (phase !== undefined) return `complete: ${message}`;
        return conditions?.length === 1 ? "grace begins" : "other status";
      }
      case "patch object": {
        const { finalizers, labels } = Object(Object(action.body).metadata);
        const parts = [
          Array.isArray(finalizers) && finalizers.join() === "kept" ? "finalizer" : "",
          labels === undefined ? "" : "label",
        ];
        return `drop ${parts.join(" ").trim()}`;
      }
      default:
        return action.type;
    }
  });
  return { steps, requeueAfterMs };
}

t.test(
  "property: what is done, in which order, and when it is looked at again are as the rules have it",
  (t) => {
    const met = new Map<string, number>();
    fc.assert(
      fc.property(given, (one) => {
        const want = expected(one);
        t.strictSame(planned(one), want, JSON.stringify(one));
        for (const step of want.steps) met.set(step, (met.get(step) ?? 0) + 1);
      }),
      { numRuns: 4_000, seed: 23 },
    );
    t.equal(met.size, 11, [...met.keys()].join("; "));
    t.end();
  },
);
