import t from "tap";
import type { ContainerRecreateRequest, ContainerRecreateRequestSpec } from "../../crds/index.ts";
import type { RuntimeContainer } from "../container.ts";
import { pickRequest, planRestart, type RestartObserved, restartStatus } from "./plan.ts";

const now = Date.parse("2026-01-01T00:01:00Z");
type Status = ContainerRecreateRequest["status"];

function request(
  names: readonly string[],
  strategy: ContainerRecreateRequestSpec["strategy"] = {},
  status?: Status,
): ContainerRecreateRequest {
  return {
    metadata: { name: "one", namespace: "default", uid: "u1", creationTimestamp: "2026-01-01T00:00:00Z" },
    spec: {
      podName: "web",
      containers: names.map((name) => ({
        name,
        statusContext: { containerID: `containerd://old-${name}`, restartCount: 0 },
      })),
      strategy,
    },
    ...(status ? { status } : {}),
  };
}

function container(name: string, more: Partial<RuntimeContainer> = {}): [string, RuntimeContainer] {
  return [
    name,
    {
      name,
      id: `old-${name}`,
      restartCount: 0,
      hash: "",
      state: "running",
      startedAt: now - 10_000,
      exitCode: 0,
      ...more,
    },
  ];
}
const fresh = (name: string, more: Partial<RuntimeContainer> = {}) =>
  container(name, { id: `new-${name}`, restartCount: 1, ...more });
const ready = (name: string) => ({
  name,
  containerID: `containerd://new-${name}`,
  ready: true,
  restartCount: 1,
});

function seen(more: Partial<RestartObserved>): RestartObserved {
  return {
    request: request(["app"]),
    containers: new Map([container("app")]),
    podStatuses: [],
    restartPolicy: "Always",
    runtimeName: "containerd",
    stoppedHere: new Map(),
    ...more,
  };
}
const phases = (plan: ReturnType<typeof planRestart>) => plan.states.map((state) => state.phase);

t.test("a running container is stopped, one in a pass, in the order of the list", async (t) => {
  const containers = new Map([container("app"), container("sidecar")]);
  const plan = planRestart(seen({ request: request(["sidecar", "app"]), containers }), now);
  t.equal(plan.kill, "sidecar");
  t.same(phases(plan), ["Pending", "Pending"]);
});

t.test("said to be stopped and running on: the agent died in between, and stops it now", async (t) => {
  const status: Status = {
    phase: "Recreating",
    containerRecreateStates: [{ name: "app", phase: "Recreating", isKilled: true }],
  };
  t.equal(planRestart(seen({ request: request(["app"], {}, status) }), now).kill, "app");
  const stoppedHere = new Map([["app", "old-app"]]);
  t.equal(planRestart(seen({ request: request(["app"], {}, status), stoppedHere }), now).kill, "app");
  const again = new Map([fresh("app")]);
  t.equal(
    planRestart(seen({ request: request(["app"], {}, status), containers: again }), now).kill,
    undefined,
  );
});

t.test(
  "the container that was asked for runs on, though another one was stopped that there never was",
  async (t) => {
    const killed: Status = {
      phase: "Recreating",
      containerRecreateStates: [{ name: "app", phase: "Recreating", isKilled: true }],
    };
    const shown = { ...ready("app"), containerID: "containerd://old-app" };
    const plan = planRestart(
      seen({
        request: request(["app"], { forceRecreate: true }, killed),
        podStatuses: [shown],
        stoppedHere: new Map([["app", "out of my mind"]]),
      }),
      now,
    );
    t.equal(plan.kill, "app");
    t.same(phases(plan), ["Pending"]);
  },
);

t.test("unordered goes on to the next; ordered waits for the one before", async (t) => {
  const status: Status = {
    phase: "Recreating",
    containerRecreateStates: [{ name: "app", phase: "Recreating", isKilled: true }],
  };
  const containers = new Map([container("app", { state: "exited" }), container("sidecar")]);
  const unordered = planRestart(seen({ request: request(["app", "sidecar"], {}, status), containers }), now);
  t.equal(unordered.kill, "sidecar");
  const ordered = planRestart(
    seen({ request: request(["app", "sidecar"], { orderedRecreate: true }, status), containers }),
    now,
  );
  t.equal(ordered.kill, undefined);
  t.match(ordered.waiting, "app is Recreating");
});

t.test("a new, ready container is Succeeded when it ran long enough", async (t) => {
  const containers = new Map([fresh("app", { startedAt: now - 4000 })]);
  const waits = planRestart(
    seen({ request: request(["app"], { minStartedSeconds: 5 }), containers, podStatuses: [ready("app")] }),
    now,
  );
  t.same(phases(waits), ["Recreating"]);
  t.equal(waits.requeueAfterMs, 1001);
  const done = planRestart(seen({ containers, podStatuses: [ready("app")] }), now);
  t.same(phases(done), ["Succeeded"]);
  t.same(done.completed, { message: "" });
  t.same(restartStatus(done, now), {
    phase: "Completed",
    completionTime: "2026-01-01T00:01:00Z",
    containerRecreateStates: [{ name: "app", phase: "Succeeded" }],
    containerStatusSnapshot: [
      { name: "app", ready: true, restartCount: 1, containerID: "containerd://new-app" },
    ],
  });
  const notReady = planRestart(seen({ containers }), now);
  t.same(phases(notReady), ["Recreating"]);
});

t.test("the end brings the snapshot along, where the controller was not as quick", async (t) => {
  const app = ready("app");
  const other = { ...app, name: "other" };
  const ended = (
    containerStatusSnapshot: NonNullable<NonNullable<Status>["containerStatusSnapshot"]>,
    seenOfApp = app,
  ) =>
    restartStatus(
      planRestart(
        seen({
          request: request(["app"], {}, { phase: "Recreating", containerStatusSnapshot }),
          containers: new Map([fresh("app")]),
          podStatuses: [seenOfApp, ready("bystander")],
        }),
        now,
      ),
      now,
    ).containerStatusSnapshot;
  t.same(ended([]), [app]);
  t.same(ended([other, { ...app, containerID: "containerd://old" }]), [other, app]);
  t.equal(ended([app]), undefined, "shown already");
  t.same(ended([{ ...app, ready: false }]), [app], "the controller had seen it before it was ready");
  t.equal(ended([app], { ...app, ready: false }), undefined, "the agent sees it later than the controller");
  const former = { ...app, containerID: "containerd://old-app", restartCount: 0 };
  t.equal(ended([app], former), undefined, "the agent still sees the former one");
});

t.test("readiness may come from the controller's snapshot", async (t) => {
  const status: Status = { phase: "Recreating", containerStatusSnapshot: [ready("app")] };
  t.ok(
    planRestart(seen({ request: request(["app"], {}, status), containers: new Map([fresh("app")]) }), now)
      .completed,
  );
});

t.test("what restarted by itself is not stopped, except by force, and by force only once", async (t) => {
  const containers = new Map([fresh("app")]);
  t.equal(planRestart(seen({ containers }), now).kill, undefined);
  const forced = request(["app"], { forceRecreate: true });
  t.equal(planRestart(seen({ request: forced, containers }), now).kill, "app");
  const killed = {
    stoppedHere: new Map([["app", "new-app"]]),
    containers: new Map([fresh("app", { id: "newer", restartCount: 2 })]),
  };
  t.equal(planRestart(seen({ request: forced, ...killed }), now).kill, undefined);
  const runsOn = planRestart(
    seen({
      request: forced,
      stoppedHere: new Map([["app", "new-app"]]),
      containers,
      podStatuses: [ready("app")],
    }),
    now,
  );
  t.equal(runsOn.kill, "app", "the runtime went away during its stop");
  t.equal(
    planRestart(seen({ request: forced, ...killed, containers }), now).kill,
    "app",
    "the agent died before the stop that it had saved",
  );
});

t.test("a stopped one that does not run again may be started by the agent", async (t) => {
  const stoppedHere = new Map([["app", "old-app"]]);
  const plan = planRestart(
    seen({ stoppedHere, containers: new Map([container("app", { state: "exited" })]) }),
    now,
  );
  t.same(plan.start, ["app"]);
  t.same(
    planRestart(seen({ containers: new Map([container("app", { state: "exited" })]) }), now).start,
    [],
    "not stopped here",
  );
});

t.test("the pod is held not ready before the first stop", async (t) => {
  const strategy = { unreadyGracePeriodSeconds: 70 };
  const waiting = planRestart(seen({ request: request(["app"], strategy) }), now);
  t.equal(waiting.kill, undefined);
  t.equal(waiting.requeueAfterMs, undefined);
  const condition = {
    type: "PreRecreateGrace",
    status: "True" as const,
    reason: "PreRecreateGrace",
    message: "",
    lastTransitionTime: "2026-01-01T00:00:00Z",
  };
  const held: Status = { phase: "Recreating", conditions: [condition] };
  t.equal(planRestart(seen({ request: request(["app"], strategy, held) }), now).requeueAfterMs, 10_000);
  t.equal(planRestart(seen({ request: request(["app"], strategy, held) }), now + 10_000).kill, "app");
  const shown = Date.parse(condition.lastTransitionTime);
  for (const [heldSince, since] of [
    [shown - 5_000, shown - 5_000],
    [shown + 400, shown + 400],
    [shown + 60_000, shown + 999],
  ] as const) {
    const at = { ...seen({ request: request(["app"], strategy, held) }), heldSince };
    t.equal(planRestart(at, since).requeueAfterMs, 70_000, "seconds of conditions are cut off");
    t.equal(planRestart(at, since + 69_999).kill, undefined);
    t.equal(planRestart(at, since + 70_000).kill, "app");
  }
});

t.test("failures: Fail ends the request, Ignore goes on", async (t) => {
  const status: Status = {
    phase: "Recreating",
    containerRecreateStates: [{ name: "app", phase: "Failed", message: "x" }],
  };
  const containers = new Map([container("app"), container("sidecar")]);
  const failed = planRestart(seen({ request: request(["app", "sidecar"], {}, status), containers }), now);
  t.ok(failed.completed);
  t.same(phases(failed), ["Failed", "Pending"]);
  const ignored = request(["app", "sidecar"], { failurePolicy: "Ignore" }, status);
  t.equal(planRestart(seen({ request: ignored, containers }), now).kill, "sidecar");
});

t.test("odd requests end with a message", async (t) => {
  t.match(
    planRestart(seen({ runtimeName: "cri-o" }), now).completed?.message,
    "not found runtime service for containerd",
  );
  const without = request(["app"]);
  const bare = { ...without, spec: { ...without.spec, containers: [{ name: "app" }] } };
  t.match(planRestart(seen({ request: bare }), now).completed?.message, "empty containerID in app container");
  const unknown = planRestart(seen({ request: request(["nope"]) }), now);
  t.same(unknown.states, [{ name: "nope", phase: "Pending", message: "not found container on Node" }]);
  t.equal(unknown.kill, undefined);
});

t.test(
  "with restartPolicy Never the stopped container is reported, and nothing waits for ever",
  async (t) => {
    const stoppedHere = new Map([["app", "old-app"]]);
    const containers = new Map([container("app", { state: "exited" })]);
    const plan = planRestart(seen({ stoppedHere, containers, restartPolicy: "Never" }), now);
    t.match(plan.states[0], { phase: "Failed", message: /restartPolicy is Never/ });
    t.ok(plan.completed);
  },
);

t.test("of several requests: one under way, then one that waited, then the oldest", async (t) => {
  const named = (name: string, created: string, phase?: "Pending" | "Recreating" | "Completed") => ({
    ...request(["app"], {}, phase ? { phase } : undefined),
    metadata: { name, creationTimestamp: created },
  });
  const a = named("a", "2026-01-01T00:00:03Z");
  const b = named("b", "2026-01-01T00:00:02Z");
  const c = named("c", "2026-01-01T00:00:04Z", "Pending");
  const d = named("d", "2026-01-01T00:00:05Z", "Recreating");
  t.equal(pickRequest([a, b])?.metadata.name, "b");
  t.equal(pickRequest([a, b, c])?.metadata.name, "c");
  t.equal(pickRequest([a, b, c, d])?.metadata.name, "d");
  t.equal(pickRequest([named("e", "x", "Completed")]), undefined);
});
