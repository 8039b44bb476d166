import { request } from "node:http";
import t from "tap";
import { checksRoute, metricsRoute, parseAddress, startHttpEndpoints } from "./http_endpoints.ts";
import { nullLog } from "./log.ts";
import { createMetrics, createRegistry } from "./metrics.ts";
import { testLog } from "./testing.ts";

function fetchText(port: number, path: string, method = "GET"): Promise<{ status: number; body: string }> {
  return new Promise((resolve, reject) => {
    const sent = request({ port, path, method, host: "127.0.0.1", agent: false }, (response) => {
      let body = "";
      response.on("data", (chunk: Buffer) => {
        body += chunk.toString();
      });
      response.on("end", () => resolve({ status: response.statusCode ?? 0, body }));
    });
    sent.on("error", reject);
    sent.end();
  });
}

t.test("what is no path is refused, and the next request is answered", async (t) => {
  const routes = { "/readyz": checksRoute("readyz", {}) };
  const endpoints = await startHttpEndpoints({ address: "127.0.0.1:0", log: nullLog, routes });
  t.teardown(() => endpoints.close());
  t.same(await fetchText(endpoints.port, "//"), { status: 400, body: "not a path\n" });
  t.same(await fetchText(endpoints.port, "/readyz"), { status: 200, body: "ok" });
});

t.test("checks are answered by name, with what is wrong", async (t) => {
  let ready = false;
  const checks = {
    ping: () => Promise.resolve(),
    "webhook-ready": () =>
      ready ? Promise.resolve() : Promise.reject(new Error("webhook controller has not initialized")),
  };
  const log = testLog();
  const broken = () => Promise.reject(new Error("a bug"));
  const endpoints = await startHttpEndpoints({
    address: "127.0.0.1:0",
    log,
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
});

t.test("a taken address is an error at start", async (t) => {
  const first = await startHttpEndpoints({ address: "127.0.0.1:0", log: nullLog, routes: {} });
  t.teardown(() => first.close());
  await t.rejects(startHttpEndpoints({ address: `127.0.0.1:${first.port}`, log: nullLog, routes: {} }), {
    code: "EADDRINUSE",
  });
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
