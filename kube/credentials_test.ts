import { execFileSync } from "node:child_process";
import { chmodSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { createServer as createHttpServer } from "node:http";
import { createServer, type Server } from "node:https";
import { type AddressInfo, connect } from "node:net";
import { join } from "node:path";
import type { TLSSocket } from "node:tls";
import t from "tap";
import { stringify } from "yaml";
import { testClock } from "../testkit/kube/fake_clock.ts";
import { createClient } from "./client.ts";
import type { Client } from "./client_types.ts";
import { systemClock } from "./clock.ts";
import { seededRandom } from "./core/random.ts";
import { loadCredentials } from "./credentials.ts";
import type { Credentials } from "./credentials_types.ts";
import { undiciTransport } from "./undici_transport.ts";

const folder = t.testdir({});

/** A CA, a server certificate for `api.test` and 127.0.0.1, and a client certificate, made once. */
function certificates(): {
  ca: string;
  server: { cert: string; key: string };
  client: { cert: string; key: string };
} {
  const openssl = (...args: string[]): void => {
    execFileSync("openssl", args, { cwd: folder, stdio: "ignore" });
  };
  const curve = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2"];
  openssl("req", "-x509", ...curve, "-keyout", "ca.key", "-out", "ca.crt", "-subj", "/CN=ca");
  for (const [name, alternative] of [
    ["server", "DNS:api.test,IP:127.0.0.1"],
    ["client", "DNS:client"],
  ] as const) {
    openssl("req", ...curve, "-keyout", `${name}.key`, "-out", `${name}.csr`, "-subj", `/CN=${name}`);
    writeFileSync(join(folder, `${name}.ext`), `subjectAltName=${alternative}\n`);
    openssl(
      "x509",
      "-req",
      "-in",
      `${name}.csr`,
      "-CA",
      "ca.crt",
      "-CAkey",
      "ca.key",
      "-CAcreateserial",
      "-days",
      "2",
      "-out",
      `${name}.crt`,
      "-extfile",
      `${name}.ext`,
    );
  }
  const read = (name: string): string => readFileSync(join(folder, name), "utf8");
  return {
    ca: read("ca.crt"),
    server: { cert: read("server.crt"), key: read("server.key") },
    client: { cert: read("client.crt"), key: read("client.key") },
  };
}

const pems = certificates();

/** Answers who asked: the client certificate's name, the Authorization header and the name asked for in TLS. */
function whoServer(): Promise<{ server: Server; port: number }> {
  const server = createServer(
    { ...pems.server, ca: pems.ca, requestCert: true, rejectUnauthorized: false },
    (request, response) => {
      const socket = request.socket as TLSSocket;
      const body = {
        certificate: socket.getPeerCertificate()?.subject?.CN ?? "",
        authorization: request.headers.authorization ?? "",
        impersonates: request.headers["impersonate-user"] ?? "",
        impersonation: request.rawHeaders.flatMap((name, index, all) =>
          index % 2 === 0 && /^impersonate-(?!user)/i.test(name)
            ? [`${name.toLowerCase()}: ${all[index + 1]}`]
            : [],
        ),
        serverName: socket.servername || "",
      };
      response.writeHead(body.authorization === "Bearer expired" ? 401 : 200, {
        "content-type": "application/json",
      });
      response.end(JSON.stringify(body));
    },
  );
  return new Promise((resolve) =>
    server.listen(0, "127.0.0.1", () => resolve({ server, port: (server.address() as AddressInfo).port })),
  );
}

const { server, port } = await whoServer();
t.teardown(() => {
  server.closeAllConnections();
  server.close();
});

let files = 0;
function kubeconfig(cluster: object, user: object, more: object = {}): string {
  const file = join(folder, `config-${files++}`);
  const content = {
    apiVersion: "v1",
    kind: "Config",
    clusters: [
      {
        name: "c",
        cluster: {
          server: `https://127.0.0.1:${port}`,
          "certificate-authority-data": Buffer.from(pems.ca).toString("base64"),
          ...cluster,
        },
      },
    ],
    users: [{ name: "u", user }],
    contexts: [{ name: "x", context: { cluster: "c", user: "u", namespace: "team" } }],
    "current-context": "x",
    ...more,
  };
  writeFileSync(file, stringify(content));
  return file;
}

async function ask(credentials: Credentials): Promise<unknown> {
  const client: Client = createClient({
    credentials,
    clock: systemClock,
    random: seededRandom(1),
    userAgent: "t",
    transport: undiciTransport({ clock: systemClock }),
    attempts: 1,
  });
  try {
    return await client.request("GET", "/who");
  } finally {
    await client.close();
  }
}

const load = (file: string, env: Record<string, string> = {}): Promise<Credentials> =>
  loadCredentials({ kubeconfig: file, env, clock: systemClock });
const base64 = (text: string): string => Buffer.from(text).toString("base64");

t.test("client certificates, inline and as files beside the kubeconfig", async (t) => {
  const inline = await load(
    kubeconfig(
      {},
      { "client-certificate-data": base64(pems.client.cert), "client-key-data": base64(pems.client.key) },
    ),
  );
  t.match(await ask(inline), { certificate: "client", authorization: "" });
  t.equal(inline.namespace, "team");
  const byFile = await load(
    kubeconfig(
      { "certificate-authority-data": undefined, "certificate-authority": "ca.crt" },
      { "client-certificate": "client.crt", "client-key": "client.key" },
    ),
  );
  t.match(await ask(byFile), { certificate: "client" });
});

t.test("tokens, passwords, impersonation", async (t) => {
  t.match(await ask(await load(kubeconfig({}, { token: "abc" }))), { authorization: "Bearer abc" });
  t.match(await ask(await load(kubeconfig({}, { username: "u", password: "p" }))), {
    authorization: `Basic ${base64("u:p")}`,
  });
  t.match(await ask(await load(kubeconfig({}, { token: "abc", as: "someone" }))), {
    impersonates: "someone",
  });
});

t.test("impersonation with UID, groups and extra fields, each value a header of its own", async (t) => {
  const user = {
    token: "abc",
    as: "someone",
    "as-uid": "u-1",
    "as-groups": ["developers", "operators"],
    "as-user-extra": { "example.com/Scope": ["read", "write"], "50%": ["x"] },
  };
  t.match(await ask(await load(kubeconfig({}, user))), {
    impersonates: "someone",
    impersonation: [
      "impersonate-uid: u-1",
      "impersonate-group: developers",
      "impersonate-group: operators",
      "impersonate-extra-example.com%2fscope: read",
      "impersonate-extra-example.com%2fscope: write",
      "impersonate-extra-50%25: x",
    ],
  });
});

t.test("a token file is read again after a minute", async (t) => {
  const tokenFile = join(folder, "token");
  writeFileSync(tokenFile, "one\n");
  const clock = testClock();
  const credentials = await loadCredentials({ kubeconfig: kubeconfig({}, { tokenFile }), env: {}, clock });
  t.match(await credentials.access(), { headers: { authorization: "Bearer one" } });
  writeFileSync(tokenFile, "two\n");
  t.match(await credentials.access(), { headers: { authorization: "Bearer one" } });
  clock.skip(61_000);
  t.match(await credentials.access(), { headers: { authorization: "Bearer two" } });
});

t.test("a plugin is asked, given the version, and asked again when its token is refused", async (t) => {
  const plugin = join(folder, "plugin.sh");
  const count = join(folder, "count");
  writeFileSync(
    plugin,
    `#!/bin/sh\necho x >> ${count}\nprintf '%s' "$KUBERNETES_EXEC_INFO" > ${folder}/info\nif [ $(wc -l < ${count}) = 1 ]; then token=expired; else token=fresh; fi\nprintf '{"apiVersion":"client.authentication.k8s.io/v1","kind":"ExecCredential","status":{"token":"%s"}}' $token\n`,
  );
  chmodSync(plugin, 0o755);
  const exec = { apiVersion: "client.authentication.k8s.io/v1", command: plugin, interactiveMode: "Never" };
  t.match(await ask(await load(kubeconfig({}, { exec }))), { authorization: "Bearer fresh" });
  t.equal(readFileSync(count, "utf8").trim().split("\n").length, 2);
  t.match(JSON.parse(readFileSync(join(folder, "info"), "utf8")), {
    kind: "ExecCredential",
    apiVersion: exec.apiVersion,
  });
});

t.test("a plugin that fails is a Config error with its words", async (t) => {
  const exec = {
    apiVersion: "client.authentication.k8s.io/v1",
    command: "/bin/sh",
    args: ["-c", "echo no login >&2; exit 3"],
  };
  await t.rejects(ask(await load(kubeconfig({}, { exec }))), { code: "Config", message: /no login/ });
});

t.test("the server is verified: name, CA, and only a kubeconfig can switch it off", async (t) => {
  t.match(await ask(await load(kubeconfig({ "tls-server-name": "api.test" }, { token: "a" }))), {
    serverName: "api.test",
  });
  await t.rejects(ask(await load(kubeconfig({ "tls-server-name": "wrong.test" }, { token: "a" }))), {
    code: "Network",
    message: /ALTNAME|altnames/,
  });
  await t.rejects(ask(await load(kubeconfig({ "certificate-authority-data": undefined }, { token: "a" }))), {
    code: "Network",
    ambiguous: false,
  });
  const insecure = { "certificate-authority-data": undefined, "insecure-skip-tls-verify": true };
  t.match(await ask(await load(kubeconfig(insecure, { token: "a" }))), { authorization: "Bearer a" });
});

t.test("requests go through the proxy that the kubeconfig or the environment names", async (t) => {
  const tunnels: string[] = [];
  const proxy = createHttpServer((_request, response) => response.writeHead(501).end());
  proxy.on("connect", (request, socket) => {
    tunnels.push(request.url ?? "");
    const upstream = connect(port, "127.0.0.1", () => socket.write("HTTP/1.1 200 OK\r\n\r\n"));
    upstream.on("error", () => socket.destroy());
    socket.on("error", () => upstream.destroy());
    upstream.pipe(socket).pipe(upstream);
  });
  await new Promise<void>((resolve) => proxy.listen(0, "127.0.0.1", resolve));
  t.teardown(() => {
    proxy.closeAllConnections();
    proxy.close();
  });
  const uri = `http://127.0.0.1:${(proxy.address() as AddressInfo).port}`;
  const user = { token: "a" };
  t.match(await ask(await load(kubeconfig({ "proxy-url": uri }, user))), { authorization: "Bearer a" });
  const remote = { server: "https://api.test:6443" };
  t.match(await ask(await load(kubeconfig(remote, user), { HTTPS_PROXY: uri })), { serverName: "api.test" });
  t.same(tunnels, [`127.0.0.1:${port}`, "api.test:6443"]);
  const direct = await load(kubeconfig(remote, user), { HTTPS_PROXY: uri, NO_PROXY: ".test" });
  t.equal((await direct.access()).proxy, undefined);
});

t.test("in a pod: the service account, its token read again after a minute", async (t) => {
  const serviceAccountFolder = join(folder, "account");
  mkdirSync(serviceAccountFolder);
  for (const [name, content] of [
    ["token", "first"],
    ["ca.crt", pems.ca],
    ["namespace", "kruise-system"],
  ] as const) {
    writeFileSync(join(serviceAccountFolder, name), content);
  }
  const env = { KUBERNETES_SERVICE_HOST: "127.0.0.1", KUBERNETES_SERVICE_PORT: String(port), HOME: folder };
  const clock = testClock();
  const credentials = await loadCredentials({ env, clock, serviceAccountFolder });
  t.equal(credentials.namespace, "kruise-system");
  t.match(await ask(credentials), { authorization: "Bearer first" });
  writeFileSync(join(serviceAccountFolder, "token"), "second");
  clock.skip(61_000);
  t.match(await credentials.access(), {
    headers: { authorization: "Bearer second" },
    server: `https://127.0.0.1:${port}`,
  });
  writeFileSync(join(serviceAccountFolder, "token"), "third");
  await credentials.refresh();
  t.match(await credentials.access(), { headers: { authorization: "Bearer third" } });
});

t.test("several files are merged, the first wins; contexts are chosen by name", async (t) => {
  const one = kubeconfig({}, { token: "one" });
  const two = kubeconfig(
    {},
    { token: "two" },
    {
      users: [
        { name: "u", user: { token: "hidden" } },
        { name: "v", user: { token: "two" } },
      ],
      contexts: [{ name: "y", context: { cluster: "c", user: "v" } }],
      "current-context": "y",
    },
  );
  const env = { KUBECONFIG: `${one}:${two}` };
  t.match(await (await loadCredentials({ env, clock: systemClock })).access(), {
    headers: { authorization: "Bearer one" },
  });
  const other = await loadCredentials({ env, clock: systemClock, context: "y" });
  t.match(await other.access(), { headers: { authorization: "Bearer two" } });
  t.equal(other.namespace, "default");
});

t.test("what is missing is said", async (t) => {
  const nowhere = { HOME: join(folder, "nowhere") };
  await t.rejects(loadCredentials({ env: nowhere, clock: systemClock }), {
    code: "Config",
    message: /no --kubeconfig, no KUBECONFIG, no service account/,
  });
  await t.rejects(load(join(folder, "absent")), { code: "Config", message: /absent/ });
  await t.rejects(
    loadCredentials({ kubeconfig: kubeconfig({}, {}), context: "z", env: {}, clock: systemClock }),
    { code: "Config", message: /no context "z"; there are: x/ },
  );
  const broken = join(folder, "broken");
  writeFileSync(broken, "clusters: [{{{");
  await t.rejects(load(broken), { code: "Config" });
});
