import t from "tap";
import { clockBetween, managerMetrics, requestsBetween } from "./manager_metrics.ts";
import { grown, histogramGrowth, histogramOf, histogramQuantile, parseMetrics } from "./prometheus_text.ts";
import { serverCpuBetween, serverMetrics } from "./server_metrics.ts";

t.test("requests of this project, of client-go and of an API server", async (t) => {
  const ours = `rest_client_requests_total{code="200",method="PATCH",host="h"} 7
refit_client_requests_total{verb="PATCH",resource="pods/status",code="200"} 4
refit_client_requests_total{verb="PATCH",resource="pods/status",code="409"} 1
refit_client_requests_total{verb="POST",resource="pods",code="201"} 2`;
  t.same(managerMetrics(ours).requests, { "PATCH pods/status": 5, "POST pods": 2 });
  const go = `# HELP x\nrest_client_requests_total{code="200",host="127.0.0.1:6443",method="PUT"} 7`;
  t.same(managerMetrics(go).requests, { PUT: 7 });
  const server = `apiserver_request_total{code="200",component="apiserver",resource="pods",subresource="status",verb="PATCH"} 1.5e+03
apiserver_request_total{code="409",component="apiserver",resource="pods",subresource="status",verb="PATCH"} 2
apiserver_request_total{code="200",resource="nodes",subresource="",verb="LIST"} 3
apiserver_longrunning_requests{resource="pods",verb="WATCH"} 4
apiserver_longrunning_requests{resource="nodes",verb="WATCH"} 2
apiserver_longrunning_requests{resource="pods",verb="CONNECT"} 1
apiserver_storage_size_bytes{storage_cluster_id="etcd-0"} 2.097152e+06
process_cpu_seconds_total 12.5`;
  t.same(serverMetrics(server), {
    requests: { "PATCH pods/status": 1502, "LIST nodes": 3 },
    cpuSeconds: 12.5,
    watches: 6,
    storeMb: 2,
  });
  t.match(
    serverMetrics(""),
    { requests: {}, cpuSeconds: undefined, storeMb: undefined, watches: 0 },
    "a server that does not tell",
  );
  t.same(requestsBetween(managerMetrics(ours), managerMetrics("")), {
    "PATCH pods/status": 5,
    "POST pods": 2,
  });
});

t.test("processor time of an API server", async (t) => {
  const at = (cpuSeconds: number | undefined) => ({ cpuSeconds });
  t.equal(serverCpuBetween(at(12.5), at(14)), 1.5);
  t.equal(serverCpuBetween(at(12.5), at(3)), undefined, "another server answered");
  t.equal(serverCpuBetween(at(undefined), at(14)), undefined);
  t.equal(serverCpuBetween(undefined, undefined), undefined);
});

t.test("growth, also over a restart of the counter", async (t) => {
  t.same(grown({ a: 3, b: 1 }, { a: 1, b: 1 }), { a: 2 });
  t.same(grown({ a: 2 }, { a: 10 }), { a: 2 }, "counted from zero");
});

t.test("labels with quotes, commas and line ends", async (t) => {
  const [sample] = parseMetrics('x{a="q\\"u,o",b="l\\nf"} +Inf', new Set(["x"]));
  t.same(sample, { name: "x", labels: { a: 'q"u,o', b: "l\nf" }, value: Number.POSITIVE_INFINITY });
  t.same(parseMetrics("y 1\nx{broken 2", new Set(["x"])), [], "a broken line is no sample");
});

const histogram = (counts: readonly number[]): string =>
  ["0.1", "0.5", "1", "+Inf"]
    .map((bound, index) => `workqueue_queue_duration_seconds_bucket{name="q",le="${bound}"} ${counts[index]}`)
    .join("\n");

t.test("quantiles of a histogram", async (t) => {
  const read = (text: string) =>
    histogramOf(
      parseMetrics(text, new Set(["workqueue_queue_duration_seconds_bucket"])),
      "workqueue_queue_duration_seconds",
    );
  const all = read(histogram([50, 90, 100, 100]));
  t.equal(histogramQuantile(all, 0.25), 0.05, "linear within the first bucket");
  t.equal(histogramQuantile(all, 0.5), 0.1);
  t.equal(histogramQuantile(all, 0.95), 0.75);
  t.equal(histogramQuantile(all, 1), 1, "the upper bound of the last bucket in use");
  t.equal(histogramQuantile(read(histogram([0, 0, 0, 4])), 0.5), 1, "beyond the bounds: the last of them");
  t.ok(Number.isNaN(histogramQuantile(read(""), 0.5)), "nothing was observed");
  const growth = histogramGrowth(all, read(histogram([50, 80, 90, 90])));
  t.equal(
    histogramQuantile(growth, 0.5).toFixed(3),
    "0.300",
    "only what was observed in between, all within 0.1 and 0.5",
  );
  t.same(histogramGrowth(read(histogram([1, 1, 1, 1])), all), read(histogram([1, 1, 1, 1])), "a new process");
});

t.test("a clock of the manager, in milliseconds", async (t) => {
  const before = managerMetrics(histogram([0, 0, 0, 0]));
  const after = managerMetrics(
    `${histogram([10, 10, 10, 10])}\nworkqueue_depth{name="a"} 2\nworkqueue_depth{name="b"} 3`,
  );
  const clock = clockBetween("reaction", after, before);
  t.equal(clock?.source, "manager");
  t.equal(clock?.count, 10);
  t.equal(clock?.p50, 50);
  t.equal(clock?.max, 100);
  t.equal(clockBetween("write", after, before), undefined, "not served");
  const staged = managerMetrics(
    ["urgent", "normal"]
      .map(
        (priority, index) =>
          `refit_stage_answer_seconds_bucket{priority="${priority}",le="0.${index + 1}"} 4`,
      )
      .join("\n"),
  );
  t.equal(clockBetween("urgentAnswer", staged, before)?.max, 100, "urgent requests for themselves");
  t.equal(clockBetween("answer", staged, before)?.max, 200);
  t.equal(after.queueDepth, 5);
  t.equal(before.queueDepth, undefined);
  const named = (name: string): string =>
    histogram([10, 10, 10, 10]).replaceAll('name="q"', `name="${name}"`);
  const both = managerMetrics(`${named("cloneset-controller")}\n${named("nodeimage")}`, ["CloneSet"]);
  t.equal(
    clockBetween("reaction", both, managerMetrics(""))?.count,
    10,
    "of the workload's controller alone",
  );
});
