/** Metrics in the Prometheus text format, written of what is there when they are asked for: nothing is registered, nothing is kept. */
import { compareBytes, type Labels } from "./core/index.ts";

export interface MetricSample {
  readonly labels: Labels;
  readonly value: number;
}

/** Gauges of one name; those of several families of a name are written together, as the format wants them. */
export interface MetricFamily {
  readonly name: string;
  readonly help: string;
  samples(): Iterable<MetricSample>;
}

/** Each family with its help, type and samples, a line each. Of samples with equal labels the last one counts. */
export function metricsText(families: Iterable<MetricFamily>): string {
  const byName = Map.groupBy(families, ({ name }) => name);
  return [...byName].map(([name, parts]) => familyText(name, parts)).join("");
}

function familyText(name: string, parts: readonly MetricFamily[]): string {
  const values = new Map<string, number>();
  // What is no number, whatever its type says, would end the line and begin another.
  for (const part of parts)
    for (const { labels, value } of part.samples())
      if (Number.isFinite(value)) values.set(labelsText(labels), value);
  if (values.size === 0) return "";
  const lines = [`# HELP ${name} ${escapedHelp(parts[0]?.help ?? "")}`, `# TYPE ${name} gauge`];
  for (const [labels, value] of values) lines.push(`${name}${labels} ${value}`);
  return `${lines.join("\n")}\n`;
}

/** Labels without a value are left out: to Prometheus they are the same as none. */
function labelsText(labels: Labels): string {
  const parts: string[] = [];
  for (const name in labels) {
    const value = labels[name];
    if (value !== undefined && value !== "") parts.push(`${name}="${escapedValue(value)}"`);
  }
  return parts.length === 0 ? "" : `{${parts.join(",")}}`;
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
