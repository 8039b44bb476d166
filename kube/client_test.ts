import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import t from "tap";
import { createClient } from "./client.ts";
import type { Client, ListOptions } from "./client_types.ts";
import { systemClock } from "./clock.ts";
import { jsonResource } from "./codecs/json.ts";
import type { KubeObject } from "./core/index.ts";
import { seededRandom } from "./core/random.ts";
import { fixedCredentials } from "./credentials_types.ts";
import { serverVersion, serves } from "./discovery.ts";
import { isKubeError, KubeError, messageOf } from "./errors.ts";
import { Fence } from "./fence.ts";
import { nullMetrics, type RequestSample } from "./metrics_types.ts";
import { undiciTransport } from "./undici_transport.ts";

interface Widget extends KubeObject {
  spec?: { size: number };
}

const widgets = jsonResource<Widget>({
  group: "example.org",
  version: "v1",
  plural: "widgets",
  kind: "Widget",
  namespaced: true,
});

interface Seen {
  method: string;
  url: string;
  headers: IncomingMessage["headers"];
  body: string;
}

type Handler = (seen: Seen, response: ServerResponse, count: number) => void;

/** A server that answers with `handler`, and a client of it; both end with the test. */
async function against(
  t: { teardown(run: () => Promise<void>): void },
  handler: Handler,
  more: Partial<Parameters<typeof createClient>[0]> = {},
) {
  const seen: Seen[] = [];
  const server: Server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on("data", (chunk: Buffer) => chunks.push(chunk));
    request.on("end", () => {
      const { method = "", url = "", headers } = request;
      const one = { method, url, headers, body: Buffer.concat(chunks).toString() };
      seen.push(one);
      handler(one, response, seen.length);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  const samples: RequestSample[] = [];
  const client: Client = createClient({
    credentials: fixedCredentials(`http://127.0.0.1:${port}/base`, {
      headers: { authorization: "Bearer one" },
    }),
    clock: systemClock,
    random: seededRandom(1),
    userAgent: "refit-test",
    transport: undiciTransport({ clock: systemClock }),
    metrics: { ...nullMetrics, request: (_host, sample) => samples.push(sample) },
    ...more,
  });
  t.teardown(async () => {
    await client.close();
    server.closeAllConnections();
    server.close();
  });
  return { client, seen, samples, server };
}

const json = (
  response: ServerResponse,
  status: number,
  body: unknown,
  headers: Record<string, string> = {},
): void => {
  response.writeHead(status, { "content-type": "application/json", ...headers });
  response.end(JSON.stringify(body));
};
const widget = (name: string, version = "1"): Widget => ({
  apiVersion: "example.org/v1",
  kind: "Widget",
  metadata: { name, namespace: "ns", uid: `u-${name}`, resourceVersion: version },
});
const status = (code: number, reason: string, message: string, details: object = {}) => ({
  kind: "Status",
  apiVersion: "v1",
  status: "Failure",
  code,
  reason,
  message,
  details,
});
const one = { namespace: "ns", name: "a" };

t.test(
  "a request tells how long it waited for its place and for its answer, where anybody asks",
  async (t) => {
    const stages: string[] = [];
    const ms = (what: string) => (of: string, took: number) => stages.push(`${what} ${of} ${took >= 0}`);
    const { client } = await against(t, (_request, response) => json(response, 200, widget("a")), {
      metrics: {
        ...nullMetrics,
        stages: {
          queued: ms("queued"),
          windowWaited: ms("window"),
          answered: ms("answer"),
          loopDelayed: () => undefined,
        },
      },
    });
    await client.get(widgets, one, { priority: "urgent" });
    t.strictSame(stages, ["window urgent true", "answer urgent true"]);
  },
);

t.test("verbs become the right requests", async (t) => {
  const { client, seen, samples } = await against(t, (request, response) => {
    if (request.method === "GET" && request.url.includes("/widgets?")) {
      json(response, 200, {
        metadata: { resourceVersion: "77", continue: "next" },
        items: [widget("a"), 5, { metadata: {} }],
      });
    } else json(response, request.method === "POST" ? 201 : 200, widget("a", "2"));
  });
  t.equal((await client.get(widgets, one)).metadata.resourceVersion, "2");
  const options: ListOptions = { namespace: "ns", labelSelector: "app in (x,y)", limit: 10 };
  const page = await client.list(widgets, options);
  t.equal(page.items.length, 1);
  t.equal(page.undecodable.length, 2, "what cannot be read is reported, not fatal");
  t.match(page, { resourceVersion: "77", continue: "next" });
  await client.create(widgets, "ns", widget("a"), { fieldManager: "refit" });
  await client.replace(widgets, one, widget("a"), { subresource: "status" });
  await client.patch(widgets, one, { type: "merge", body: { spec: { size: 3 } } });
  await client.patch(widgets, one, { type: "apply", body: widget("a"), fieldManager: "refit", force: true });
  await client.patch(
    widgets,
    one,
    { type: "json", body: [{ op: "remove", path: "/spec" }] },
    { dryRun: true },
  );
  await client.delete(widgets, one, { uid: "u-a", propagationPolicy: "Background" });
  t.same(
    seen.map((request) => `${request.method} ${request.url} ${request.headers["content-type"] ?? ""}`.trim()),
    [
      "GET /base/apis/example.org/v1/namespaces/ns/widgets/a",
      "GET /base/apis/example.org/v1/namespaces/ns/widgets?labelSelector=app%20in%20(x%2Cy)&limit=10",
      "POST /base/apis/example.org/v1/namespaces/ns/widgets?fieldManager=refit application/json",
      "PUT /base/apis/example.org/v1/namespaces/ns/widgets/a/status application/json",
      "PATCH /base/apis/example.org/v1/namespaces/ns/widgets/a application/merge-patch+json",
      "PATCH /base/apis/example.org/v1/namespaces/ns/widgets/a?fieldManager=refit&force=true application/apply-patch+yaml",
      "PATCH /base/apis/example.org/v1/namespaces/ns/widgets/a?dryRun=All application/json-patch+json",
      "DELETE /base/apis/example.org/v1/namespaces/ns/widgets/a application/json",
    ],
  );
  t.match(JSON.parse(seen[7]?.body ?? ""), {
    propagationPolicy: "Background",
    preconditions: { uid: "u-a" },
  });
  t.equal(seen[0]?.headers.authorization, "Bearer one");
  t.equal(seen[0]?.headers["user-agent"], "refit-test");
  t.match(samples[0], { verb: "GET", resource: "widgets", code: "200" });
  t.match(samples[3], { verb: "PUT", resource: "widgets/status" });
});

t.test("a hostile name stays in its place in the path", async (t) => {
  const { client, seen } = await against(t, (_request, response) => json(response, 200, widget("a")));
  await client.get(widgets, { namespace: "ns", name: "a/../../secrets?x=1" });
  t.equal(seen[0]?.url, "/base/apis/example.org/v1/namespaces/ns/widgets/a%2F..%2F..%2Fsecrets%3Fx%3D1");
  await t.rejects(client.get(widgets, { namespace: "ns", name: ".." }), { code: "BadRequest" });
  await t.rejects(client.get(widgets, { name: "a" }), { code: "BadRequest" }, "a namespace is missing");
});

t.test("refusals become KubeErrors with the server's words", async (t) => {
  const cases: [number, string, string][] = [
    [404, "NotFound", "NotFound"],
    [409, "AlreadyExists", "AlreadyExists"],
    [409, "Conflict", "Conflict"],
    [410, "Expired", "Gone"],
    [422, "Invalid", "Invalid"],
    [403, "Forbidden", "Forbidden"],
    [415, "UnsupportedMediaType", "UnsupportedMediaType"],
  ];
  const { client } = await against(t, (_request, response, count) => {
    const [code, reason] = cases[count - 1] ?? [500, ""];
    json(
      response,
      code,
      status(code, reason, "no", {
        kind: "widgets",
        name: "a",
        causes: [{ field: "spec.size", reason: "FieldValueInvalid", message: "bad" }],
      }),
    );
  });
  for (const [code, reason, expected] of cases) {
    const error = await client.get(widgets, one).catch((thrown: unknown) => thrown);
    t.match(error, { code: expected, status: code, reason, message: /GET widgets: no/, ambiguous: false });
    t.match(error instanceof KubeError && error.causes[0], { field: "spec.size" });
    t.same(error instanceof KubeError && error.about, { kind: "widgets", name: "a" });
    t.equal(messageOf(error), "no");
  }
});

t.test("429 waits for Retry-After and tries again; an eviction's 429 is an answer", async (t) => {
  const { client, seen } = await against(t, (request, response, count) => {
    if (request.url.endsWith("/eviction") || count === 1)
      json(response, 429, status(429, "TooManyRequests", "slow down"), { "retry-after": "0" });
    else json(response, 200, widget("a"));
  });
  await client.create(widgets, "ns", widget("a"));
  t.equal(seen.length, 2);
  await t.rejects(client.create(widgets, "ns", { metadata: { name: "a" } }, { subresource: "eviction" }), {
    code: "TooManyRequests",
  });
  t.equal(seen.length, 3);
});

t.test("a body that is made when it is sent is that of the moment when there is room for it", async (t) => {
  const held: ServerResponse[] = [];
  let size = 1;
  const { client, seen } = await against(t, (request, response, count) => {
    if (request.method === "GET") held.push(response);
    else if (count > 9) json(response, 200, widget("a"));
    else {
      size = 3;
      json(response, 429, status(429, "TooManyRequests", "slow down"), { "retry-after": "0" });
    }
  });
  const reads = Array.from({ length: 8 }, () => client.get(widgets, one));
  const bodyWhenSent = () => ({ metadata: { uid: "u" }, spec: { size } });
  const patch = { type: "merge", body: bodyWhenSent() } as const;
  const patched = client.patch(widgets, one, patch, { bodyWhenSent });
  while (held.length < 8) await systemClock.sleep(5);
  size = 2;
  for (const response of held) json(response, 200, widget("a"));
  await Promise.all([...reads, patched]);
  t.strictSame(
    seen.slice(8).map(({ body }) => JSON.parse(body).spec.size),
    [2, 3],
    "the second attempt is of its own moment",
  );
});

t.test("what the fence aborts is not sent, nor tried again", async (t) => {
  const fence = new Fence();
  const leading = new AbortController();
  const { client, seen } = await against(
    t,
    (_, response) => json(response, 429, status(429, "TooManyRequests", "slow down"), { "retry-after": "0" }),
    { fence },
  );
  const patch = { type: "merge", body: { spec: { size: 1 } } } as const;
  fence.add(() => {
    if (seen.length === 2) leading.abort();
  });
  await t.rejects(client.patch(widgets, one, patch, { signal: leading.signal }), { code: "Aborted" });
  t.equal(seen.length, 2, "the third attempt is not made");
});

t.test("what is not wanted any more when there is room for it is not sent", async (t) => {
  const held: ServerResponse[] = [];
  let isWanted = true;
  const { client, seen } = await against(t, (request, response) => {
    if (request.method === "GET") held.push(response);
    else json(response, 200, widget("a"));
  });
  const reads = Array.from({ length: 8 }, () => client.get(widgets, one));
  const asked = { isWanted: () => isWanted };
  const writes = [
    client.create(widgets, "ns", widget("b"), asked),
    client.patch(widgets, one, { type: "merge", body: {} }, asked),
    client.delete(widgets, one, asked),
  ];
  const ended = Promise.allSettled(writes);
  while (held.length < 8) await systemClock.sleep(5);
  isWanted = false;
  for (const response of held) json(response, 200, widget("a"));
  await Promise.all(reads);
  t.match(
    await ended,
    writes.map(() => ({ status: "rejected", reason: { code: "Aborted" } })),
  );
  t.equal(seen.length, 8);
  isWanted = true;
  await client.patch(widgets, one, { type: "merge", body: {} }, asked);
  t.equal(seen.length, 9);
});

t.test("a broken connection: reads and guarded writes go again, creates are ambiguous", async (t) => {
  const { client, seen } = await against(t, (_request, response, count) => {
    if (count % 2 === 1) response.socket?.destroy();
    else json(response, 200, widget("a"));
  });
  await client.get(widgets, one);
  t.equal(seen.length, 2);
  const guarded = { metadata: { resourceVersion: "5" }, spec: { size: 1 } };
  await client.patch(widgets, one, { type: "merge", body: guarded });
  t.equal(seen.length, 4);
  await t.rejects(client.create(widgets, "ns", widget("a")), { code: "Network", ambiguous: true });
  t.equal(seen.length, 5, "a create is never sent twice");
});

t.test("a server that is not there is a Network error that is not ambiguous", async (t) => {
  const client = createClient({
    credentials: fixedCredentials("http://127.0.0.1:9"),
    clock: systemClock,
    random: seededRandom(1),
    userAgent: "x",
    transport: undiciTransport({ clock: systemClock }),
    attempts: 2,
  });
  t.teardown(() => client.close());
  await t.rejects(client.create(widgets, "ns", widget("a")), {
    code: "Network",
    ambiguous: false,
    message: /ECONNREFUSED/,
  });
});

t.test("a delete that broke on the way and finds nothing was done", async (t) => {
  const { client } = await against(t, (_request, response, count) => {
    if (count === 1) response.socket?.destroy();
    else json(response, 404, status(404, "NotFound", "gone"));
  });
  t.equal(await client.delete(widgets, one, { uid: "u-a" }), undefined);
  await t.rejects(
    client.delete(widgets, one, { uid: "u-a" }),
    { code: "NotFound" },
    "at the first attempt it is an error",
  );
});

t.test("delete returns the object while it is being deleted", async (t) => {
  const { client } = await against(t, (_request, response, count) =>
    count === 1
      ? json(response, 200, widget("a", "9"))
      : json(response, 200, { kind: "Status", apiVersion: "v1", status: "Success" }),
  );
  t.equal((await client.delete(widgets, one))?.metadata.resourceVersion, "9");
  t.equal(await client.delete(widgets, one), undefined);
});

t.test("401 fetches new credentials once", async (t) => {
  let token = "old";
  const base = { server: "", tls: {}, connection: "c" };
  const { client, seen, server } = await against(
    t,
    (request, response) =>
      request.headers.authorization === "Bearer new"
        ? json(response, 200, widget("a"))
        : json(response, 401, status(401, "Unauthorized", "no")),
    {
      credentials: {
        namespace: "ns",
        access: () =>
          Promise.resolve({ ...base, server: url(), headers: { authorization: `Bearer ${token}` } }),
        refresh: () => {
          token = token === "old" ? "new" : "wrong";
          return Promise.resolve();
        },
      },
    },
  );
  function url(): string {
    return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  }
  await client.get(widgets, one);
  t.equal(seen.length, 2);
  token = "old-again";
  await t.rejects(client.get(widgets, one), { code: "Unauthorized" });
  t.equal(seen.length, 4);
});

t.test("time-outs, aborts and answers beyond the bound", async (t) => {
  const { client } = await against(
    t,
    (request, response) => {
      if (request.url.includes("/large")) json(response, 200, { ...widget("a"), text: "x".repeat(4000) });
    },
    { maxBytes: 2000 },
  );
  await t.rejects(client.get(widgets, one, { timeoutMs: 30 }), { code: "Timeout" });
  const controller = new AbortController();
  const aborted = client.get(widgets, one, { signal: controller.signal });
  controller.abort();
  await t.rejects(aborted, { code: "Aborted" });
  await t.rejects(client.get(widgets, { namespace: "ns", name: "large" }), { code: "TooLarge" });
});

t.test("an answer that is not JSON is a Decode error", async (t) => {
  const { client } = await against(t, (_request, response, count) => {
    response.writeHead(200, { "content-type": "application/json" });
    response.end(["{", "[]", '"text"', "{}", "null"][count - 1] ?? "");
  });
  for (let i = 0; i < 6; i++) await t.rejects(client.get(widgets, one), { code: "Decode" });
});

t.test("a watch yields events as they arrive, cut anywhere, and ends with the server", async (t) => {
  const lines = [
    { type: "ADDED", object: widget("ä", "5") },
    {
      type: "BOOKMARK",
      object: {
        kind: "Widget",
        metadata: { resourceVersion: "9", annotations: { "k8s.io/initial-events-end": "true" } },
      },
    },
    { type: "MODIFIED", object: { metadata: 5 } },
    { type: "ERROR", object: status(410, "Expired", "too old") },
  ];
  const { client, seen } = await against(t, (_request, response) => {
    response.writeHead(200, { "content-type": "application/json" });
    const bytes = Buffer.from(lines.map((line) => `${JSON.stringify(line)}\n`).join(""));
    const cut = bytes.indexOf(Buffer.from("ä")) + 1;
    response.write(bytes.subarray(0, cut));
    setImmediate(() => response.end(bytes.subarray(cut)));
  });
  const events = [];
  const stream = await client.watch(widgets, {
    namespace: "ns",
    resourceVersion: "4",
    sendInitialEvents: true,
    signal: new AbortController().signal,
  });
  for await (const batch of stream) events.push(...batch);
  t.match(events, [
    { type: "ADDED", object: { metadata: { name: "ä" } } },
    { type: "BOOKMARK", resourceVersion: "9", initialEventsEnd: true },
    { type: "UNDECODABLE" },
    { type: "ERROR", code: 410, reason: "Expired" },
  ]);
  t.match(
    seen[0]?.url,
    /watch=true&allowWatchBookmarks=true&resourceVersion=4&sendInitialEvents=true&resourceVersionMatch=NotOlderThan/,
  );
});

t.test("a watch that is refused says why, one that breaks throws, one that is aborted ends", async (t) => {
  const { client } = await against(t, (_request, response, count) => {
    if (count === 1) return json(response, 410, status(410, "Expired", "too old"));
    response.writeHead(200, { "content-type": "application/json" });
    response.write(`${JSON.stringify({ type: "ADDED", object: widget("a") })}\n`);
    if (count === 2) setImmediate(() => response.socket?.destroy());
    return undefined;
  });
  const controller = new AbortController();
  const options = { namespace: "ns", signal: controller.signal };
  await t.rejects(client.watch(widgets, options), { code: "Gone" });
  const read = async (): Promise<unknown> => {
    for await (const batch of await client.watch(widgets, options))
      if (batch.length > 0) setImmediate(() => controller.abort());
    return undefined;
  };
  t.ok(isKubeError(await read().catch((error: unknown) => error), "Network", "Aborted"));
});

t.test("a stream of text: read until its end, broken, and refused", async (t) => {
  const { client, seen } = await against(t, (_, response, count) => {
    if (count === 1) return json(response, 404, status(404, "NotFound", "no such pod"));
    response.writeHead(200, { "content-type": "text/plain" });
    response.write("one\n");
    if (count === 2) response.end("two");
    else setImmediate(() => response.socket?.destroy());
    return undefined;
  });
  const { signal } = new AbortController();
  const read = async (): Promise<string> => {
    const chunks: Uint8Array[] = [];
    for await (const chunk of await client.stream("/api/v1/log?follow=true", signal)) chunks.push(chunk);
    return Buffer.concat(chunks).toString();
  };
  await t.rejects(read(), { code: "NotFound" });
  t.equal(await read(), "one\ntwo");
  await t.rejects(read(), { code: "Network" });
  t.equal(seen[0]?.url, "/base/api/v1/log?follow=true");
});

t.test("discovery: versions as distributions write them, and one that says nothing", async (t) => {
  const version = async (answer: object) => {
    const { client } = await against(t, (_, response) => json(response, 200, answer));
    const { major, minor } = await serverVersion(client);
    return [major, minor];
  };
  t.same(await version({ gitVersion: "v1.31.5-gke.1", major: "1", minor: "31+" }), [1, 31]);
  t.same(await version({ gitVersion: "v1.32.0-eks-5ca49cb", major: "1", minor: "32+" }), [1, 32]);
  t.same(await version({ gitVersion: "v1.x", major: "one", minor: "+" }), [0, 0], "taken for an older one");
  t.same(await version({}), [0, 0]);
});

t.test("discovery: the server's version and what it serves", async (t) => {
  const { client } = await against(t, (request, response) => {
    if (request.url === "/base/version")
      json(response, 200, { gitVersion: "v1.34.4+k3s1", major: "1", minor: "34+" });
    else if (request.url === "/base/apis/example.org/v1")
      json(response, 200, { resources: [{ name: "widgets" }] });
    else json(response, 404, status(404, "NotFound", "no"));
  });
  t.same(await serverVersion(client), { gitVersion: "v1.34.4+k3s1", major: 1, minor: 34 });
  t.ok(await serves(client, widgets));
  t.notOk(await serves(client, { ...widgets, plural: "gadgets" }));
  t.notOk(await serves(client, { ...widgets, group: "other.org" }));
});
