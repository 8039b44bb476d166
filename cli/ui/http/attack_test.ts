/** Others on the machine, and pages of other origins in the user's browser, get nothing from the server. */
import { type IncomingHttpHeaders, request } from "node:http";
import { connect } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import t, { type Test } from "tap";
import { systemClock } from "../../../kube/index.ts";
import { Feed } from "../watching/feed.ts";
import { pageAssets } from "./assets.ts";
import { decide } from "./gate.ts";
import { type PageServer, type PageServerOptions, startPageServer } from "./server.ts";

const token = "the-right-token";

/** `openWorkload`: of a key; without it there is none. `bodies`: what takes them; without it nothing is changed or planned. */
async function serve(
  t: Test,
  openWorkload: () => Promise<undefined> = async () => undefined,
  bodies: Pick<PageServerOptions, "acting" | "planning"> = {},
): Promise<{ server: PageServer; feed: Feed }> {
  const feed = new Feed(systemClock);
  const server = await startPageServer({
    assets: await pageAssets(),
    token,
    port: 0,
    open: async (key) => (key === undefined ? { feed, close: () => undefined } : await openWorkload()),
    ...bodies,
  });
  t.teardown(async () => {
    feed.stop();
    await server.stop();
  });
  return { server, feed };
}

interface Asked {
  readonly path?: string;
  readonly method?: string;
  readonly headers?: Record<string, string>;
  readonly body?: string;
}

interface Answer {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly text: string;
}

/** The server learns a moment later that connections have ended. */
async function untilAnswered(server: PageServer, asked: Asked): Promise<void> {
  for (;;) {
    const status = await ask(server, asked).then((answer) => answer.status, String);
    if (status === 200) return;
    await sleep(20);
  }
}

/** Resolves with the head of an endless answer, too: its text is what came first. */
function ask(
  { port }: PageServer,
  { path = "/", method = "GET", headers = {}, body }: Asked,
): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const sent = request({ host: "127.0.0.1", port, path, method, headers, agent: false }, (response) => {
      const { statusCode = 0, headers: received } = response;
      let text = "";
      const done = (): void => resolve({ status: statusCode, headers: received, text });
      response.on("data", (chunk) => {
        text += String(chunk);
        if (received["content-type"] === "text/event-stream") {
          sent.destroy();
          done();
        }
      });
      response.on("end", done);
      response.on("error", done);
    });
    sent.on("error", reject);
    sent.end(body);
  });
}

const cookie = ({ port }: PageServer): { cookie: string } => ({ cookie: `refit-ui-${port}=${token}` });

t.test("the token becomes a cookie that no script reads and no other site sends", async (t) => {
  const { server } = await serve(t);
  const { status, headers } = await ask(server, { path: `/?token=${token}` });
  t.equal(status, 303);
  t.equal(headers.location, "/", "the address loses it");
  t.strictSame(headers["set-cookie"], [
    `refit-ui-${server.port}=${token}; HttpOnly; SameSite=Strict; Path=/`,
  ]);
  const page = await ask(server, { headers: cookie(server) });
  t.equal(page.status, 200);
  t.match(page.text, /<div id="app">/);
});

t.test("without the right token nothing is answered", async (t) => {
  const { server } = await serve(t);
  for (const path of ["/", "/events", "/events?workload=x", "/page/main.js", "/nothing"]) {
    t.equal((await ask(server, { path })).status, 403, path);
    const wrong = { cookie: `refit-ui-${server.port}=wrong` };
    t.equal((await ask(server, { path, headers: wrong })).status, 403, `${path} with another token`);
    const elsewhere = { cookie: `refit-ui-1=${token}` };
    t.equal(
      (await ask(server, { path, headers: elsewhere })).status,
      403,
      `${path} with another page's cookie`,
    );
  }
  for (const path of ["/?token=wrong", "/?token=", `/events?token=${token}`])
    t.equal((await ask(server, { path })).status, 403, path);
});

t.test("a name that leads here, as in DNS rebinding, is refused", async (t) => {
  const { server } = await serve(t);
  for (const host of [
    "evil.example",
    `evil.example:${server.port}`,
    "127.0.0.1",
    `127.0.0.1:${server.port + 1}`,
  ]) {
    t.equal((await ask(server, { headers: { ...cookie(server), host } })).status, 403, host);
    t.equal((await ask(server, { path: `/?token=${token}`, headers: { host } })).status, 403, host);
  }
  t.equal(
    (await ask(server, { headers: { ...cookie(server), host: `localhost:${server.port}` } })).status,
    200,
  );
});

t.test("pages of other origins are refused, even with the cookie", async (t) => {
  const { server } = await serve(t);
  const origins = [
    "https://evil.example",
    "null",
    `http://127.0.0.1:${server.port + 1}`,
    `https://127.0.0.1:${server.port}`,
  ];
  for (const origin of origins)
    t.equal(
      (await ask(server, { path: "/events", headers: { ...cookie(server), origin } })).status,
      403,
      origin,
    );
  for (const site of ["cross-site", "same-site"]) {
    const headers = { ...cookie(server), "sec-fetch-site": site };
    t.equal((await ask(server, { path: "/events", headers })).status, 403, site);
  }
  const own = {
    ...cookie(server),
    origin: `http://127.0.0.1:${server.port}`,
    "sec-fetch-site": "same-origin",
  };
  t.equal((await ask(server, { path: "/events", headers: own })).status, 200);
});

t.test("only GET is answered, and bodies are not read", async (t) => {
  const { server } = await serve(t);
  for (const method of ["POST", "PUT", "DELETE", "PATCH", "OPTIONS", "HEAD", "TRACE"])
    t.equal((await ask(server, { method, headers: cookie(server) })).status, 405, method);
  const refused = await ask(server, {
    method: "POST",
    body: "x".repeat(100_000),
    headers: cookie(server),
  }).catch(() => undefined);
  t.ok(refused === undefined || refused.status === 405, "the connection may end before all of it was sent");
});

t.test("addresses and heads that are too long are refused", async (t) => {
  const { server } = await serve(t);
  const long = await ask(server, { path: `/${"x".repeat(3_000)}`, headers: cookie(server) });
  t.equal(long.status, 414);
  const huge = await ask(server, { path: `/${"x".repeat(100_000)}`, headers: cookie(server) }).catch(
    () => undefined,
  );
  t.ok(huge === undefined || huge.status === 431, "Node ends it");
  t.equal((await ask(server, { headers: cookie(server) })).status, 200, "it still answers");
});

t.test("paths lead to nothing but the page's own files", async (t) => {
  const { server } = await serve(t);
  const paths = [
    "/../../package.json",
    "/page/../../package.json",
    "/page/%2e%2e/assets.ts",
    "/page/main.ts",
    "/__proto__",
  ];
  for (const path of paths) t.equal((await ask(server, { path, headers: cookie(server) })).status, 404, path);
  for (const url of ["http://evil.example/", "//evil.example/", "*", "/\\evil.example"]) {
    const headers = { host: "127.0.0.1:1", cookie: `refit-ui-1=${token}` };
    const decision = decide({ method: "GET", url, headers }, { token, port: 1, posts: [] });
    t.ok(
      decision.type === "refuse" || (decision.type === "pass" && decision.url.host === "127.0.0.1:1"),
      url,
    );
  }
});

t.test("text that is no HTTP harms nobody", async (t) => {
  const { server } = await serve(t);
  const texts = [
    "\0\0\0\0",
    "GET / HTTP/1.1\r\n\r\n",
    "GET /\r\n\r\n",
    "GET / HTTP/1.1\r\nhost: a\r\nhost: b\r\n\r\n",
  ];
  for (const text of texts) {
    const said = await new Promise<string>((resolve) => {
      let received = "";
      const socket = connect(server.port, "127.0.0.1", () => socket.write(text));
      socket.on("data", (chunk) => {
        received += String(chunk);
      });
      socket.on("error", () => resolve(received));
      socket.on("close", () => resolve(received));
    });
    t.match(said, /^HTTP\/1.1 40[03] /, JSON.stringify(text));
  }
  t.equal((await ask(server, { headers: cookie(server) })).status, 200);
});

t.test("everything is answered under a policy that runs no script of others", async (t) => {
  const { server } = await serve(t);
  for (const headers of [cookie(server), {}]) {
    const answer = await ask(server, { headers });
    const policy = answer.headers["content-security-policy"] ?? "";
    t.match(policy, /default-src 'none'; script-src 'self'; style-src 'self'/);
    t.match(policy, /frame-ancestors 'none'/);
    t.notMatch(policy, /unsafe|\*|http/);
    t.equal(answer.headers["x-content-type-options"], "nosniff");
    t.equal(answer.headers["cache-control"], "no-store");
    t.equal(answer.headers["access-control-allow-origin"], undefined);
  }
  for (const [path, { body }] of await pageAssets()) {
    const text = Buffer.from(body).toString();
    if (path === "/") t.notMatch(text, /<script(?![^>]* src=)|<style| style=| on\w+=/, "nothing is inline");
    if (path.startsWith("/page/")) t.notMatch(text, /unsafeHTML|innerHTML|document\.write|\beval\(/, path);
  }
});

t.test("streams are bounded, and one that ends makes room", async (t) => {
  const { server } = await serve(t);
  const open: { destroy(): void }[] = [];
  const stream = (): Promise<number> =>
    new Promise((resolve, reject) => {
      const sent = request(
        { host: "127.0.0.1", port: server.port, path: "/events", headers: cookie(server), agent: false },
        (response) => {
          response.on("error", () => undefined);
          response.resume();
          resolve(response.statusCode ?? 0);
        },
      );
      sent.on("error", reject);
      sent.end();
      open.push(sent);
    });
  const statuses = await Promise.all(Array.from({ length: 40 }, stream));
  t.equal(statuses.filter((status) => status === 200).length, 32);
  t.equal(statuses.filter((status) => status === 503).length, 8);
  for (const each of open) each.destroy();
  await untilAnswered(server, { path: "/events", headers: cookie(server) });
});

t.test("a thousand connections leave it answering", async (t) => {
  const { server } = await serve(t);
  const refused = Promise.withResolvers<void>();
  let closed = 0;
  const sockets = Array.from({ length: 1_000 }, () => {
    const socket = connect(server.port, "127.0.0.1");
    socket.on("error", () => undefined);
    socket.on("close", () => {
      if (++closed === 1_000 - 128) refused.resolve();
    });
    return socket;
  });
  await refused.promise;
  for (const socket of sockets) socket.destroy();
  await untilAnswered(server, { headers: cookie(server) });
});

t.test("names of the cluster are data of the stream and cannot end an event", async (t) => {
  const { server, feed } = await serve(t);
  const name = '<img src=x onerror=alert(1)>\n\ndata: {"put":[]}\r\n\u2028</script>';
  feed.put("w", {
    is: "pod",
    namespace: name,
    name,
    node: name,
    zone: name,
    subset: name,
    revision: "",
    state: "ready",
    reason: "",
    lifecycle: "",
    restarts: 0,
    image: name,
  });
  const { text } = await ask(server, { path: "/events", headers: cookie(server) });
  t.equal(text.match(/\n\n/g)?.length, 1);
  const [, item] = JSON.parse(text.slice("data: ".length)).put[0];
  t.equal(item.name, name);
});

t.test("a workload that cannot be read says why", async (t) => {
  const { server } = await serve(t, () => Promise.reject(new Error("pods is forbidden")));
  const answer = await ask(server, { path: "/events?workload=web", headers: cookie(server) });
  t.equal(answer.status, 502);
  t.equal(answer.text, "the workload cannot be read: pods is forbidden\n");
});

t.test("a workload that is not there has no stream", async (t) => {
  const { server } = await serve(t);
  const answer = await ask(server, { path: "/events?workload=nothing", headers: cookie(server) });
  t.equal(answer.status, 404);
  t.equal(answer.text, "there is no such workload\n");
});

interface Taking {
  readonly server: PageServer;
  /** Bodies that were let in. */
  readonly acted: readonly string[];
  /** A request that is let in. */
  readonly wanted: Asked & { readonly body: string; readonly headers: Record<string, string> };
}

/** A server that acts, and what it was asked to do. */
async function serveActing(t: Test): Promise<Taking> {
  const acted: string[] = [];
  const act = async (body: string) => {
    acted.push(body);
    return { code: 0, text: "done" };
  };
  const { server } = await serve(t, undefined, { acting: { act, revisions: async () => [] } });
  return { server, acted, wanted: wantedOf(server, "/actions", `{"action":"pause"}`) };
}

/** A server that only plans, and what it was asked to plan. */
async function servePlanning(t: Test): Promise<Taking> {
  const acted: string[] = [];
  const plan = async (body: string) => {
    acted.push(body);
    return { status: 422, message: "planned" };
  };
  const { server } = await serve(t, undefined, { planning: { plan } });
  return { server, acted, wanted: wantedOf(server, "/plans", `{"workload":"w"}`) };
}

function wantedOf(server: PageServer, path: string, body: string): Taking["wanted"] {
  const origin = `http://127.0.0.1:${server.port}`;
  const headers = { ...cookie(server), origin, "content-type": "application/json" };
  return { path, method: "POST", body, headers };
}

t.test("a server that only reads answers no request for a change", async (t) => {
  const { server } = await serve(t);
  const headers = {
    ...cookie(server),
    origin: `http://127.0.0.1:${server.port}`,
    "content-type": "application/json",
  };
  for (const path of ["/actions", "/plans", "/", "/events"])
    for (const method of ["POST", "PUT", "PATCH", "DELETE"])
      t.equal((await ask(server, { path, method, body: "{}", headers })).status, 405, `${method} ${path}`);
  for (const path of ["/actions", "/plans", "/revisions?workload=x"])
    t.equal((await ask(server, { path, headers })).status, 404, `GET ${path}`);
  t.notMatch((await ask(server, { headers })).text, /refit-actions/, "the page has no buttons");
});

/** What is turned away, with the status, whatever takes the body. */
function attacksOn({ server: { port }, wanted }: Taking): (readonly [string, number, Partial<Asked>])[] {
  const { headers, path } = wanted;
  const { origin: _, ...withoutOrigin } = headers;
  const { cookie: __, ...withoutCookie } = headers;
  const { "content-type": ___, ...withoutType } = headers;
  return [
    ["no origin", 403, { headers: withoutOrigin }],
    ["another origin", 403, { headers: { ...headers, origin: "https://evil.example" } }],
    ["a hidden origin", 403, { headers: { ...headers, origin: "null" } }],
    ["another port", 403, { headers: { ...headers, origin: `http://127.0.0.1:${port + 1}` } }],
    ["the page's other name", 403, { headers: { ...headers, origin: `http://localhost:${port}` } }],
    ["another site", 403, { headers: { ...headers, "sec-fetch-site": "cross-site" } }],
    ["no page", 403, { headers: { ...headers, "sec-fetch-site": "none" } }],
    ["another host", 403, { headers: { ...headers, host: `evil.example:${port}` } }],
    ["no token", 403, { headers: withoutCookie }],
    ["a wrong token", 403, { headers: { ...headers, cookie: `refit-ui-${port}=wrong` } }],
    ["the token in the address", 403, { path: `${path}?token=${token}`, headers: withoutCookie }],
    ["the token to be welcomed", 403, { path: `/?token=${token}`, headers: withoutCookie }],
    ["another path", 404, { path: "/events" }],
    ["a query", 404, { path: `${path}?workload=x` }],
    ["no type", 415, { headers: withoutType }],
    ["a form", 415, { headers: { ...headers, "content-type": "text/plain" } }],
    [
      "a form that looks like JSON",
      415,
      { headers: { ...headers, "content-type": "text/plain; application/json" } },
    ],
    ["GET", 404, { method: "GET" }],
    ["PUT", 405, { method: "PUT" }],
    ["OPTIONS, by which browsers ask before", 405, { method: "OPTIONS" }],
  ];
}

async function refuses(t: Test, taking: Taking, longest: number): Promise<void> {
  const { server, acted, wanted } = taking;
  const tooLong = ["a long body", 413, { body: "x".repeat(longest + 1) }] as const;
  for (const [what, status, change] of [...attacksOn(taking), tooLong])
    t.equal((await ask(server, { ...wanted, ...change })).status, status, what);
  t.strictSame(acted, [wanted.body], "none of them was done");
}

t.test("a change is let in from the page alone", async (t) => {
  const taking = await serveActing(t);
  const answer = await ask(taking.server, taking.wanted);
  t.strictSame([answer.status, answer.text], [200, `{"code":0,"text":"done"}`]);
  t.equal(answer.headers["access-control-allow-origin"], undefined);
  await refuses(t, taking, 8_192);
});

t.test("a plan is asked for from the page alone, and changes are not", async (t) => {
  const taking = await servePlanning(t);
  const { server, wanted } = taking;
  const answer = await ask(server, wanted);
  t.strictSame([answer.status, answer.text], [422, "planned\n"]);
  t.equal(answer.headers["access-control-allow-origin"], undefined);
  t.equal((await ask(server, { ...wanted, path: "/actions" })).status, 404);
  t.equal((await ask(server, { headers: wanted.headers, path: "/revisions?workload=x" })).status, 404);
  await refuses(t, taking, 1_048_576);
});

t.test("a server that acts and plans gives each its own body, and bounds each", async (t) => {
  const done: string[] = [];
  const act = async () => ({ code: done.push("act"), text: "" });
  const plan = async () => ({ status: 422, message: `${done.push("plan")}` });
  const { server } = await serve(t, undefined, {
    acting: { act, revisions: async () => [] },
    planning: { plan },
  });
  const body = "x".repeat(10_000);
  t.equal((await ask(server, wantedOf(server, "/actions", body))).status, 413);
  t.equal((await ask(server, wantedOf(server, "/plans", body))).status, 422);
  t.strictSame(done, ["plan"]);
});

t.test("a body that breaks off is not acted upon", async (t) => {
  const { server, acted, wanted } = await serveActing(t);
  const head = Object.entries({
    ...wanted.headers,
    host: `127.0.0.1:${server.port}`,
    "content-length": "30",
  });
  const text = `POST /actions HTTP/1.1\r\n${head.map(([name, value]) => `${name}: ${value}\r\n`).join("")}\r\n`;
  await new Promise<void>((resolve, reject) => {
    const socket = connect(server.port, "127.0.0.1", () => socket.end(`${text}{"action":"pause"}`));
    socket.on("error", reject);
    socket.on("close", () => resolve());
    socket.resume();
  });
  t.equal((await ask(server, wanted)).status, 200);
  t.strictSame(acted, [wanted.body]);
});
