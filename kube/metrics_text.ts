/** Metrics in the Prometheus text format, written of what is there when they are asked for: nothing is registered, nothing is kept. */
import { compareBytes, type Labels } from "./core/index.ts";

export interface MetricSample {
  /** As `labelsText` writes them; empty for none. */
  readonly labels: string;
  readonly value: number;
}

/** Gauges of one name; those of several families of a name are written together, as the format wants them. */
export interface MetricFamily {
  readonly name: string;
  readonly help: string;
  samples(): Iterable<MetricSample>;
}

/** Each family with its help, type and samples, a line each. Two samples of a family have different labels. */
export function metricsText(families: Iterable<MetricFamily>): string {
  const byName = Map.groupBy(families, ({ name }) => name);
  return [...byName].map(([name, parts]) => familyText(name, parts)).join("");
}

function familyText(name: string, parts: readonly MetricFamily[]): string {
  const lines: string[] = [];
  // What is no number, whatever its type says, would end the line and begin another.
  for (const part of parts)
    for (const { labels, value } of part.samples())
      if (Number.isFinite(value))
        lines.push(labels === "" ? `${name} ${value}\n` : `${name}{${labels}} ${value}\n`);
  if (lines.length === 0) return "";
  return `# HELP ${name} ${escapedHelp(parts[0]?.help ?? "")}\n# TYPE ${name} gauge\n${lines.join("")}`;
}

/** `a="1",b="2"`, with what would end a value escaped. Labels without a value are left out: to Prometheus they are none. */
export function labelsText(labels: Labels): string {
  let text = "";
  for (const [name, value] of Object.entries(labels))
    if (value !== "") text += `${text === "" ? "" : ","}${name}="${escapedValue(value)}"`;
  return text;
}

const escapes: Readonly<Record<string, string>> = { "\\": "\\\\", "\n": "\\n", '"': '\\"' };

function escapedValue(value: string): string {
  return value.replace(/[\\\n"]/g, (character) => escapes[character] ?? character);
}

function escapedHelp(help: string): string {
  return help.replace(/[\\\n]/g, (character) => escapes[character] ?? character);
}

/**
 * Labels of an object as labels of a metric: `app.kubernetes.io/name` is `label_app_kubernetes_io_name`, as kube-state-metrics
 * writes it. Those that become equal by that are numbered: `label_a_b_conflict1`, `label_a_b_conflict2`.
 */
export function metricLabels(labels: Labels): Labels {
  const byName = Map.groupBy(Object.keys(labels).toSorted(compareBytes), metricLabelName);
  const named = [...byName].flatMap(([name, keys]) =>
    keys.map((key, index) => [keys.length === 1 ? name : `${name}_conflict${index + 1}`, labels[key] ?? ""]),
  );
  return Object.fromEntries(named);
}

function metricLabelName(key: string): string {
  const words = key.replace(/[^a-zA-Z0-9_]/g, "_").replace(/([a-z0-9])([A-Z])/g, "$1_$2");
  return `label_${words.toLowerCase()}`;
}
