import t from "tap";
import { nullLog, nullMetrics } from "../../kube/index.ts";
import { type AgentPod, agentPod, type ProbeOutcome } from "../../node/index.ts";
import { runningContainer } from "../../testkit/agent/context_fixture.ts";
import { testClock } from "../../testkit/kube/fake_clock.ts";
import type { CriContainer } from "../containers/observe.ts";
import type { CriClient } from "../cri/client.ts";
import { AgentError } from "../errors.ts";
import { Watchdog } from "./watchdog.ts";

const client: CriClient = {
  socket: "",
  call: async () => {
    throw new Error("no runtime in this test");
  },
  close: () => undefined,
};

function pod(context: unknown, more: { container?: object; started?: string } = {}): AgentPod {
  const { container = {}, started } = more;
  return agentPod({
    metadata: {
      name: "web",
      namespace: "ns",
      uid: "u1",
      resourceVersion: "1",
      annotations: {
        "apps.kruise.io/using-enhanced-liveness": "true",
        "apps.kruise.io/container-probe-context": JSON.stringify(context),
      },
      ownerReferences: [
        { apiVersion: "apps.kruise.io/v1beta1", kind: "CloneSet", name: "x", uid: "o", controller: true },
      ],
    },
    spec: { containers: [{ name: "main", ...container }, { name: "side" }] },
    status: {
      phase: "Running",
      podIP: "10.0.0.1",
      containerStatuses: [
        { name: "main", started: started !== undefined, containerID: `containerd://${started ?? "c1"}` },
      ],
    },
  });
}

const exec = (more: object = {}) => ({
  exec: { command: ["check"] },
  periodSeconds: 5,
  failureThreshold: 2,
  ...more,
});

const seen: CriContainer = runningContainer;

function bench() {
  const clock = testClock();
  const b = {
    clock,
    container: seen as CriContainer | undefined,
    outcome: { state: "Failed", message: "bad" } as ProbeOutcome | undefined,
    runs: 0,
    events: [] as string[],
    restarted: [] as string[],
    graces: [] as number[],
    refuse: false,
  };
  const watchdog = new Watchdog({
    clock,
    log: nullLog,
    metrics: nullMetrics,
    recorder: {
      event: (target, _, reason, message) => b.events.push(`${target.fieldPath} ${reason} ${message}`),
    },
    probes: {
      find: async () => b.container && { client, container: b.container },
      run: async () => {
        b.runs++;
        return b.outcome;
      },
    },
    restarter: {
      restart: async ({ container: { id } }, { graceSeconds }) => {
        b.graces.push(graceSeconds);
        if (b.refuse) throw new AgentError("Runtime", "the runtime refuses");
        b.restarted.push(id);
        if (b.container) b.container = { ...b.container, id: "c2", startedAt: clock.now() };
      },
    },
  });
  return { b, watchdog };
}

t.test("failures in a row restart the container; a new one starts with none", async (t) => {
  const { b, watchdog } = bench();
  watchdog.update(pod([{ name: "main", livenessProbe: exec({ initialDelaySeconds: 7 }) }]));
  await b.clock.advance(1);
  t.same(b.events, ["spec.containers{main} Unhealthy Liveness probe failed: bad"]);
  t.same(b.restarted, []);
  await b.clock.advance(5_000);
  t.same(b.restarted, ["c1"]);
  await b.clock.advance(5_000);
  t.equal(b.runs, 2, "the new one has its delay");
  await b.clock.advance(10_000);
  t.same(b.restarted, ["c1", "c2"]);
  await watchdog.stop();
});

t.test(
  "a container that is starting is not restarted: its startup probe decides until it has succeeded",
  async (t) => {
    const { b, watchdog } = bench();
    const context = [{ name: "main", livenessProbe: exec() }];
    const container = { startupProbe: { exec: { command: ["up"] } } };
    watchdog.update(pod(context, { container }));
    await b.clock.advance(60_000);
    t.equal(b.runs, 0);
    watchdog.update(pod(context, { container, started: "c0" }));
    await b.clock.advance(10_000);
    t.equal(b.runs, 0, "that was the container before");
    watchdog.update(pod(context, { container, started: "c1" }));
    await b.clock.advance(11_000);
    t.same(b.restarted, ["c1"]);
    await b.clock.advance(60_000);
    t.same(b.restarted, ["c1"], "the new one starts again");
    await watchdog.stop();
  },
);

t.test("a container has the time to end that its probe gives it, else that of its pod", async (t) => {
  const { b, watchdog } = bench();
  const asks = (more: object) =>
    pod([{ name: "main", livenessProbe: exec({ failureThreshold: 1, ...more }) }]);
  watchdog.update(asks({}));
  await b.clock.advance(1);
  watchdog.update(asks({ terminationGracePeriodSeconds: 3 }));
  await b.clock.advance(1);
  t.same(b.graces, [30, 3]);
  await watchdog.stop();
});

t.test("a success in between, a run that says nothing, a container that does not run", async (t) => {
  const { b, watchdog } = bench();
  watchdog.update(pod([{ name: "main", livenessProbe: exec() }]));
  await b.clock.advance(1);
  b.outcome = { state: "Succeeded", message: "" };
  await b.clock.advance(5_000);
  b.outcome = { state: "Failed", message: "bad" };
  await b.clock.advance(5_000);
  t.same(b.restarted, [], "one failure after a success");
  b.outcome = undefined;
  await b.clock.advance(20_000);
  t.same(b.restarted, []);
  b.container = undefined;
  b.outcome = { state: "Failed", message: "bad" };
  const { runs } = b;
  await b.clock.advance(20_000);
  t.equal(b.runs, runs, "nothing runs that could be probed");
  await watchdog.stop();
});

t.test(
  "a restart that fails is tried again; a pod that changes or goes is probed as it is then",
  async (t) => {
    const { b, watchdog } = bench();
    b.refuse = true;
    const probed = pod([{ name: "main", livenessProbe: exec() }]);
    watchdog.update(probed);
    await b.clock.advance(6_000);
    t.same(b.restarted, []);
    b.refuse = false;
    await b.clock.advance(5_000);
    t.same(b.restarted, ["c1"]);
    watchdog.update(probed);
    watchdog.update(pod([{ name: "main", livenessProbe: exec({ periodSeconds: 1 }) }]));
    const { runs } = b;
    await b.clock.advance(3_000);
    t.ok(b.runs >= runs + 3, "the new period counts");
    watchdog.remove(probed);
    const after = b.runs;
    await b.clock.advance(20_000);
    t.equal(b.runs, after);
    await watchdog.stop();
  },
);

t.test("a restart that waits for its turn is dropped when its probe is no longer wanted", async (t) => {
  const clock = testClock();
  const restarted: string[] = [];
  const watchdog = new Watchdog({
    clock,
    log: nullLog,
    metrics: nullMetrics,
    recorder: { event: () => undefined },
    probes: {
      find: async (_, name) => ({ client, container: { ...seen, name, id: name } }),
      run: async () => ({ state: "Failed", message: "bad" }),
    },
    restarter: {
      restart: async ({ container: { id } }) => {
        restarted.push(id);
        await clock.sleep(1_000);
      },
    },
  });
  const at = (name: string) => ({ name, livenessProbe: exec({ failureThreshold: 1 }) });
  watchdog.update(pod([at("main"), at("side")]));
  await clock.advance(1);
  t.same(restarted, ["main"], "one after another");
  watchdog.update(pod([at("main")]));
  await clock.advance(1_500);
  t.same(restarted, ["main"]);
  await watchdog.stop();
});

t.test("an error that nothing expected ends its probe alone, and is counted", async (t) => {
  const clock = testClock();
  const counted: string[] = [];
  const watchdog = new Watchdog({
    clock,
    log: nullLog,
    metrics: { unexpectedError: (where) => counted.push(where) },
    recorder: { event: () => undefined },
    probes: {
      find: async () => {
        throw new TypeError("a bug");
      },
      run: async () => undefined,
    },
    restarter: { restart: async () => undefined },
  });
  watchdog.update(pod([{ name: "main", livenessProbe: exec({ failureThreshold: 1 }) }]));
  await clock.advance(1);
  t.same(counted, ["probe"]);
  await watchdog.stop();
});
