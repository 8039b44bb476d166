import { createServer, type RequestListener } from "node:http";
import t, { type Test } from "tap";
import type { NodePodProbe, NodePodProbeStatus } from "../../crds/index.ts";
import { nullLog, nullMetrics, systemClock } from "../../kube/index.ts";
import type { Probe, ProbeOutcome } from "../../node/index.ts";
import { runningContainer } from "../../testkit/agent/context_fixture.ts";
import { type TestClock, testClock } from "../../testkit/kube/fake_clock.ts";
import type { CriContainer } from "../containers/observe.ts";
import type { CriClient } from "../cri/client.ts";
import { StatusWriter } from "../status_writer.ts";
import { ExecProbes } from "./exec_probes.ts";
import { Prober } from "./prober.ts";
import { runProbe } from "./run.ts";

const unusedClient: CriClient = {
  socket: "",
  call: async () => {
    throw new Error("no runtime in this test");
  },
  close: () => undefined,
};

const seen: CriContainer = runningContainer;

interface Bench {
  readonly clock: TestClock;
  readonly events: string[];
  readonly writes: NodePodProbeStatus[];
  runs: number;
  outcome: ProbeOutcome | undefined;
  container: CriContainer | undefined;
  set(probes: readonly { name: string; probe: Probe }[], status?: NodePodProbeStatus): void;
  states(): (string | undefined)[];
}

function bench(): Bench {
  const clock = testClock();
  const status = new StatusWriter<NodePodProbeStatus>({
    clock,
    log: nullLog,
    perSecond: 1000,
    burst: 1000,
    write: async (next) => {
      b.writes.push(next);
      return next;
    },
  });
  const prober = new Prober({
    clock,
    log: nullLog,
    metrics: nullMetrics,
    agentMetrics: { probed: () => undefined },
    random: () => 0,
    pods: { byUid: () => undefined },
    probes: {
      find: async () => b.container && { client: unusedClient, container: b.container },
      run: async () => {
        b.runs++;
        return b.outcome;
      },
    },
    recorder: { event: (_, type, reason, message) => b.events.push(`${type} ${reason} ${message}`) },
    status,
  });
  const b: Bench = {
    clock,
    events: [],
    writes: [],
    runs: 0,
    outcome: { state: "Succeeded", message: "fine" },
    container: seen,
    set(probes, before) {
      const object: NodePodProbe = {
        metadata: { name: "node-1" },
        spec: {
          podProbes: [
            {
              name: "web",
              namespace: "default",
              uid: "u1",
              IP: "10.0.0.1",
              probes: probes.map((one) => ({ ...one, containerName: "main" })),
            },
          ],
        },
        ...(before ? { status: before } : {}),
      };
      prober.update(object);
    },
    states: () =>
      (b.writes.at(-1)?.podProbeStatuses?.[0]?.probeStates ?? []).map(
        (one) => `${one.name} ${one.state} ${one.message ?? ""}`,
      ),
  };
  return b;
}

const exec = (...command: string[]): Probe => ({ exec: { command }, periodSeconds: 10 });

t.test("each probe has its result, two on one container too", async (t) => {
  const b = bench();
  b.set([
    { name: "ppm#a", probe: exec("a") },
    { name: "ppm#b", probe: exec("b") },
  ]);
  await b.clock.advance(1);
  t.same(b.states(), ["ppm#a Succeeded fine", "ppm#b Succeeded fine"]);
  t.same(b.events, ["Normal KruiseProbeSucceeded fine", "Normal KruiseProbeSucceeded fine"]);
  await b.clock.advance(30_000);
  t.equal(b.runs, 8);
  t.equal(b.events.length, 2, "one event for a change, not for a run");
});

t.test("thresholds, and a container that does not run", async (t) => {
  const b = bench();
  b.set([{ name: "p#a", probe: { ...exec("a"), failureThreshold: 3 } }]);
  await b.clock.advance(1);
  b.container = { ...seen, state: "exited" };
  await b.clock.advance(20_000);
  t.same(b.states(), ["p#a Succeeded fine"]);
  await b.clock.advance(10_000);
  t.same(b.states(), ["p#a Failed Container(main) is Non-running"]);
  b.container = undefined;
  const runs = b.runs;
  await b.clock.advance(50_000);
  t.equal(b.runs, runs, "an absent container is not probed");
});

t.test("initial delay, changed handlers, removed probes", async (t) => {
  const b = bench();
  b.container = { ...seen, startedAt: b.clock.now() };
  b.set([{ name: "p#a", probe: { ...exec("a"), initialDelaySeconds: 15 } }]);
  await b.clock.advance(10_000);
  t.equal(b.runs, 0);
  await b.clock.advance(10_000);
  t.equal(b.runs, 1);
  b.outcome = { state: "Failed", message: "bad" };
  b.set([{ name: "p#a", probe: exec("other") }]);
  await b.clock.advance(1);
  t.same(b.states(), ["p#a Failed bad"]);
  b.set([]);
  const runs = b.runs;
  await b.clock.advance(60_000);
  t.equal(b.runs, runs);
  t.same(b.writes.at(-1)?.podProbeStatuses, []);
});

t.test(
  "a changed handler resets the result to Unknown, unless its first run decides (containers 4.4, rule 5)",
  async (t) => {
    const b = bench();
    b.set([{ name: "p#a", probe: { ...exec("old"), failureThreshold: 3 } }]);
    await b.clock.advance(1);
    t.same(b.states(), ["p#a Succeeded fine"]);
    b.outcome = { state: "Failed", message: "bad" };
    b.set([{ name: "p#a", probe: { ...exec("new"), failureThreshold: 3 } }]);
    await b.clock.advance(1);
    t.same(b.states(), ["p#a Unknown "], "what the old one said is not shown for the new one");
    await b.clock.advance(20_000);
    t.same(b.states(), ["p#a Failed bad"]);
    b.outcome = { state: "Succeeded", message: "fine" };
    const count = b.writes.length;
    b.set([{ name: "p#a", probe: exec("newer") }]);
    await b.clock.advance(5_000);
    t.same(b.states(), ["p#a Succeeded fine"]);
    t.notMatch(JSON.stringify(b.writes.slice(count)), "Unknown", "without Unknown in between");
  },
);

t.test(
  "a run that says nothing changes nothing; a restarted agent keeps the server's results and times",
  async (t) => {
    const b = bench();
    b.outcome = undefined;
    const kept = {
      name: "p#a",
      state: "Succeeded",
      message: "fine",
      lastTransitionTime: "2025-01-01T00:00:00Z",
    };
    const before = {
      podProbeStatuses: [{ name: "web", namespace: "default", uid: "u1", probeStates: [kept] }],
    };
    b.set([{ name: "p#a", probe: exec("a") }], before);
    await b.clock.advance(20_000);
    t.same(b.writes, []);
    b.outcome = { state: "Succeeded", message: "fine" };
    await b.clock.advance(10_000);
    t.equal(
      b.writes.at(-1)?.podProbeStatuses?.[0]?.probeStates?.[0]?.lastTransitionTime,
      "2025-01-01T00:00:00Z",
    );
  },
);

/** A server that ends with the test, and what probes of it need. */
async function serverOf(t: Test, answer: RequestListener) {
  const server = createServer(answer);
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  t.teardown(() => {
    server.closeAllConnections();
    server.close();
  });
  const address = server.address();
  const port = typeof address === "object" && address ? address.port : 0;
  const place = {
    client: unusedClient,
    containerId: "c",
    podIP: "127.0.0.1",
    execs: new ExecProbes(systemClock, nullLog),
  };
  const { signal } = new AbortController();
  const get = (path: string, timeoutSeconds = 60) =>
    runProbe({ httpGet: { path, port, scheme: "HTTP" }, timeoutSeconds }, place, signal);
  return { port, place, signal, get };
}

t.test("redirects are followed on the same host, as the kubelet follows them", async (t) => {
  const places: Readonly<Record<string, string>> = {
    "/to-bad": "/bad",
    "/to-ok": "ok?x=1",
    "/to-elsewhere": "http://other.example/bad",
    "/to-itself": "/to-itself",
    "/to-nothing": "ftp://127.0.0.1/",
  };
  const { get } = await serverOf(t, ({ url = "" }, response) => {
    const location = places[url];
    if (location !== undefined) response.writeHead(302, { location }).end("a redirect");
    else response.writeHead(url.startsWith("/ok") ? 200 : 503).end(`at ${url}`);
  });
  t.same(await get("/to-bad"), { state: "Failed", message: "HTTP probe failed with statuscode: 503" });
  t.same(await get("/to-ok"), { state: "Succeeded", message: "at /ok?x=1" });
  t.same(await get("/to-elsewhere"), { state: "Succeeded", message: "a redirect" });
  t.same(await get("/to-nothing"), { state: "Succeeded", message: "a redirect" });
  t.same(await get("/to-itself"), { state: "Failed", message: "stopped after 10 redirects" });
});

t.test("a path is asked for as it is written, but for what a request cannot hold", async (t) => {
  const { get } = await serverOf(t, ({ url }, response) => response.end(url));
  t.match(await get("/are you well?ä=1"), { message: "/are%20you%20well?%C3%A4=1" });
  t.match(await get("/a/../b%2F//c?d#e"), { message: "/a/../b%2F//c?d" });
});

t.test("the time limit is that of the whole answer", async (t) => {
  const { get } = await serverOf(t, (_, response) => {
    const timer = setInterval(() => response.write("."), 20);
    response.on("close", () => clearInterval(timer));
  });
  t.same(await get("/", 1), { state: "Failed", message: "request timed out" });
});

t.test("httpGet and tcpSocket against a server of this test", async (t) => {
  const { port, place, signal, get } = await serverOf(t, (request, response) => {
    response.statusCode = request.url === "/ok" ? 200 : 503;
    response.end(request.headers["user-agent"]);
  });
  t.match(await get("/ok"), { state: "Succeeded", message: /^kube-probe/ });
  t.same(await get("/bad"), { state: "Failed", message: "HTTP probe failed with statuscode: 503" });
  t.match(await runProbe({ tcpSocket: { port } }, place, signal), { state: "Succeeded" });
  t.match(await runProbe({ tcpSocket: { port: 1 } }, place, signal), { state: "Failed" });
  t.equal(
    await runProbe({ tcpSocket: { port } }, { ...place, podIP: "" }, signal),
    undefined,
    "no address, no result",
  );
});
