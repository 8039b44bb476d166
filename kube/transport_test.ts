import { execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { createServer, type IncomingMessage, type RequestListener } from "node:http";
import { createServer as createTlsServer } from "node:https";
import { connect, createServer as createSilent, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import t, { type Test } from "tap";
import { systemClock } from "./clock.ts";
import { type Access, fixedCredentials, type TlsMaterial } from "./credentials_types.ts";
import { listening } from "./listening_fixture.ts";
import { testClock } from "./testing.ts";
import {
  adaptiveTransport,
  type HttpRequest,
  nodeTransport,
  type Transport,
  undiciTransport,
} from "./transport.ts";

const folder = mkdtempSync(join(tmpdir(), "refit-transport-"));
t.teardown(() => rmSync(folder, { recursive: true, force: true }));
const certificate = {
  key: join(folder, "key.pem"),
  cert: join(folder, "cert.pem"),
};
execFileSync(
  "openssl",
  ["req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "2"].concat([
    ...["-keyout", certificate.key, "-out", certificate.cert, "-subj", "/CN=transport"],
    ...["-addext", "subjectAltName=IP:127.0.0.1"],
  ]),
  { stdio: "ignore" },
);
const tls = { key: readFileSync(certificate.key), cert: readFileSync(certificate.cert) };
const trusted: TlsMaterial = { ca: readFileSync(certificate.cert, "utf8") };

const makers = { adaptive: adaptiveTransport, undici: undiciTransport, node: nodeTransport } as const;

/** Every transport must do the same; `proxy` is the URL of one that tunnels. */
for (const [name, make] of Object.entries(makers)) {
  const open = (t: Test): Transport => {
    const transport = make({ clock: systemClock, connections: 2 });
    t.teardown(() => transport.close());
    return transport;
  };
  t.test(`${name}: requests`, (t) => requests(t, open(t)));
  t.test(`${name}: streams`, (t) => streams(t, open(t)));
  t.test(`${name}: broken answers`, (t) => brokenAnswers(t, open(t)));
  t.test(`${name}: time-outs and aborts`, (t) => endings(t, open(t)));
  t.test(`${name}: verified TLS, and other material makes other connections`, (t) => security(t, open(t)));
  t.test(`${name}: through a proxy`, (t) => proxied(t, open(t)));
  t.test(`${name}: nothing of a body is held by the connection`, (t) => letGo(t, open(t)));
}

t.test("a connection that does not come to stand is given up, and nothing was sent", async (t) => {
  let met = (): void => undefined;
  const silent = createSilent((socket) => {
    socket.on("error", () => undefined);
    met();
  });
  const port = await listening(t, silent);
  const clock = testClock();
  const transport = nodeTransport({ clock, connections: 1 });
  t.teardown(() => transport.close());
  const access = await accessTo(`https://127.0.0.1:${port}`, trusted);
  for (const exchange of ["send", "open"] as const) {
    const connected = new Promise<void>((resolve) => {
      met = resolve;
    });
    const answer = transport[exchange](access, ask("/", { timeoutMs: 60_000 })).then(
      () => undefined,
      (error: unknown) => error,
    );
    await connected;
    clock.skip(10_000);
    t.match(await answer, { code: "Network", ambiguous: false, message: /no connection within 10000 ms/ });
  }
});

function ask(path: string, more: Partial<HttpRequest> = {}): HttpRequest {
  return { method: "GET", path, headers: {}, timeoutMs: 20_000, maxBytes: 1_000_000, ...more };
}

async function accessTo(server: string, material: TlsMaterial = {}, proxy?: string): Promise<Access> {
  const base = await fixedCredentials(server, { tls: material }).access();
  return { ...base, proxy, connection: JSON.stringify([server, material, proxy]) };
}

async function plainServer(t: Test, listener: RequestListener): Promise<string> {
  return `http://127.0.0.1:${await listening(t, createServer(listener))}`;
}

async function bodyOf(request: IncomingMessage): Promise<string> {
  let text = "";
  for await (const chunk of request) text += String(chunk);
  return text;
}

async function requests(t: Test, transport: Transport): Promise<void> {
  const connections = new Set<Socket>();
  const url = await plainServer(t, async (request, response) => {
    connections.add(request.socket);
    const { method, url: path, headers } = request;
    const body = await bodyOf(request);
    response.writeHead(201, { "x-two": ["a", "b"] });
    response.end(
      JSON.stringify({ method, path, accept: headers.accept, length: headers["content-length"], body }),
    );
  });
  const access = await accessTo(`${url}/base`);
  for (const body of ["{}", "straße", "{}", "{}"]) {
    const answer = await transport.send(
      access,
      ask("/api?a=b", { method: "PATCH", headers: { accept: "text/x" }, body }),
    );
    t.equal(answer.status, 201);
    t.equal(answer.headers["x-two"], "a, b");
    t.same(JSON.parse(Buffer.from(answer.body).toString()), {
      method: "PATCH",
      path: "/base/api?a=b",
      accept: "text/x",
      length: String(Buffer.byteLength(body)),
      body,
    });
  }
  t.ok(connections.size <= 2, "connections are kept");
  const silent = await plainServer(t, (_, response) => response.writeHead(204).end());
  const empty = await transport.send(await accessTo(silent), ask("/", { method: "DELETE" }));
  t.same([empty.status, empty.body.byteLength], [204, 0]);
}

async function streams(t: Test, transport: Transport): Promise<void> {
  let gone = (): void => undefined;
  const left = new Promise<void>((resolve) => {
    gone = resolve;
  });
  const url = await plainServer(t, (request, response) => {
    response.writeHead(200);
    if (request.url === "/short") {
      response.write("one");
      response.end("two");
    } else {
      response.write("first");
      response.once("close", gone);
    }
  });
  const access = await accessTo(url);
  let text = "";
  for await (const chunk of (await transport.open(access, ask("/short"))).chunks) text += Buffer.from(chunk);
  t.equal(text, "onetwo");
  const endless = await transport.open(access, ask("/endless"));
  for await (const chunk of endless.chunks) {
    t.equal(Buffer.from(chunk).toString(), "first");
    break;
  }
  await left;
  t.pass("leaving the loop closes the connection");
}

async function brokenAnswers(t: Test, transport: Transport): Promise<void> {
  const url = await plainServer(t, (request, response) => {
    if (request.url === "/cut") {
      response.writeHead(200, { "content-length": "100" });
      response.write("half");
      setImmediate(() => request.socket.destroy());
    } else if (request.url === "/reset") request.socket.destroy();
    else response.end("x".repeat(5000));
  });
  const access = await accessTo(url);
  await t.rejects(transport.send(access, ask("/cut")), { code: "Network", ambiguous: true });
  await t.rejects(transport.send(access, ask("/reset", { method: "POST", body: "{}" })), {
    code: "Network",
    ambiguous: true,
  });
  await t.rejects(transport.send(access, ask("/large", { maxBytes: 1000 })), {
    code: "TooLarge",
    message: /larger than 1000 bytes/,
  });
  const cut = await transport.open(access, ask("/cut"));
  const read = async (): Promise<void> => {
    for await (const _ of cut.chunks);
  };
  await t.rejects(read(), { code: "Network" });
  const nobody = await accessTo("http://127.0.0.1:1");
  await t.rejects(transport.send(nobody, ask("/")), {
    code: "Network",
    ambiguous: false,
    message: /ECONNREFUSED/,
  });
}

async function endings(t: Test, transport: Transport): Promise<void> {
  const url = await plainServer(t, () => undefined);
  const access = await accessTo(url);
  await t.rejects(transport.send(access, ask("/", { timeoutMs: 50 })), { code: "Timeout", ambiguous: true });
  const stop = new AbortController();
  const waiting = transport.send(access, ask("/", { signal: stop.signal }));
  stop.abort(new Error("enough"));
  await t.rejects(waiting, { code: "Aborted" });
  await t.rejects(transport.send(access, ask("/", { signal: stop.signal })), { code: "Aborted" });
  await t.rejects(transport.open(access, ask("/", { timeoutMs: 50 })), { code: "Timeout" });
}

async function security(t: Test, transport: Transport): Promise<void> {
  const server = createTlsServer(tls, (_, response) => response.end("secret"));
  const url = `https://127.0.0.1:${await listening(t, server)}`;
  const good = await transport.send(await accessTo(url, trusted), ask("/"));
  t.equal(Buffer.from(good.body).toString(), "secret");
  await t.rejects(transport.send(await accessTo(url), ask("/")), {
    code: "Network",
    ambiguous: false,
    message: /self-signed|SELF_SIGNED/,
  });
  const otherName = await accessTo(url, { ...trusted, serverName: "elsewhere.example" });
  await t.rejects(transport.send(otherName, ask("/")), { code: "Network", message: /elsewhere\.example/ });
  const careless = await accessTo(url, { insecure: true });
  t.equal((await transport.send(careless, ask("/"))).status, 200);
}

async function proxied(t: Test, transport: Transport): Promise<void> {
  const seen: string[] = [];
  const proxy = createServer();
  proxy.on("connect", (request, client: Socket) => {
    seen.push(`${request.url} ${request.headers["proxy-authorization"] ?? ""}`);
    if (request.headers["proxy-authorization"] === undefined)
      return client.end("HTTP/1.1 407 Proxy Authentication Required\r\n\r\n");
    const [host = "", port = ""] = (request.url ?? "").split(":");
    const server = connect(Number(port), host, () => {
      client.write("HTTP/1.1 200 Connection established\r\n\r\n");
      server.pipe(client).pipe(server);
    });
    server.on("error", () => client.destroy());
    client.on("error", () => server.destroy());
    return undefined;
  });
  const via = `127.0.0.1:${await listening(t, proxy)}`;
  const secured = createTlsServer(tls, (_, response) => response.end("behind"));
  const target = `127.0.0.1:${await listening(t, secured)}`;
  const access = await accessTo(`https://${target}`, trusted, `http://me:p%40ss@${via}`);
  t.equal(Buffer.from((await transport.send(access, ask("/"))).body).toString(), "behind");
  t.same(seen, [`${target} Basic ${Buffer.from("me:p@ss").toString("base64")}`]);
  const refused = await accessTo(`https://${target}`, trusted, `http://${via}`);
  await t.rejects(transport.send(refused, ask("/")), {
    code: "Network",
    ambiguous: false,
    message: /407|proxy/i,
  });
  const socks = await accessTo(`https://${target}`, trusted, `socks5://127.0.0.1:${await socksProxy(t)}`);
  t.equal(Buffer.from((await transport.send(socks, ask("/"))).body).toString(), "behind");
  const untrusted = await accessTo(`https://${target}`, {}, `http://me:p%40ss@${via}`);
  await t.rejects(transport.send(untrusted, ask("/")), {
    code: "Network",
    message: /self-signed|SELF_SIGNED/,
  });
}

/** Grants everything, without a login. */
function socksProxy(t: Test): Promise<number> {
  const proxy = createSilent((client) => {
    client.on("error", () => undefined);
    client.once("data", () => {
      client.write(Buffer.of(5, 0));
      client.once("data", (asked: Buffer) => {
        const server = connect(asked.readUInt16BE(asked.length - 2), "127.0.0.1", () => {
          client.write(Buffer.of(5, 0, 0, 1, 0, 0, 0, 0, 0, 0));
          server.pipe(client).pipe(server);
        });
        server.on("error", () => client.destroy());
      });
    });
  });
  return listening(t, proxy);
}

/** The engine's own collection, which Node has no function for without a flag. */
function collector(): () => void {
  setFlagsFromString("--expose-gc");
  const collect: unknown = runInNewContext("gc");
  return () => {
    if (typeof collect === "function") collect();
  };
}

async function letGo(t: Test, transport: Transport): Promise<void> {
  const open = new Set<Socket>();
  const server = createTlsServer(tls, (_request, response) => response.end("x".repeat(200_000)));
  server.on("secureConnection", (socket: Socket) => {
    open.add(socket);
    socket.once("close", () => open.delete(socket));
  });
  const access = await accessTo(`https://127.0.0.1:${await listening(t, server)}`, trusted);
  const read = async (): Promise<WeakRef<object>> => {
    const { body } = await transport.send(access, ask("/"));
    t.equal(body.byteLength, 200_000);
    return new WeakRef(body.buffer);
  };
  const body = await read();
  // What a reference was made to in this turn stays until the turn has ended.
  await systemClock.sleep(0);
  collector()();
  t.equal(body.deref(), undefined);
  t.equal(open.size, 1, "the connection is kept");
}
