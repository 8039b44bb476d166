/** The tables in docs/metrics.md, as the code registers metrics. `node tools/metrics_table.ts` writes them. */
import { readFileSync, writeFileSync } from "node:fs";
import { pathToFileURL } from "node:url";
import { createAgentMetrics } from "../agent/index.ts";
import { observe, refusalCounters } from "../cli/controller/metrics.ts";
import { objectMetricDescriptions } from "../controller/index.ts";
import { createRegistry, describeMetrics, type MetricDescription } from "../kube/index.ts";

const file = new URL("../docs/metrics.md", import.meta.url);
const begin = "<!-- metrics -->\n";
const end = "<!-- end of metrics -->\n";

export const metricsDocument = (): string => readFileSync(file, "utf8");

/** What the controller registers, by name. */
export function controllerMetrics(): MetricDescription[] {
  const { registry } = observe();
  refusalCounters(registry);
  return byName(describeMetrics(registry));
}

/** What the controller serves of workloads where a flag asks for it, by name. */
export const workloadMetrics = (): MetricDescription[] => byName(objectMetricDescriptions());

/** What the controller measures of its writes where a flag asks for it, by name. */
export function stageMetrics(): MetricDescription[] {
  const usual = new Set(controllerMetrics().map(({ name }) => name));
  const all = byName(describeMetrics(observe({ stages: true }).registry));
  return all.filter(({ name }) => !usual.has(name));
}

/** What an agent registers beyond that. */
export function agentMetrics(): MetricDescription[] {
  const registry = createRegistry();
  createAgentMetrics(registry);
  return byName(describeMetrics(registry));
}

function byName(metrics: readonly MetricDescription[]): MetricDescription[] {
  return metrics.toSorted((left, right) => (left.name < right.name ? -1 : 1));
}

/** The document with the tables that there should be. Throws where their place is not marked. */
export function withMetricsTables(document: string): string {
  const from = document.indexOf(begin);
  const to = document.indexOf(end);
  if (from < 0 || to < from)
    throw new Error(`docs/metrics.md needs the lines ${begin.trim()} and ${end.trim()}`);
  const controller = controllerMetrics();
  const own = controller.filter(({ name }) => name.startsWith("refit_"));
  const text = [
    section(
      "Of the controller, by the reference's names",
      controller.filter((metric) => !own.includes(metric)),
    ),
    section("Of the controller, its own", own),
    section("Of the controller, with `--stage-metrics`", stageMetrics()),
    section("Of workloads, with `--workload-metrics`", workloadMetrics()),
    section("Of an agent, beside those of its client and its process", agentMetrics()),
  ].join("\n");
  return `${document.slice(0, from)}${begin}\n${text}\n${document.slice(to)}`;
}

function section(title: string, metrics: readonly MetricDescription[]): string {
  const rows = metrics.map(
    ({ name, type, labels, help }) =>
      `| \`${name}\` | ${type} | ${labels.map((label) => `\`${label}\``).join(", ")} | ${help} |`,
  );
  return `## ${title}\n\n| metric | type | labels | what it says |\n|---|---|---|---|\n${rows.join("\n")}\n`;
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? "").href)
  writeFileSync(file, withMetricsTables(metricsDocument()));
