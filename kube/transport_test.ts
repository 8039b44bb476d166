import { execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { createServer, type IncomingMessage, type RequestListener } from "node:http";
import { createServer as createTlsServer } from "node:https";
import { connect, createServer as createSilent, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import tlsModule from "node:tls";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import t, { type Test } from "tap";
import { listening } from "../testkit/kube/listener_fixture.ts";
import { systemClock } from "./clock.ts";
import { type Access, fixedCredentials, type TlsMaterial } from "./credentials_types.ts";
import { nodeTransport } from "./node_transport.ts";
import type { HttpRequest, Transport, TransportOptions } from "./transport.ts";
import { undiciTransport } from "./undici_transport.ts";

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
    ...["-addext", "subjectAltName=IP:127.0.0.1,IP:::1,DNS:api.test"],
  ]),
  { stdio: "ignore" },
);
const tls = { key: readFileSync(certificate.key), cert: readFileSync(certificate.cert) };
const trusted: TlsMaterial = { ca: readFileSync(certificate.cert, "utf8") };

type Open = (more?: Partial<TransportOptions>) => Transport;

/** Every transport must do the same. */
function each(title: string, body: (t: Test, open: Open) => Promise<void>): void {
  for (const [name, make] of Object.entries({ undici: undiciTransport, node: nodeTransport })) {
    t.test(`${name}: ${title}`, (t) =>
      body(t, (more) => {
        const transport = make({ clock: systemClock, connections: 2, ...more });
        t.teardown(() => transport.close());
        return transport;
      }),
    );
  }
}

each("a connection that does not come to stand is given up, and nothing was sent", async (t, open) => {
  const silent = createSilent((socket) => void socket.on("error", () => undefined));
  const address = `127.0.0.1:${await listening(t, silent)}`;
  const transport = open({ connectMs: 50 });
  const ways = {
    "no TLS": await accessTo(`https://${address}`, trusted),
    "no answer to CONNECT": await accessTo("https://127.0.0.1:1", trusted, `http://${address}`),
    "no SOCKS": await accessTo("https://127.0.0.1:1", trusted, `socks5://${address}`),
  };
  for (const [why, access] of Object.entries(ways)) {
    const failed = { code: "Network", ambiguous: false };
    await t.rejects(transport.send(access, ask("/")), failed, why);
    await t.rejects(transport.open(access, ask("/")), failed, `${why}: a watch`);
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

each("requests", async (t, open) => {
  const transport = open();
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
});

each("streams", async (t, open) => {
  const transport = open();
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
});

each("broken answers", async (t, open) => {
  const transport = open();
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
});

each("time-outs and aborts", async (t, open) => {
  const transport = open();
  const url = await plainServer(t, () => undefined);
  const access = await accessTo(url);
  await t.rejects(transport.send(access, ask("/", { timeoutMs: 50 })), { code: "Timeout", ambiguous: true });
  const stop = new AbortController();
  const waiting = transport.send(access, ask("/", { signal: stop.signal }));
  stop.abort(new Error("enough"));
  await t.rejects(waiting, { code: "Aborted" });
  await t.rejects(transport.send(access, ask("/", { signal: stop.signal })), { code: "Aborted" });
  await t.rejects(transport.open(access, ask("/", { timeoutMs: 50 })), { code: "Timeout" });
});

each("verified TLS, and other material makes other connections", async (t, open) => {
  const transport = open();
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
});

interface Proxy {
  readonly address: string;
  /** What was asked for, with who asked. */
  readonly seen: string[];
}

/** Answers CONNECT of whoever has a login. */
async function connectProxy(t: Test): Promise<Proxy> {
  const seen: string[] = [];
  const proxy = createServer();
  proxy.on("connect", (request, client: Socket) => {
    seen.push(`${request.url} ${request.headers["proxy-authorization"] ?? ""}`);
    if (request.headers["proxy-authorization"] === undefined)
      return client.end("HTTP/1.1 407 Proxy Authentication Required\r\n\r\n");
    const { hostname, port } = new URL(`http://${request.url}`);
    tunnel(client, Number(port), hostname, "HTTP/1.1 200 Connection established\r\n\r\n");
    return undefined;
  });
  return { address: `127.0.0.1:${await listening(t, proxy)}`, seen };
}

/** Answers SOCKS 5 (RFC 1928) in steps: the method, the password where one is asked for, the request. Names are ::1. */
async function socksProxy(t: Test, method: number, reply: number): Promise<Proxy> {
  const seen: string[] = [];
  const proxy = createSilent((client) => {
    client.on("error", () => undefined);
    const answers = method === 2 ? [Buffer.of(5, 2), Buffer.of(1, 0)] : [Buffer.of(5, method)];
    client.on("data", function step(asked: Buffer): void {
      seen.push(asked.toString("hex"));
      const next = answers.shift();
      if (next !== undefined) return void client.write(next);
      client.off("data", step);
      const granted = Buffer.of(5, reply, 0, 1, 0, 0, 0, 0, 0, 0);
      if (reply === 0) tunnel(client, asked.readUInt16BE(asked.length - 2), "::1", granted);
      else client.end(granted);
    });
  });
  return { address: `127.0.0.1:${await listening(t, proxy)}`, seen };
}

function tunnel(client: Socket, port: number, host: string, granted: string | Buffer): void {
  const server = connect(port, host.replace(/^\[|\]$/g, ""), () => {
    client.write(granted);
    server.pipe(client).pipe(server);
  });
  server.on("error", () => client.destroy());
  client.on("error", () => server.destroy());
}

/** Answers on 127.0.0.1 and ::1. */
async function secured(t: Test): Promise<number> {
  return listening(
    t,
    createTlsServer(tls, (_, response) => response.end("behind")),
    "::",
  );
}

async function textOf(transport: Transport, access: Access): Promise<string> {
  return Buffer.from((await transport.send(access, ask("/"))).body).toString();
}

each("through an HTTP proxy", async (t, open) => {
  const transport = open();
  const proxy = await connectProxy(t);
  const port = await secured(t);
  const via = `http://me:p%40ss@${proxy.address}`;
  const login = `Basic ${Buffer.from("me:p@ss").toString("base64")}`;
  for (const host of ["127.0.0.1", "[::1]"]) {
    t.equal(await textOf(transport, await accessTo(`https://${host}:${port}`, trusted, via)), "behind", host);
    t.same(proxy.seen.splice(0), [`${host}:${port} ${login}`]);
  }
  const server = `https://127.0.0.1:${port}`;
  const named = await accessTo(server, { ...trusted, serverName: "api.test" }, via);
  t.equal(await textOf(transport, named), "behind");
  const plain = await plainServer(t, (_, response) => response.end("plain"));
  t.equal(await textOf(transport, await accessTo(plain, {}, via)), "plain");
  const refused = transport.send(await accessTo(server, trusted, `http://${proxy.address}`), ask("/"));
  await t.rejects(refused, { code: "Network", ambiguous: false, message: /407/ });
  const untrusted = transport.send(await accessTo(server, {}, via), ask("/"));
  await t.rejects(untrusted, { code: "Network", message: /self-signed|SELF_SIGNED/ });
  const misnamed = await accessTo(server, { ...trusted, serverName: "elsewhere.example" }, via);
  await t.rejects(transport.send(misnamed, ask("/")), { code: "Network", message: /elsewhere\.example/ });
  const gone = transport.send(await accessTo(server, trusted, "http://127.0.0.1:1"), ask("/"));
  await t.rejects(gone, { code: "Network", ambiguous: false, message: /ECONNREFUSED/ });
});

each("through a SOCKS 5 proxy, which resolves names", async (t, open) => {
  const transport = open();
  const port = await secured(t);
  const bytes = Buffer.of(port >> 8, port & 255).toString("hex");
  const name = Buffer.from("api.test").toString("hex");
  const proxy = await socksProxy(t, 0, 0);
  const via = `socks5://${proxy.address}`;
  for (const [host, address] of [
    ["api.test", `0308${name}`],
    ["127.0.0.1", "017f000001"],
    ["[::1]", `04${"00".repeat(15)}01`],
  ] as const) {
    t.equal(await textOf(transport, await accessTo(`https://${host}:${port}`, trusted, via)), "behind", host);
    t.same(proxy.seen.splice(0).slice(1), [`050100${address}${bytes}`]);
  }
  const other = await accessTo(
    `https://127.0.0.1:${port}`,
    { ...trusted, serverName: "elsewhere.example" },
    via,
  );
  await t.rejects(transport.send(other, ask("/")), { code: "Network", message: /elsewhere\.example/ });
  const withLogin = await socksProxy(t, 2, 0);
  const login = await accessTo(`https://[::1]:${port}`, trusted, `socks5h://me:p%40s@${withLogin.address}`);
  t.equal(await textOf(transport, login), "behind");
  t.equal(withLogin.seen[1], "01026d6503704073");
});

each("a SOCKS proxy that refuses, and one of an unknown kind", async (t, open) => {
  const transport = open();
  const via = async (proxy: string) =>
    transport.send(await accessTo("https://a.example", trusted, proxy), ask("/"));
  for (const proxy of [await socksProxy(t, 255, 0), await socksProxy(t, 0, 5)]) {
    await t.rejects(via(`socks5://${proxy.address}`), { code: "Network", ambiguous: false });
  }
  await t.rejects(via("socks5://127.0.0.1:1"), { code: "Network", message: /ECONNREFUSED/ });
  for (let asked = 0; asked < 2; asked++) {
    await t.rejects(via("ftp://127.0.0.1:1"), {
      code: "Config",
      message: /speaks ftp; give an http, https or socks5/,
    });
  }
});

/** The engine's own collection, which Node has no function for without a flag. */
function collector(): () => void {
  setFlagsFromString("--expose-gc");
  const collect: unknown = runInNewContext("gc");
  return () => {
    if (typeof collect === "function") collect();
  };
}

each("nothing of a body is held by the connection", async (t, open) => {
  const transport = open();
  const connected = new Set<Socket>();
  const server = createTlsServer(tls, (_request, response) => response.end("x".repeat(200_000)));
  server.on("secureConnection", (socket: Socket) => {
    connected.add(socket);
    socket.once("close", () => connected.delete(socket));
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
  t.equal(connected.size, 1, "the connection is kept");
});

each("TLS below 1.2 is not spoken, whatever the process allows", async (t, open) => {
  const allowed = { minimum: tlsModule.DEFAULT_MIN_VERSION, ciphers: tlsModule.DEFAULT_CIPHERS };
  t.teardown(() => {
    tlsModule.DEFAULT_MIN_VERSION = allowed.minimum;
    tlsModule.DEFAULT_CIPHERS = allowed.ciphers;
  });
  // As `--tls-min-v1.0` in NODE_OPTIONS, with what a library needs to speak it at all.
  tlsModule.DEFAULT_MIN_VERSION = "TLSv1";
  tlsModule.DEFAULT_CIPHERS = "ALL:@SECLEVEL=0";
  const answer: RequestListener = (_, response) => response.end("{}");
  for (const version of ["TLSv1.1", "TLSv1.2", "TLSv1.3"] as const) {
    const server = createTlsServer({ ...tls, minVersion: version, maxVersion: version }, answer);
    const address = `https://127.0.0.1:${await listening(t, server)}`;
    const sent = open().send(await accessTo(address, trusted), ask("/"));
    if (version === "TLSv1.1") await t.rejects(sent, { code: "Network" }, version);
    else t.equal((await sent).status, 200, version);
  }
});
