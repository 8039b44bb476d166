/** A runtime's socket may send anything: the agent says what is wrong, stays up, stays small, and goes on when it can. */
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { connect, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import t, { type Test } from "tap";
import type { AgentRuntime } from "../../agent/index.ts";
import { seededRandom, systemClock } from "../../kube/index.ts";
import { encode, ListImagesResponse } from "../../proto/cri/index.ts";
import { startFakeCri } from "../../testkit/cri/fake_cri.ts";
import {
  type AgentPlace,
  eventually,
  type NodeUnderTest,
  node,
  pullTask,
  reached,
  recreateRequests,
  startFake,
  startNode,
  tagStatus,
  wantImages,
} from "./fixture.ts";
import { bundleProgram } from "./mounted.ts";
import { http2Frame, startRawSocket } from "./odd_runtimes.ts";

const image = { id: `sha256:${"a".repeat(64)}` };
const settings = http2Frame(4, 0, 0, new Uint8Array());
const grpcHead = http2Frame(1, 4, 1, Uint8Array.of(0x88));

/** Bytes that are the same in every run. */
function noise(bytes: number, seed: number): Buffer {
  const random = seededRandom(seed);
  return Buffer.from(Uint8Array.from({ length: bytes }, () => Math.floor(random() * 256)));
}

/** Writes the same piece as fast as the other side reads. */
function endlessly(connection: Socket, piece: Uint8Array): void {
  const more = (): void => {
    while (!connection.destroyed && connection.write(piece));
  };
  connection.on("drain", more);
  more();
}

const talkers: readonly (readonly [string, (connection: Socket) => void])[] = [
  ["never says anything", () => undefined],
  ["hangs up at once", (connection) => connection.destroy()],
  ["sends noise", (connection) => void connection.write(noise(65_536, 1))],
  ["sends noise without end", (connection) => endlessly(connection, noise(65_536, 2))],
  ["speaks HTTP/1", (connection) => void connection.end("HTTP/1.1 400 Bad Request\r\n\r\n")],
  [
    "sends noise after its settings",
    (connection) => void connection.write(Buffer.concat([settings, noise(4096, 3)])),
  ],
  [
    "sends a frame that is too large",
    (connection) =>
      void connection.write(Buffer.concat([settings, Buffer.from("ffffff000000000001", "hex")])),
  ],
  [
    "sends data before its head",
    (connection) => void connection.write(Buffer.concat([settings, http2Frame(0, 1, 1, noise(64, 4))])),
  ],
  [
    "answers a message of 4 GB",
    (connection) => {
      connection.write(Buffer.concat([settings, grpcHead]));
      connection.write(http2Frame(0, 0, 1, Buffer.from("00ffffffff", "hex")));
    },
  ],
  ["sends settings without end", (connection) => endlessly(connection, settings)],
];

// An agent that waits before it tries again leaves the time to the others.
t.jobs = 4;
// Made again for each: the runner writes name and body into what it is given.
const sideBySide = () => ({ buffered: true });

for (const runtime of ["node", "deno"] as const) {
  t.test(
    `a connection that turns into noise, again and again, the agent on ${runtime}`,
    sideBySide(),
    async (t) => noisyRuntime(t, await startBundle(t, runtime)),
  );
  t.test(`sockets of all kinds that are no runtime, the agent on ${runtime}`, sideBySide(), async (t) =>
    noRuntimes(t, await startBundle(t, runtime)),
  );
}

async function startBundle(t: Test, runtime: AgentRuntime): Promise<NodeUnderTest> {
  const socketFolder = mkdtempSync(join(tmpdir(), "refit-sockets-"));
  t.teardown(() => rmSync(socketFolder, { recursive: true, force: true }));
  const socket = join(socketFolder, "containerd.sock");
  const program = (place: AgentPlace) => bundleProgram(runtime, socketFolder, place);
  return startNode(t, { socket, program });
}

async function noRuntimes(t: Test, under: NodeUnderTest): Promise<void> {
  await under.agent.start(`--socket-file=${under.socket}`);
  const idleMb = residentMb(under);
  for (const [what, talk] of talkers) {
    const talked = Promise.withResolvers<void>();
    const stop = await startRawSocket(t, under.socket, (connection) => {
      talked.resolve();
      talk(connection);
    });
    await talked.promise;
    await eventually(`who ${what} is reported`, async () => {
      const { status, text } = await under.agent.get("/readyz");
      return status === 503 && text.includes(`${under.socket}: no answer: Version: `);
    });
    t.equal((await under.agent.get("/healthz")).status, 200, what);
    t.equal(under.agent.exitCode(), undefined, what);
    stays(t, under, idleMb, what);
    await stop();
    rmSync(under.socket, { force: true });
    await eventually("it is gone", async () =>
      (await under.agent.get("/readyz")).text.includes(`${under.socket}: does not exist`),
    );
  }
  await works(t, under);
}

t.test("without a runtime requests end, tags wait and say why, and go on when it comes", async (t) => {
  const under = await startNode(t);
  await under.agent.start();
  await wantImages(under.api, { early: { tags: [pullTask("1")] } });
  await eventually("the tag waits", async () => {
    const status = await tagStatus(under.api, "early", "1");
    return status?.phase === "Waiting" && status.message.startsWith("not found container runtime sock");
  });
  const labels = {
    "crr.apps.kruise.io/node-name": node,
    "crr.apps.kruise.io/pod-uid": "1",
    "crr.apps.kruise.io/active": "true",
  };
  const containers = [{ name: "app", statusContext: { containerID: "containerd://1", restartCount: 0 } }];
  await under.api.create(
    {
      apiVersion: "apps.kruise.io/v1beta1",
      kind: "ContainerRecreateRequest",
      metadata: { name: "early", labels },
      spec: { podName: "web", containers },
    },
    "default",
  );
  await eventually("the request is over", async () => {
    const { status } = await under.api.get(recreateRequests, "early", "default");
    return status?.["phase"] === "Completed";
  });
  const { status } = await under.api.get(recreateRequests, "early", "default");
  t.match(status?.["message"], /^failed to find runtime service: not found container runtime sock\. /);
  const { text } = await under.agent.get("/readyz");
  t.notMatch(text, "InformerSynced", "the watches are open");
  const fake = await startFake(t, under);
  fake.runtime.registry.set("early:1", image);
  await reached(under.api, "early", "1", "Succeeded");
  t.equal((await tagStatus(under.api, "early", "1"))?.message, "");
});

async function noisyRuntime(t: Test, under: NodeUnderTest): Promise<void> {
  const behind = join(under.folder, "behind.sock");
  const fake = await startFakeCri({ socket: behind, clock: systemClock });
  t.teardown(() => fake.stop());
  let sound = 400;
  let connections = 0;
  const stop = await startRawSocket(t, under.socket, (connection) => {
    const seed = ++connections;
    const runtime = connect(behind);
    let left = sound + seed * 7;
    runtime.on("error", () => connection.destroy());
    connection.on("close", () => runtime.destroy());
    connection.pipe(runtime);
    runtime.on("data", (chunk: Buffer) => {
      connection.write(chunk.subarray(0, left));
      if (chunk.length > left) connection.write(noise(256, seed));
      left = Math.max(0, left - chunk.length);
    });
  });
  await under.agent.start(`--socket-file=${under.socket}`);
  const tags = Array.from({ length: 12 }, (_, index) => `${index}`);
  for (const tag of tags) fake.runtime.registry.set(`noisy:${tag}`, image);
  const pullPolicy = { timeoutSeconds: 60, backoffLimit: 5, ttlSecondsAfterFinished: 600 };
  await wantImages(under.api, { noisy: { tags: tags.map((tag) => pullTask(tag, { pullPolicy })) } });
  await eventually("several connections have broken", async () => connections > 4);
  t.equal(under.agent.exitCode(), undefined);
  t.equal((await under.agent.get("/healthz")).status, 200);
  sound = Number.POSITIVE_INFINITY;
  await under.agent.ready();
  for (const tag of tags)
    await eventually(`${tag} has a result`, async () => {
      const status = await tagStatus(under.api, "noisy", tag);
      return status?.phase === "Succeeded" || (status?.phase === "Failed" && status.message !== "");
    });
  await stop();
  rmSync(under.socket, { force: true });
  await works(t, under);
}

t.test("answers that are damaged, cut short or too large", async (t) => {
  const under = await startNode(t);
  const fake = await startFake(t, under);
  await under.agent.start();
  await under.agent.ready();
  const idleMb = residentMb(under);
  const wanted: Record<string, object> = {};
  const want = async (name: string, more: object): Promise<void> => {
    fake.runtime.registry.set(`${name}:1`, image);
    wanted[name] = { tags: [pullTask("1", more)] };
    await wantImages(under.api, wanted);
  };
  const present = { imagePullPolicy: "IfNotPresent" };
  const images = [{ id: "x".repeat(17 * 1024 * 1024), repo_tags: [], repo_digests: [], size: 0 }];
  for (const [name, bytes, message] of [
    ["damaged", Uint8Array.of(0x0a, 0x7f, 0x01), /answer is damaged/],
    ["noisy", noise(4096, 5), /answer is damaged/],
    ["large", encode(ListImagesResponse, { images }), /larger than max/],
  ] as const) {
    fake.faults.set("ImageStatus", { kind: "bytes", bytes });
    await want(name, present);
    await reached(under.api, name, "1", "Failed");
    t.match((await tagStatus(under.api, name, "1"))?.message, message);
  }
  stays(t, under, idleMb, "after answers of 17 MB");
  fake.faults.set("PullImage", { kind: "bytes", bytes: Uint8Array.of(0x0a, 0x7f, 0x01) });
  await want("pull", {});
  await reached(under.api, "pull", "1", "Failed");
  t.match((await tagStatus(under.api, "pull", "1"))?.message, /PullImage: the runtime's answer is damaged/);
  fake.faults.set("PullImage", { kind: "fail", status: 2, message: "no ".repeat(3000) });
  await want("long", {});
  await reached(under.api, "long", "1", "Failed");
  const { message = "" } = (await tagStatus(under.api, "long", "1")) ?? {};
  t.match(message, /^Failed to pull image reference "long:1": .* no no .*…$/);
  t.equal(message.length, 1024, "many of them have to fit into one object");
  fake.faults.clear();
  await want("after", present);
  await reached(under.api, "after", "1", "Succeeded");
  t.equal((await under.agent.get("/readyz")).status, 200);
});

/** With a runtime in the place of what was there before. */
async function works(t: Test, under: NodeUnderTest): Promise<void> {
  const fake = await startFake(t, under);
  fake.runtime.registry.set("after:1", image);
  await under.agent.ready();
  await wantImages(under.api, { after: { tags: [pullTask("1")] } });
  await reached(under.api, "after", "1", "Succeeded");
  t.notMatch(under.agent.log, /unhandled|TypeError|uncaught/i);
}

/** Bounded by what one answer may be, not by what is sent. */
function stays(t: Test, under: NodeUnderTest, idleMb: number, what: string): void {
  const mb = residentMb(under);
  t.ok(mb < idleMb + 100, `${what}: ${idleMb} MB, then ${mb} MB`);
}

function residentMb(under: NodeUnderTest): number {
  const pages = Number(readFileSync(`/proc/${under.agent.pid}/statm`, "utf8").split(" ")[1]);
  return Math.round((pages * 4096) / 1e6);
}
