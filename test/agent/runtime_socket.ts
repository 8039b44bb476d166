/**
 * Acceptance case 05: finding the container runtime, and failing clearly. Each row is a run of one agent process with the
 * named sockets in its run directory; where a runtime is expected an ImagePullJob proves it. A file a runtime of the agent
 * (runtime_socket_node_test.ts, runtime_socket_deno_test.ts), so that they run side by side.
 */
import { mkdirSync } from "node:fs";
import { createServer } from "node:net";
import { dirname, join } from "node:path";
import t, { type Test } from "tap";
import type { AgentRuntime } from "../../agent/index.ts";
import { controllerOptions, parseFeatureGates, startControllers } from "../../controller/index.ts";
import { createClient, nullLog, systemClock, undiciTransport } from "../../kube/index.ts";
import { hollowLabel } from "../../sandbox/index.ts";
import { type FakeCri, startFakeCri } from "../../testkit/cri/fake_cri.ts";
import { type Item, isRecord } from "../cluster/api.ts";
import { eventually, type NodeUnderTest, node, startNode } from "./fixture.ts";
import { cannotMount, hostRun, mountedProgram } from "./mounted.ts";
import { startForeignGrpc, startOldCri } from "./odd_runtimes.ts";

const pullJobs = "imagepulljobs.v1beta1.apps.kruise.io";
/** As the case's nodeimage-check.yaml. */
const socketCheck = {
  apiVersion: "apps.kruise.io/v1beta1",
  kind: "ImagePullJob",
  metadata: { name: "socket-check" },
  spec: {
    image: "busybox:1.35",
    parallelism: 10,
    completionPolicy: { type: "Always", ttlSecondsAfterFinished: 60 },
  },
};
const busybox = { id: `sha256:${"b".repeat(64)}` };
/** Below a run directory, in the order in which they are tried. */
const places = [
  "containerd.sock",
  "containerd/containerd.sock",
  "crio.sock",
  "crio/crio.sock",
  "cri-dockerd.sock",
  "cri-dockerd/cri-dockerd.sock",
  "k3s/containerd/containerd.sock",
  "k0s/containerd.sock",
];
/** The settings that name a socket, as users write them. */
const settings = [/--socket-file/, /daemon\.socketFile/, /daemon\.socketLocation/];

/** One row's node: its run directory, its agent, and a controller. */
interface Row {
  readonly under: NodeUnderTest;
  readonly run: string;
  /** A CRI v1 runtime below the run directory that can pull the case's image. */
  runtimeAt(path: string, name: string): Promise<FakeCri>;
}

/** All rows, one after another, with the agent on `runtime`. */
export async function socketRows(runtime: AgentRuntime): Promise<void> {
  await t.test("finding the container runtime", { skip: cannotMount }, (t) => rows(t, runtime));
}

async function rows(t: Test, runtime: AgentRuntime): Promise<void> {
  const row = (title: string, check: (t: Test, row: Row) => Promise<void>, kubelet = "") =>
    t.test(title, async (t) => check(t, await startRow(t, runtime, kubelet)));

  for (const [title, path, name] of [
    ["a: containerd", "containerd/containerd.sock", "containerd"],
    ["b: CRI-O", "crio/crio.sock", "cri-o"],
    ["c: cri-dockerd, without settings", "cri-dockerd.sock", "docker"],
    ["g: K3s, its directory mounted", "containerd/containerd.sock", "containerd"],
  ] as const)
    await row(title, async (t, row) => {
      const fake = await row.runtimeAt(path, name);
      await row.under.agent.start();
      await found(t, row, path, name);
      await pulls(t, row, fake);
      t.same(warnings(row), [], "nothing to complain of");
    });

  await row("d: a docker host whose containerd serves no CRI", async (t, row) => {
    await silentSocket(t, join(row.run, "docker.sock"));
    await startForeignGrpc(t, join(row.run, "containerd/containerd.sock"));
    const docker = await row.runtimeAt("cri-dockerd.sock", "docker");
    await row.under.agent.start();
    await found(t, row, "cri-dockerd.sock", "docker");
    const skipped = linesOf(row).find((line) => line["msg"] === "other sockets were skipped");
    const candidates: unknown = skipped?.["skipped"];
    t.match(candidates, [
      {
        path: `${hostRun}/containerd/containerd.sock`,
        detail: /CRI v1 is not served: .*Unimplemented desc = /,
      },
      { path: `${hostRun}/docker.sock`, detail: /dockerd without cri-dockerd is not supported/ },
    ]);
    await pulls(t, row, docker);
  });

  await row("e: a named socket is obeyed", async (t, row) => {
    const containerd = await row.runtimeAt("containerd/containerd.sock", "containerd");
    const docker = await row.runtimeAt("cri-dockerd.sock", "docker");
    await row.under.agent.start("--socket-file=cri-dockerd.sock");
    await found(t, row, "cri-dockerd.sock", "docker");
    await pulls(t, row, docker);
    t.same([...containerd.calls], [], "the other one was not even asked");
  });

  await row(
    "f: of two, the one that the kubelet uses",
    async (t, row) => {
      const containerd = await row.runtimeAt("containerd/containerd.sock", "containerd");
      const docker = await row.runtimeAt("cri-dockerd.sock", "docker");
      await row.under.agent.start();
      await found(t, row, "cri-dockerd.sock", "docker");
      await pulls(t, row, docker);
      t.same(containerd.runtime.pulls, []);
    },
    "docker://24.0.7",
  );

  await row("h and j: none at all, then a socket appears", async (t, row) => {
    await row.under.agent.start();
    const reason = await notFound(t, row);
    for (const path of places) t.match(reason, `${hostRun}/${path}: does not exist`);
    await furtherRounds(row, 2);
    t.equal(warnings(row).length, 1, "one line for one outage, however often it looks");
    t.equal((await eventsOf(row)).length, 1, "and one event");
    const { pid } = row.under.agent;
    const fake = await row.runtimeAt("containerd/containerd.sock", "containerd");
    await found(t, row, "containerd/containerd.sock", "containerd");
    t.equal(row.under.agent.pid, pid, "without a restart");
    await eventually("the node hears of it", async () => (await eventsOf(row)).length === 2);
    t.match((await eventsOf(row))[1], { type: "Normal", reason: "ContainerRuntimeFound" });
    await pulls(t, row, fake);
  });

  await row("i: docker.sock alone", async (t, row) => {
    await silentSocket(t, join(row.run, "docker.sock"));
    await row.under.agent.start();
    const reason = await notFound(t, row);
    t.match(reason, `${hostRun}/docker.sock: dockerd without cri-dockerd is not supported`);
    t.match((await eventsOf(row))[0]?.["message"], /dockerd without cri-dockerd is not supported/);
  });

  await row("k: a containerd that speaks only v1alpha2", async (t, row) => {
    await startOldCri(t, join(row.run, "containerd/containerd.sock"), "containerd", "1.5.18");
    await row.under.agent.start();
    const reason = await notFound(t, row);
    t.match(reason, /containerd\.sock: CRI v1 is not served, only v1alpha2 \(containerd 1\.5\.18\)/);
    t.match(reason, /Unimplemented desc = /, "in the runtime's own words");
    await furtherRounds(row, 1);
    t.equal(row.under.agent.exitCode(), undefined, "never a crash");
  });

  await row("l: no NODE_NAME", async (t, { under }) => {
    under.agent.launch([], {});
    await eventually("it exits", async () => under.agent.exitCode() !== undefined);
    t.equal(under.agent.exitCode(), 1);
    t.equal(under.agent.log, "not found NODE_NAME in environments");
  });
}

async function startRow(t: Test, runtime: AgentRuntime, kubelet: string): Promise<Row> {
  let run = "";
  const under = await startNode(t, {
    program: (place) => {
      run = join(dirname(place.stateFolder), "run");
      mkdirSync(run);
      return mountedProgram(runtime, run, place);
    },
  });
  await under.api.create({
    apiVersion: "v1",
    kind: "Node",
    // Pulling and its own kubelet's work are not for the sandbox to simulate here.
    metadata: { name: node, labels: { [hollowLabel]: "false" } },
  });
  const status = {
    nodeInfo: { containerRuntimeVersion: kubelet },
    conditions: [{ type: "Ready", status: "True", lastTransitionTime: "2026-01-01T00:00:00Z" }],
  };
  await under.api.patch("nodes", node, undefined, "merge", { status }, "status");
  return {
    under,
    run,
    async runtimeAt(path, runtimeName) {
      const socket = join(run, path);
      mkdirSync(dirname(socket), { recursive: true });
      const fake = await startFakeCri({ socket, clock: systemClock, runtimeName });
      t.teardown(() => fake.stop());
      fake.runtime.registry.set("busybox:1.35", busybox);
      return fake;
    },
  };
}

/** `1/1 Running`, RESTARTS 0: alive, ready, and one line says which runtime it is. */
async function found(t: Test, { under }: Row, path: string, name: string): Promise<void> {
  await under.agent.ready();
  t.equal(under.agent.exitCode(), undefined, "it runs");
  t.equal((await under.agent.get("/healthz")).status, 200);
  const lines = linesOf({ under }).filter((line) => line["msg"] === "container runtime found");
  t.match(lines, [{ level: "info", socket: `${hostRun}/${path}`, runtime: name }]);
  t.equal(lines.length, 1);
  noStackTrace(t, under);
}

/** `0/1 Running` with a reason, which log, readiness and an event on the node tell; returns it. */
async function notFound(t: Test, { under }: Row): Promise<string> {
  await eventually("the reason is known", async () =>
    (await under.agent.get("/readyz")).text.includes("not found container runtime sock"),
  );
  const readiness = await under.agent.get("/readyz");
  t.equal(readiness.status, 503);
  t.equal((await under.agent.get("/healthz")).status, 200);
  t.equal(under.agent.exitCode(), undefined, "it stays up");
  const reason = String(warnings({ under })[0]?.["msg"]);
  t.match(readiness.text, `check containerRuntime failed, err: ${reason}`);
  for (const setting of settings) t.match(reason, setting);
  await eventually("the event", async () => (await eventsOf({ under })).length > 0);
  const [event] = await eventsOf({ under });
  t.match(event, { type: "Warning", reason: "ContainerRuntimeNotFound", count: 1 });
  t.equal(event?.["message"], reason);
  noStackTrace(t, under);
  return reason;
}

/** Every line of the log is one JSON object: a stack trace, or any other outcry, would be none. */
function linesOf({ under }: Pick<Row, "under">): Record<string, unknown>[] {
  return under.agent.log
    .split("\n")
    .filter((line) => line !== "")
    .map((line) => {
      const parsed: unknown = JSON.parse(line);
      if (!isRecord(parsed)) throw new Error(`not a line of the log: ${line}`);
      return parsed;
    });
}

function warnings(row: Pick<Row, "under">): Record<string, unknown>[] {
  return linesOf(row).filter((line) => line["level"] !== "info");
}

function noStackTrace(t: Test, under: NodeUnderTest): void {
  t.notMatch(under.agent.log, /^\s+at |TypeError|ReferenceError|Uncaught|unhandled rejection/m);
}

async function eventsOf({ under }: Pick<Row, "under">): Promise<Item[]> {
  const events = await under.api.list("events", "default");
  return events.filter(
    ({ involvedObject: about }) => isRecord(about) && about["kind"] === "Node" && about["name"] === node,
  );
}

/** Waits for so many further looks at the sockets: each asks for the Node. */
async function furtherRounds({ under }: Row, rounds: number): Promise<void> {
  const reads = async (): Promise<number> => {
    const { text } = await under.agent.get("/metrics");
    const counts = text.matchAll(/^rest_client_requests_total\{[^}]*method="GET"[^}]*\} (\d+)/gm);
    return [...counts].reduce((sum, [, count]) => sum + Number(count), 0);
  };
  const before = await reads();
  await eventually(`${rounds} further rounds`, async () => (await reads()) >= before + rounds);
}

/** The case's pull job completes on all nodes, by this runtime; then it is removed. */
async function pulls(t: Test, { under }: Row, fake: FakeCri): Promise<void> {
  const client = createClient({
    credentials: under.credentials,
    clock: systemClock,
    random: Math.random,
    userAgent: "kruise-manager",
    transport: undiciTransport({ clock: systemClock }),
  });
  const controllers = startControllers({
    client,
    clock: systemClock,
    random: Math.random,
    log: nullLog,
    options: controllerOptions({
      gates: parseFeatureGates("ImagePullJobGate=true"),
      nodeImageCreationDelayMs: 0,
    }),
  });
  try {
    await controllers.synced;
    await under.api.create(socketCheck, "default");
    await eventually("the job has completed", async () => {
      const { status } = await under.api.get(pullJobs, "socket-check", "default");
      return status?.["completionTime"] !== undefined;
    });
    const { columnDefinitions, rows } = await under.api.table(pullJobs, "default");
    const columns = columnDefinitions.map(({ name }) => name.toUpperCase());
    const cell = (name: string): unknown => rows[0]?.cells[columns.indexOf(name)];
    t.same([cell("TOTAL"), cell("SUCCEED"), cell("FAILED")], [1, 1, 0], "SUCCEED = nodes");
    t.same(
      fake.runtime.pulls.map(({ image }) => image?.image),
      ["busybox:1.35"],
    );
    await under.api.remove(pullJobs, "socket-check", "default");
  } finally {
    await controllers.stop(0);
    await client.close();
  }
}

/** Somebody listens who is no container runtime interface, as dockerd's own API. */
async function silentSocket(t: Test, path: string): Promise<void> {
  const server = createServer((socket) => void socket.on("error", () => undefined));
  await new Promise<void>((resolve) => server.listen(path, resolve));
  t.teardown(() => new Promise((resolve) => server.close(() => resolve(undefined))));
}
