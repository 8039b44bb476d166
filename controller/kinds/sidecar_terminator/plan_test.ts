import fc from "fast-check";
import t from "tap";
import { type ObservedPod, observedPod } from "../../native/observed_pod.ts";
import { hasSidecarsToEnd, planTermination } from "./plan.ts";

const end = { KRUISE_TERMINATE_SIDECAR_WHEN_JOB_EXIT: "True" };
const ignore = { ...end, KRUISE_TERMINATE_SIDECAR_IGNORE_EXIT_CODE: "true" };
const image = { KRUISE_TERMINATE_SIDECAR_WHEN_JOB_EXIT_WITH_IMAGE: "exits:1" };

/** How a container fares: an exit code, running, or no status at all. */
type State = number | "running" | "unknown";

function pod(
  containers: Record<string, [env: Record<string, string>, state: State]>,
  more: { restartPolicy?: string; phase?: string; deletionTimestamp?: string; conditions?: object[] } = {},
): ObservedPod {
  const { restartPolicy = "Never", phase = "Running", conditions = [], deletionTimestamp } = more;
  const statuses = Object.entries(containers).flatMap(([name, [, state]]) => {
    if (state === "unknown") return [];
    return [{ name, state: state === "running" ? { running: {} } : { terminated: { exitCode: state } } }];
  });
  return observedPod({
    metadata: { name: "p", namespace: "ns", uid: "u1", ...(deletionTimestamp ? { deletionTimestamp } : {}) },
    spec: {
      restartPolicy,
      nodeName: "n",
      containers: Object.entries(containers).map(([name, [env]]) => ({
        name,
        image: "i:1",
        env: Object.entries(env).map(([key, value]) => ({ name: key, value })),
      })),
    },
    status: { phase, conditions, containerStatuses: statuses },
  });
}

const now = Date.parse("2026-01-01T00:00:10Z");
const real = { virtual: false, now };
const nothing = { by: "nothing" };
const asked = (...containers: string[]) => ({ by: "request", name: "sidecar-termination-u1", containers });

t.test("the job's own containers decide", async (t) => {
  t.same(planTermination(pod({ main: [{}, 0], side: [end, "running"] }), real), asked("side"));
  t.same(
    planTermination(pod({ main: [{}, 1], side: [end, "running"] }), real),
    asked("side"),
    "failed and over, too",
  );
  t.same(planTermination(pod({ main: [{}, "running"], side: [end, "running"] }), real), nothing);
  t.same(planTermination(pod({ main: [{}, "unknown"], side: [end, "running"] }), real), nothing);
  const onFailure = { restartPolicy: "OnFailure" };
  t.same(
    planTermination(pod({ main: [{}, 1], side: [end, "running"] }, onFailure), real),
    nothing,
    "it is started again",
  );
  t.same(planTermination(pod({ main: [{}, 0], side: [end, "running"] }, onFailure), real), asked("side"));
  t.same(
    planTermination(pod({ main: [{}, 0], one: [end, 0], two: [end, "running"] }), real),
    asked("two"),
    "those that are over are not named",
  );
});

t.test("which containers are sidecars", async (t) => {
  const ends = (env: Record<string, string>) =>
    planTermination(pod({ main: [{}, 0], side: [env, "running"] }), real);
  const name = "KRUISE_TERMINATE_SIDECAR_WHEN_JOB_EXIT";
  for (const value of ["true", "True", "TRUE"]) t.same(ends({ [name]: value }), asked("side"), value);
  for (const value of ["false", "", "1", " true"]) t.same(ends({ [name]: value }), nothing, value);
  t.same(ends({ KRUISE_TERMINATE_SIDECAR_IGNORE_EXIT_CODE: "true" }), nothing, "says nothing by itself");
  t.same(ends({ ...end, ...image }), asked("side"), "on a node with an agent the image is not needed");
  const fromElsewhere = observedPod({
    spec: { containers: [{ name: "side", env: [{ name, valueFrom: { fieldRef: {} } }] }] },
  });
  t.notOk(hasSidecarsToEnd(fromElsewhere), "only a literal value counts");
  const native = observedPod({
    spec: {
      restartPolicy: "Never",
      initContainers: [{ name: "side", restartPolicy: "Always", env: [{ name, value: "true" }] }],
      containers: [{ name: "main" }],
    },
  });
  t.notOk(hasSidecarsToEnd(native), "init containers are the kubelet's");
});

t.test("nothing is done for", async (t) => {
  const ready = {
    main: [{}, 0] as [object, State],
    side: [end, "running"] as [Record<string, string>, State],
  };
  const of = (more: Parameters<typeof pod>[1]) =>
    planTermination(pod({ main: [{}, 0], side: ready.side }, more), real);
  t.same(of({ restartPolicy: "Always" }), nothing);
  t.same(of({ phase: "Pending" }), nothing);
  t.same(of({ deletionTimestamp: "2026-01-01T00:00:00Z" }), nothing);
  t.same(of({ phase: "Failed" }), nothing, "a pod that ended by other means");
  t.same(planTermination(pod({ main: [{}, 0], side: [end, 0] }), real), nothing);
  t.same(planTermination(pod({ main: [{}, 0], side: [{}, "running"] }), real), nothing, "no sidecar");
  t.same(planTermination(pod({ side: [end, "running"] }), real), nothing, "nothing but sidecars");
  t.same(
    planTermination(pod({ main: [{}, 0], side: [image, "running"] }), real),
    nothing,
    "an image helps on virtual nodes only",
  );
});

t.test("sidecars whose code is ignored end last, after the pod has its result", async (t) => {
  const both = (normal: State, more = {}) =>
    pod({ main: [{}, 0], normal: [end, normal], late: [ignore, "running"] }, more);
  t.same(planTermination(both("running"), real), asked("normal"));
  const name = "sidecar-termination-u1-ignored";
  const succeeded = { by: "result", name, phase: "Succeeded" };
  t.same(planTermination(both(137), real), succeeded);
  const condition = { type: "SidecarTerminated", status: "True", lastTransitionTime: "2026-01-01T00:00:08Z" };
  const reported = { phase: "Succeeded", conditions: [condition] };
  t.same(
    planTermination(both(137, reported), real),
    { by: "nothing", requeueAfterMs: 8_000 },
    "the kubelet has to know of it first",
  );
  t.same(
    planTermination(both(137, reported), { ...real, now: now - 3_600_000 }),
    succeeded,
    "told by a clock that was ahead",
  );
  const request = { by: "request", name, containers: ["late"] };
  t.same(planTermination(both(137, reported), { ...real, now: now + 8_000 }), request, "but not for ever");
  for (const reason of ["PodCompleted", "PodFailed"]) {
    const taken = {
      ...reported,
      conditions: [condition, { type: "ContainersReady", status: "False", reason }],
    };
    t.same(planTermination(both(137, taken), real), request, reason);
  }
  t.same(
    planTermination(both(137, { ...reported, phase: "Running" }), real),
    succeeded,
    "reported again where a late status took it back",
  );
  t.same(planTermination(pod({ main: [{}, 3], late: [ignore, "running"] }), real), {
    by: "result",
    name: "sidecar-termination-u1",
    phase: "Failed",
  });
});

t.test("on virtual nodes images are replaced", async (t) => {
  const virtual = { virtual: true, now };
  const found = planTermination(pod({ main: [{}, 0], a: [image, "running"], b: [end, "running"] }), virtual);
  t.equal(found.by, "images");
  t.same(found.by === "images" && [...found.images], [["a", "exits:1"]]);
  const replaced = { KRUISE_TERMINATE_SIDECAR_WHEN_JOB_EXIT_WITH_IMAGE: "i:1" };
  t.same(planTermination(pod({ main: [{}, 0], a: [replaced, "running"] }), virtual), nothing, "done already");
  const two = planTermination(pod({ main: [{}, 0], a: [image, 0], b: [image, "running"] }), virtual);
  t.same(two.by === "images" && [...two.images.keys()], ["b"], "one that is over is left alone");
  t.same(
    planTermination(pod({ main: [{}, 0], a: [end, "running"] }), virtual),
    nothing,
    "no agent is there to stop a container",
  );
  t.same(
    planTermination(pod({ main: [{}, 1], a: [image, "running"] }, { restartPolicy: "OnFailure" }), virtual),
    nothing,
    "the job goes on",
  );
});

const states = fc.constantFrom<State>(0, 1, "running", "unknown");
const containers = fc.dictionary(
  fc.constantFrom("a", "b", "c", "d"),
  fc.tuple(fc.constantFrom<Record<string, string>>({}, end, ignore, image), states),
);

t.test(
  "whatever a pod is like, only running sidecars are ended, and only once all others are over",
  async (t) => {
    fc.assert(
      fc.property(containers, fc.constantFrom("Never", "OnFailure", "Always"), (all, restartPolicy) => {
        const seen = pod(all, { restartPolicy });
        const plan = planTermination(seen, real);
        if (plan.by !== "request") return;
        if (!hasSidecarsToEnd(seen)) throw new Error("the watch would have let it go");
        for (const name of plan.containers) {
          const [env, state] = all[name] ?? [{}, 0];
          if (env !== end && env !== ignore) throw new Error(`${name} is no sidecar that a request ends`);
          if (typeof state === "number") throw new Error(`${name} is over`);
        }
        for (const [env, state] of Object.values(all)) {
          if (Object.keys(env).length > 0) continue;
          if (typeof state !== "number" || (restartPolicy === "OnFailure" && state !== 0))
            throw new Error("a main goes on");
        }
      }),
      { seed: 191, numRuns: 1000 },
    );
    t.pass("held for 1000 random pods");
  },
);
