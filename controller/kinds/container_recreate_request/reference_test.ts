/** Random requests against a plain reading of the rules, which shares no code with the plan. Spec: containers 1.4, rules 4, 11 to 13. */
import fc from "fast-check";
import t from "tap";
import type { ContainerRecreateRequest } from "../../../crds/index.ts";
import type { Pod } from "../../../kube/index.ts";
import { barePod } from "../../../testkit/controller/pod_builder.ts";
import { planRecreateRequest } from "./plan.ts";

const start = Date.UTC(2026, 0, 1);
const time = (seconds: number) => new Date(start + seconds * 1000).toISOString().replace(".000Z", "Z");
const finalizer = "crr.apps.kruise.io/unready-acquired";
const active = "crr.apps.kruise.io/active";
const ownKey = { userAgent: "ContainerRecreateRequest", key: "default/one" };
const otherKey = { userAgent: "InPlaceUpdate", key: "x" };

const given = fc.record({
  /** "": it has a status without one, as those that v1alpha1 wrote. */
  phase: fc.oneof(
    { weight: 1, arbitrary: fc.constant("Recreating") },
    {
      weight: 1,
      arbitrary: fc.constantFrom(undefined, "", "Pending", "Succeeded", "Failed", "Completed", "Completed"),
    },
  ),
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
  /** The container `main`: whether it is listed, which one it was and is, and what was told of it. */
  listed: fc.boolean(),
  now: fc.constantFrom(
    { id: "a", count: 1 },
    { id: "b", count: 1 },
    { id: "a", count: 2 },
    { id: "", count: 3 },
    undefined,
  ),
  told: fc.constantFrom(undefined, { id: "a", count: 2 }, { id: "b", count: 1 }),
});
type Given = typeof given extends fc.Arbitrary<infer G> ? G : never;

const snapshotOf = ({ id, count }: { readonly id: string; readonly count: number }) => ({
  name: "main",
  ready: true,
  restartCount: count,
  containerID: id,
});

function requestOf(one: Given): ContainerRecreateRequest {
  const { phase, deadline, ttl, grace } = one;
  const condition = {
    type: "PreRecreateGrace",
    status: "True" as const,
    reason: "",
    message: "",
    lastTransitionTime: time(one.graceSince ?? 0),
  };
  const object = {
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
      containers: one.listed
        ? [{ name: "main", statusContext: { containerID: "a", restartCount: 1 } }]
        : [{ name: "other" }],
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
            ...(one.told === undefined ? {} : { containerStatusSnapshot: [snapshotOf(one.told)] }),
          },
        }),
  };
  // No type of ours has the phase of an earlier release.
  return JSON.parse(JSON.stringify(object));
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
    containerStatuses: one.now === undefined ? [] : [{ ...snapshotOf(one.now), image: "app:1", imageID: "" }],
  });
}

type Snapshot = ReturnType<typeof snapshotOf>;

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
  if (!one.phase && one.age >= 60) return ended("daemon has not responded for a long time");
  const hold =
    one.phase === "Recreating" && one.grace !== undefined && one.isGated
      ? [...(one.hasFinalizer ? [] : ["add finalizer"]), ...(isHeld ? [] : ["pod ready false"])]
      : [];
  // Rule 4: the pod is held, then it is told since when.
  const isDraining = one.phase === "Recreating" && one.grace !== undefined && (isHeld || !one.isGated);
  const marks = isDraining && one.graceSince === undefined;
  // Rule 12: the replaced container, told once; nothing takes back what was told.
  const isReplaced =
    one.now !== undefined && (one.now.id === "b" || (one.now.id === "a" && one.now.count > 1));
  const isTold = one.told?.id === one.now?.id && one.told?.count === one.now?.count;
  const tells = one.phase === "Recreating" && one.listed && isReplaced && !isTold;
  const status = [
    ...(marks ? ["grace begins"] : []),
    ...(tells ? [`${one.now?.id} ${one.now?.count} runs`] : []),
  ];
  const waits = [
    ...(one.deadline === undefined ? [] : [one.deadline - one.age]),
    ...(one.phase ? [] : [60 - one.age]),
    ...(one.isWatched ? [] : [3]),
  ];
  return {
    steps: [...hold, ...(status.length === 0 ? [] : [status.join(", ")])],
    requeueAfterMs: waits.length === 0 ? undefined : Math.min(...waits) * 1000,
  };
}

function planned(one: Given): ReturnType<typeof expected> {
  const pod = one.hasPod ? podOf(one) : undefined;
  const seen = { request: requestOf(one), pod, watched: one.isWatched };
  const { effects, requeueAfterMs } = planRecreateRequest(seen, start + one.age * 1000);
  const steps = effects.map((action) => {
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
        const { phase, message, conditions, containerStatusSnapshot = [] } = Object(action.status);
        if (phase !== undefined) return `complete: ${message}`;
        const told = containerStatusSnapshot.map(({ name, containerID, restartCount }: Snapshot) =>
          name === "main" ? `${containerID} ${restartCount} runs` : name,
        );
        return [...(conditions?.length === 1 ? ["grace begins"] : []), ...told].join(", ");
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
      { numRuns: 10_000, seed: 23 },
    );
    t.equal(met.size, 15, [...met.keys()].join("; "));
    t.ok(
      [...met.values()].every((count) => count > 5),
      JSON.stringify([...met]),
    );
    t.end();
  },
);
