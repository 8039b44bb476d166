/** The Grafana dashboard in bundles/monitoring, made of the panels below. `node tools/dashboard.ts` writes it. */
import { readFileSync, writeFileSync } from "node:fs";
import { pathToFileURL } from "node:url";

const file = new URL("../bundles/monitoring/dashboard.json", import.meta.url);

export const dashboardText = (): string => readFileSync(file, "utf8");

interface Panel {
  readonly title: string;
  /** As Grafana names it: `s`, `ops`, `bytes`, `short`, `percentunit`. */
  readonly unit: string;
  /** Expression and legend of each series. */
  readonly series: readonly (readonly [expression: string, legend: string])[];
}

const rate = (metric: string, by: string): string =>
  `sum by (${by}) (rate(${metric}{instance=~"$instance"}[$__rate_interval]))`;
const quantile = (share: number, metric: string, by: string): string =>
  `histogram_quantile(${share}, ${rate(`${metric}_bucket`, `${by}, le`)})`;
const gauge = (metric: string, by: string): string => `max by (${by}) (${metric}{instance=~"$instance"})`;

/** Of each workload of a kind, by namespace and name. */
const each = (kind: string, metric: string): string =>
  gauge(`kruise_${kind}_${metric}`, `namespace, ${kind}`);
const updated = (kind: string, metric: string, wanted: string): Panel["series"][number] => [
  `${each(kind, metric)} / (${each(kind, wanted)} > 0) < 1`,
  `{{namespace}}/{{${kind}}}`,
];
const unavailable = (kind: string): Panel["series"][number] => [
  `${each(kind, "spec_replicas")} - ${each(kind, "status_replicas_available")} > 0`,
  `{{namespace}}/{{${kind}}}`,
];

const panel = (title: string, unit: string, ...series: Panel["series"]): Panel => ({ title, unit, series });

/** Rows from the top, with their panels. */
const rows: readonly (readonly [title: string, panels: readonly Panel[]])[] = [
  [
    "Controller",
    [
      panel("Leader", "short", [gauge("kruise_manager_is_leader", "instance"), "{{instance}}"]),
      panel("Passes", "ops", [rate("controller_runtime_reconcile_total", "controller"), "{{controller}}"]),
      panel("Passes that failed", "ops", [
        rate("controller_runtime_reconcile_errors_total", "controller"),
        "{{controller}}",
      ]),
      panel("Time of a pass, 99 %", "s", [
        quantile(0.99, "controller_runtime_reconcile_time_seconds", "controller"),
        "{{controller}}",
      ]),
      panel("Objects that wait", "short", [gauge("workqueue_depth", "name"), "{{name}}"]),
      panel("Wait in the queue, 99 %", "s", [
        quantile(0.99, "workqueue_queue_duration_seconds", "name"),
        "{{name}}",
      ]),
    ],
  ],
  [
    "Rollouts (--workload-metrics)",
    [
      panel(
        "Share that is updated",
        "percentunit",
        updated("cloneset", "status_replicas_updated", "spec_replicas"),
        updated("statefulset", "status_replicas_updated", "spec_replicas"),
        updated("daemonset", "status_updated_number_scheduled", "status_desired_number_scheduled"),
      ),
      panel("Left to update, beyond the partition", "short", [
        `${gauge("refit_rollout_replicas_to_update", "kind, namespace, name")} > 0`,
        "{{kind}} {{namespace}}/{{name}}",
      ]),
      panel("Unavailable", "short", unavailable("cloneset"), unavailable("statefulset"), [
        `${each("daemonset", "status_number_unavailable")} > 0`,
        "{{namespace}}/{{daemonset}}",
      ]),
      panel("Pods with outdated sidecars", "short", [
        `${gauge("kruise_sidecarset_status_replicas_matched", "sidecarset")} - ${gauge("kruise_sidecarset_status_replicas_updated", "sidecarset")} > 0`,
        "{{sidecarset}}",
      ]),
    ],
  ],
  [
    "Webhooks",
    [
      panel("Reviews", "ops", [
        rate("controller_runtime_webhook_requests_total", "webhook, code"),
        "{{webhook}} {{code}}",
      ]),
      panel("Time of a review, 99 %", "s", [
        quantile(0.99, "controller_runtime_webhook_latency_seconds", "webhook"),
        "{{webhook}}",
      ]),
      panel(
        "Refused by budgets and protection",
        "ops",
        [rate("pod_unavailable_budget", "instance"), "budgets"],
        [rate("workload_deletion_protection", "instance"), "workloads"],
        [rate("namespace_deletion_protection", "instance"), "namespaces"],
        [rate("crd_deletion_protection", "instance"), "definitions"],
      ),
    ],
  ],
  [
    "API server",
    [
      panel("Requests", "ops", [
        rate("refit_client_requests_total", "verb, resource"),
        "{{verb}} {{resource}}",
      ]),
      panel("Answers by code", "ops", [rate("rest_client_requests_total", "code"), "{{code}}"]),
      panel("Time of a request, 99 %", "s", [
        quantile(0.99, "rest_client_request_duration_seconds", "verb"),
        "{{verb}}",
      ]),
      panel(
        "Window of requests",
        "short",
        [gauge("refit_client_window_limit", "instance"), "limit {{instance}}"],
        [gauge("refit_client_window_in_flight", "instance"), "in flight {{instance}}"],
        [gauge("refit_client_window_waiting", "instance"), "waiting {{instance}}"],
      ),
      panel("Watch events", "ops", [rate("refit_watch_events_total", "resource"), "{{resource}}"]),
      panel("Watches that started again", "ops", [
        rate("refit_watch_restarts_total", "resource, reason"),
        "{{resource}} {{reason}}",
      ]),
    ],
  ],
  [
    "Processes",
    [
      panel(
        "Memory",
        "bytes",
        [gauge("process_resident_memory_bytes", "instance"), "resident {{instance}}"],
        [gauge("nodejs_heap_size_used_bytes", "instance"), "heap {{instance}}"],
      ),
      panel("CPU", "short", [rate("process_cpu_seconds_total", "instance"), "{{instance}}"]),
      panel("Unexpected errors", "ops", [rate("refit_unexpected_errors_total", "where"), "{{where}}"]),
    ],
  ],
  [
    "Agents",
    [
      panel("Runtimes that do not answer", "short", [
        'count(kruise_daemon_runtime_ready{instance=~"$instance"} == 0)',
        "nodes",
      ]),
      panel("Image pulls", "ops", [rate("kruise_daemon_image_pull_total", "result"), "{{result}}"]),
      panel("Containers stopped", "ops", [
        rate("kruise_daemon_container_kill_total", "reason, result"),
        "{{reason}} {{result}}",
      ]),
      panel("Calls to runtimes, 99 %", "s", [
        quantile(0.99, "kruise_daemon_cri_request_duration_seconds", "method"),
        "{{method}}",
      ]),
    ],
  ],
];

/** Every expression of the dashboard. */
export const expressions: readonly string[] = rows.flatMap(([, panels]) =>
  panels.flatMap(({ series }) => series.map(([expression]) => expression)),
);

const source = { type: "prometheus", uid: "$datasource" };
const columns = 3;
const width = 24 / columns;
const height = 8;

export function dashboard(): object {
  const panels: object[] = [];
  let y = 0;
  for (const [title, ofRow] of rows) {
    panels.push({
      id: panels.length + 1,
      type: "row",
      title,
      gridPos: { x: 0, y, w: 24, h: 1 },
      collapsed: false,
      panels: [],
    });
    y += 1;
    for (const [index, panel] of ofRow.entries()) {
      const x = (index % columns) * width;
      const top = y + Math.floor(index / columns) * height;
      panels.push(timeSeries(panels.length + 1, panel, { x, y: top, w: width, h: height }));
    }
    y += Math.ceil(ofRow.length / columns) * height;
  }
  return {
    uid: "refit",
    title: "Refit",
    tags: ["refit", "openkruise"],
    schemaVersion: 39,
    editable: true,
    refresh: "30s",
    time: { from: "now-3h", to: "now" },
    templating: { list: variables },
    panels,
  };
}

const variables = [
  { name: "datasource", label: "Data source", type: "datasource", query: "prometheus" },
  {
    name: "instance",
    label: "Instance",
    type: "query",
    datasource: source,
    query: { query: "label_values(process_start_time_seconds, instance)", refId: "instances" },
    refresh: 2,
    includeAll: true,
    multi: true,
    current: { text: "All", value: "$__all" },
  },
];

function timeSeries(id: number, { title, unit, series }: Panel, gridPos: object): object {
  return {
    id,
    type: "timeseries",
    title,
    datasource: source,
    gridPos,
    fieldConfig: { defaults: { unit, min: 0 }, overrides: [] },
    options: {
      legend: { displayMode: "list", placement: "bottom" },
      tooltip: { mode: "multi", sort: "desc" },
    },
    targets: series.map(([expr, legendFormat], index) => ({
      refId: String.fromCharCode(65 + index),
      datasource: source,
      expr,
      legendFormat,
    })),
  };
}

export const madeText = (): string => `${JSON.stringify(dashboard(), undefined, 2)}\n`;

if (import.meta.url === pathToFileURL(process.argv[1] ?? "").href) writeFileSync(file, madeText());
