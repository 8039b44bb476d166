import { once } from "node:events";
import { request } from "node:http";
import { connect, type Socket } from "node:net";
import t from "tap";
import { testLog } from "../testkit/kube/fake_log.ts";
import { checksRoute, metricsRoute, parseAddress, plainText, startHttpEndpoints } from "./http_endpoints.ts";
import { nullLog } from "./log.ts";
import { createMetrics, createRegistry } from "./metrics.ts";
import { nullMetrics } from "./metrics_types.ts";

function fetchText(
  port: number,
  path: string,
  method = "GET",
  sentBody = "",
): Promise<{ status: number; body: string }> {
  return new Promise((resolve, reject) => {
    const sent = request({ port, path, method, host: "127.0.0.1", agent: false }, (response) => {
      let body = "";
      response.on("data", (chunk: Buffer) => {
        body += chunk.toString();
      });
      response.on("end", () => resolve({ status: response.statusCode ?? 0, body }));
    });
    sent.on("error", reject);
    sent.end(sentBody);
  });
}

t.test("checks are answered by name, with what is wrong", async (t) => {
  let ready = false;
  const checks = {
    ping: () => Promise.resolve(),
    "webhook-ready": () =>
      ready ? Promise.resolve() : Promise.reject(new Error("webhook controller has not initialized")),
  };
  const log = testLog();
  const failures: string[] = [];
  const broken = () => Promise.reject(new Error("a bug"));
  const endpoints = await startHttpEndpoints({
    address: "127.0.0.1:0",
    log,
    metrics: { unexpectedError: (where) => failures.push(where) },
    routes: { "/readyz": checksRoute("readyz", checks), "/broken": broken },
  });
  t.teardown(() => endpoints.close());
  const get = (path: string, method?: string) => fetchText(endpoints.port, path, method);
  t.same(await get("/readyz"), {
    status: 500,
    body: "[+]ping ok\n[-]webhook-ready failed: webhook controller has not initialized\nreadyz check failed\n",
  });
  t.equal((await get("/readyz/ping")).status, 200);
  t.equal((await get("/readyz/webhook-ready")).status, 500);
  t.equal((await get("/readyz/other")).status, 404);
  ready = true;
  t.same(await get("/readyz"), { status: 200, body: "ok" });
  t.same(await get("/readyz?verbose"), {
    status: 200,
    body: "[+]ping ok\n[+]webhook-ready ok\nreadyz check passed\n",
  });
  t.equal((await get("/else")).status, 404);
  t.equal((await get("/readyz", "POST")).status, 405);
  t.same(await get("/broken"), { status: 500, body: "internal error\n" });
  t.match(log.lines.at(-1), { message: "endpoint failed", fields: { path: "/broken" } });
  t.same(failures, ["endpoint"]);
});

t.test("a taken address is an error at start", async (t) => {
  const first = await startHttpEndpoints({
    address: "127.0.0.1:0",
    log: nullLog,
    metrics: nullMetrics,
    routes: {},
  });
  t.teardown(() => first.close());
  await t.rejects(
    startHttpEndpoints({
      address: `127.0.0.1:${first.port}`,
      log: nullLog,
      metrics: nullMetrics,
      routes: {},
    }),
    {
      code: "EADDRINUSE",
    },
  );
});

/** What the server says to bytes as they are, until it closes or `until` is there. */
function rawAnswer(port: number, sent: string, until = "\r\n\r\n"): Promise<string> {
  return new Promise((resolve, reject) => {
    let text = "";
    const socket = connect({ host: "127.0.0.1", port }, () => socket.write(sent));
    socket.setEncoding("latin1");
    socket.on("data", (chunk: string) => {
      text += chunk;
      if (text.includes(until)) socket.destroy();
    });
    socket.on("close", () => resolve(text));
    socket.on("error", reject);
  });
}

t.test("a target that names no path is refused", async (t) => {
  const endpoints = await startHttpEndpoints({
    address: "127.0.0.1:0",
    log: nullLog,
    metrics: nullMetrics,
    routes: { "/readyz": checksRoute("readyz", {}) },
  });
  t.teardown(() => endpoints.close());
  for (const target of ["//", "//:x", "http://[", "http://", "///"]) {
    const answer = await rawAnswer(endpoints.port, `GET ${target} HTTP/1.1\r\nHost: a\r\n\r\n`);
    t.match(answer, /^HTTP\/1.1 400 /, target);
  }
  const absolute = await rawAnswer(endpoints.port, "GET http://a/readyz HTTP/1.1\r\nHost: a\r\n\r\n");
  t.match(absolute, /^HTTP\/1.1 200 /);
  const large = `GET /readyz HTTP/1.1\r\nHost: a\r\nX: ${"x".repeat(9000)}\r\n\r\n`;
  t.match(await rawAnswer(endpoints.port, large), /^HTTP\/1.1 431 /);
});

t.test("many idle connections keep nobody out: the oldest goes", async (t) => {
  const endpoints = await startHttpEndpoints({
    address: "127.0.0.1:0",
    log: nullLog,
    metrics: nullMetrics,
    routes: { "/readyz": checksRoute("readyz", {}) },
  });
  t.teardown(() => endpoints.close());
  const idle: Socket[] = [];
  t.teardown(() => idle.forEach((socket) => void socket.destroy()));
  const open = async () => {
    const socket = connect({ host: "127.0.0.1", port: endpoints.port });
    socket.on("error", () => undefined);
    // On a slow machine the server closes it with 408, and what is not read holds the end back.
    socket.resume();
    idle.push(socket);
    await once(socket, "connect");
    return socket;
  };
  const first = once(await open(), "close");
  for (let count = 0; count < 256; count++) await open();
  await first;
  t.equal((await fetchText(endpoints.port, "/readyz")).status, 200);
});

t.test("requests for the same thing share one answer", async (t) => {
  let asked = 0;
  const finish = Promise.withResolvers<undefined>();
  const reply = (body: string) => ({ status: 200, contentType: "text/plain", body });
  const endpoints = await startHttpEndpoints({
    address: "127.0.0.1:0",
    log: nullLog,
    metrics: nullMetrics,
    routes: {
      "/slow": async () => {
        asked++;
        await finish.promise;
        return reply("slow");
      },
      "/last": async () => {
        finish.resolve(undefined);
        return reply("last");
      },
    },
  });
  t.teardown(() => endpoints.close());
  const sent = ["/slow", "/slow", "/last"].map((path) => `GET ${path} HTTP/1.1\r\nHost: a\r\n\r\n`);
  const answers = await rawAnswer(endpoints.port, sent.join(""), "last");
  t.equal(answers.split("HTTP/1.1 200").length - 1, 3);
  t.equal(asked, 1);
});

t.test("addresses", async (t) => {
  t.same(parseAddress(":8080"), { host: undefined, port: 8080 });
  t.same(parseAddress("127.0.0.1:0"), { host: "127.0.0.1", port: 0 });
  t.same(parseAddress("[::1]:80"), { host: "::1", port: 80 });
  for (const bad of ["8080", "a:b", ":70000", "::1:80", ""])
    t.throws(() => parseAddress(bad), RangeError, bad);
});

t.test("metrics carry the names that dashboards know", async (t) => {
  const registry = createRegistry();
  const metrics = createMetrics(registry);
  metrics.reconcileStarted("cloneset-controller");
  metrics.reconcileFinished("cloneset-controller", "success", 12);
  metrics.reconcileStarted("cloneset-controller");
  metrics.reconcileFinished("cloneset-controller", "panic", 12);
  metrics.workers("cloneset-controller", 3);
  metrics.queueAdded("cloneset-controller", 4);
  metrics.queueStarted("cloneset-controller", 3, 5);
  metrics.queueFinished("cloneset-controller", 6);
  metrics.queueRetried("cloneset-controller");
  metrics.webhookStarted("/mutate-pod");
  metrics.webhookFinished("/mutate-pod", 200, 4);
  metrics.request("10.0.0.1:443", {
    verb: "LIST",
    method: "GET",
    resource: "pods",
    code: "200",
    durationMs: 30,
    bytesOut: 0,
    bytesIn: 99,
  });
  metrics.leader(true);
  const endpoints = await startHttpEndpoints({
    address: "127.0.0.1:0",
    log: nullLog,
    metrics: nullMetrics,
    routes: { "/metrics": metricsRoute(registry) },
  });
  t.teardown(() => endpoints.close());
  const { body } = await fetchText(endpoints.port, "/metrics");
  const labels = 'name="cloneset-controller",controller="cloneset-controller"';
  for (const line of [
    'controller_runtime_reconcile_total{controller="cloneset-controller",result="success"} 1',
    'controller_runtime_reconcile_total{controller="cloneset-controller",result="error"} 1',
    'controller_runtime_reconcile_errors_total{controller="cloneset-controller"} 1',
    'controller_runtime_reconcile_panics_total{controller="cloneset-controller"} 1',
    'controller_runtime_reconcile_time_seconds_count{controller="cloneset-controller"} 2',
    'controller_runtime_max_concurrent_reconciles{controller="cloneset-controller"} 3',
    'controller_runtime_active_workers{controller="cloneset-controller"} 0',
    'controller_runtime_webhook_requests_total{webhook="/mutate-pod",code="200"} 1',
    'controller_runtime_webhook_latency_seconds_count{webhook="/mutate-pod"} 1',
    `workqueue_depth{${labels}} 3`,
    `workqueue_adds_total{${labels}} 1`,
    `workqueue_retries_total{${labels}} 1`,
    `workqueue_queue_duration_seconds_count{${labels}} 1`,
    `workqueue_work_duration_seconds_count{${labels}} 1`,
    'rest_client_requests_total{code="200",method="GET",host="10.0.0.1:443"} 1',
    "kruise_manager_is_leader 1",
  ]) {
    t.ok(body.split("\n").includes(line), line);
  }
  t.match(body, /^process_resident_memory_bytes [1-9]\d+$/m);
  t.doesNotThrow(() => createMetrics(createRegistry()), "a second instance in one process is no trouble");
});

t.test("a path may take short texts", async (t) => {
  let value = "1";
  const endpoints = await startHttpEndpoints({
    address: "127.0.0.1:0",
    log: nullLog,
    metrics: nullMetrics,
    routes: {
      "/value": {
        GET: async ({ query }) => plainText(200, `${value} ${query.get("a")}`),
        PUT: async (body) => {
          value = body;
          return plainText(200, "ok");
        },
      },
    },
  });
  t.teardown(() => endpoints.close());
  const ask = (path: string, method?: string, body?: string) => fetchText(endpoints.port, path, method, body);
  t.same(await ask("/value?a=b"), { status: 200, body: "1 b" });
  t.same(await ask("/value", "PUT", "2"), { status: 200, body: "ok" });
  t.same(await ask("/value", "PUT", "x".repeat(1_025)), { status: 413, body: "the body is too long\n" });
  t.same(await ask("/value", "DELETE"), { status: 405, body: "only GET and PUT\n" });
  t.equal(value, "2");
});
