/** The connection to a runtime that dies, hangs, comes back or breaks calls off. */
import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import * as http2 from "node:http2";
import { createServer, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import t, { type Test } from "tap";
import { systemClock } from "../../kube/index.ts";
import { methods } from "../../proto/cri/index.ts";
import { startFakeCri } from "../../testkit/cri/fake_cri.ts";
import { createCriClient } from "./client.ts";

async function temporarySocket(t: Test): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), "refit-cri-"));
  t.teardown(() => rm(folder, { recursive: true, force: true }));
  return join(folder, "containerd.sock");
}

function connect(t: Test, socket: string) {
  const client = createCriClient(socket, { clock: systemClock });
  t.teardown(() => client.close());
  return client;
}

/** Accepts connections, reads and never answers. */
async function silentServer(t: Test, socket: string): Promise<Set<Socket>> {
  const open = new Set<Socket>();
  const server = createServer((connection) => {
    open.add(connection);
    connection.on("close", () => open.delete(connection));
    connection.on("error", () => undefined);
    connection.resume();
  });
  server.listen(socket);
  await once(server, "listening");
  t.teardown(() => {
    for (const connection of open) connection.destroy();
    server.close();
  });
  return open;
}

t.test("a socket that accepts and never answers ends in Timeout and leaves no connection", async (t) => {
  const socket = await temporarySocket(t);
  const open = await silentServer(t, socket);
  const client = connect(t, socket);
  const failed = {
    code: "Timeout",
    message: "Version: rpc error: code = DeadlineExceeded desc = no answer within 100 ms",
  };
  await t.rejects(
    client.call(methods.Version, {}, { timeoutMs: 100 }),
    failed,
    "equal failures have equal texts",
  );
  // The call may end before the server has looked at who connected.
  while (open.size === 0) await systemClock.sleep(5);
  t.equal(open.size, 1);
  client.close();
  while (open.size > 0) await systemClock.sleep(5);
});

t.test("a connection that breaks during a call: Unavailable", async (t) => {
  for (const end of ["end", "destroy"] as const) {
    const socket = await temporarySocket(t);
    const open = await silentServer(t, socket);
    const call = connect(t, socket).call(methods.Version, {});
    while (open.size === 0) await systemClock.sleep(5);
    for (const connection of open) connection[end]();
    await t.rejects(call, { code: "Unavailable" }, end);
  }
});

t.test("killed in the midst of a call, and started again", async (t) => {
  const socket = await temporarySocket(t);
  const client = connect(t, socket);
  await t.rejects(client.call(methods.Version, {}), {
    code: "Unavailable",
    message: `Version: rpc error: code = Unavailable desc = connect ENOENT ${socket}`,
  });
  for (const round of [1, 2]) {
    const server = await startFakeCri({ socket, clock: systemClock });
    let name = "";
    while (name === "") {
      name = await client.call(methods.Version, {}).then(
        (version) => version.runtime_name,
        () => systemClock.sleep(20).then(() => ""),
      );
    }
    t.equal(name, "containerd", `round ${round}`);
    server.faults.set("ListImages", { kind: "hang" });
    const hanging = client.call(methods.ListImages, {});
    while (!server.calls.has("ListImages")) await systemClock.sleep(5);
    await server.stop();
    await t.rejects(hanging, { code: "Unavailable" });
  }
});

t.test("a runtime that stays away is tried at a steady pace", async (t) => {
  const socket = await temporarySocket(t);
  const attempts: number[] = [];
  const server = createServer((connection) => {
    attempts.push(systemClock.monotonic());
    connection.destroy();
  });
  server.listen(socket);
  await once(server, "listening");
  t.teardown(() => server.close());
  const client = connect(t, socket);
  while (attempts.length < 11) {
    await client.call(methods.Version, {}).catch(() => undefined);
    await systemClock.sleep(10);
  }
  // A machine that stalls lengthens waits, and shortens none.
  const waits = attempts.slice(1).map((at, index) => at - (attempts[index] ?? 0));
  const [early, late] = [Math.max(...waits.slice(0, 5)), Math.min(...waits.slice(8))];
  t.ok(late < 3 * early, `waits of ${waits.map(Math.round).join()} ms: they do not go on growing`);
});

t.test("how a runtime breaks a call off decides the code", async (t) => {
  const socket = await temporarySocket(t);
  const server = http2.createServer();
  let code = 0;
  server.on("stream", (stream) => {
    stream.on("error", () => undefined);
    stream.close(code);
  });
  server.listen(socket);
  await once(server, "listening");
  t.teardown(() => server.close());
  const client = connect(t, socket);
  t.teardown(() => client.close());
  const { constants } = http2;
  const expected = [
    [constants.NGHTTP2_REFUSED_STREAM, "Unavailable", "Unavailable"],
    [constants.NGHTTP2_CANCEL, "Unavailable", "Cancelled"],
    [constants.NGHTTP2_INTERNAL_ERROR, "Runtime", "Internal"],
    [constants.NGHTTP2_PROTOCOL_ERROR, "Runtime", "Internal"],
    [constants.NGHTTP2_ENHANCE_YOUR_CALM, "Runtime", "ResourceExhausted"],
    [constants.NGHTTP2_INADEQUATE_SECURITY, "PermissionDenied", "PermissionDenied"],
  ] as const;
  for (const [reset, wanted, name] of expected) {
    code = reset;
    const failure = { code: wanted, message: new RegExp(`^Version: rpc error: code = ${name} `) };
    await t.rejects(client.call(methods.Version, {}), failure, `RST_STREAM ${reset}`);
  }
});

t.test("closing ends calls under way, and those that come later", async (t) => {
  const socket = await temporarySocket(t);
  const server = await startFakeCri({ socket, clock: systemClock });
  t.teardown(() => server.stop());
  const client = connect(t, socket);
  await client.call(methods.Version, {});
  server.faults.set("ListImages", { kind: "hang" });
  const hanging = client.call(methods.ListImages, {});
  while (!server.calls.has("ListImages")) await systemClock.sleep(5);
  client.close();
  const closed = { name: "AgentError", code: "Aborted", message: /the client is closed/ };
  await t.rejects(hanging, closed);
  await t.rejects(client.call(methods.Version, {}), closed);
  client.close();
});

t.test("deadlines of any length are sent in the eight digits that gRPC has for them", async (t) => {
  const socket = await temporarySocket(t);
  const server = http2.createServer();
  const sent: unknown[] = [];
  server.on("stream", (stream: http2.ServerHttp2Stream, headers) => {
    sent.push(headers["grpc-timeout"]);
    stream.respond({ ":status": 200, "grpc-status": "12" }, { endStream: true });
  });
  server.listen(socket);
  await once(server, "listening");
  t.teardown(() => server.close());
  const client = connect(t, socket);
  t.teardown(() => client.close());
  for (const timeoutMs of [1000, 30 * 3_600_000, 2 ** 31, 2 ** 40, Number.MAX_SAFE_INTEGER, Infinity])
    await t.rejects(client.call(methods.Version, {}, { timeoutMs }), { code: "Unimplemented" });
  for (const one of sent) t.match(one, /^\d{1,8}[mSMH]$/);
  t.equal(sent[1], "108000S", "30 hours");
});
