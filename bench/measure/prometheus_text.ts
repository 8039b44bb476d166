/** Metrics in the Prometheus text format, read: of a manager, and of an API server. */

export interface Sample {
  readonly name: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly value: number;
}

const linePattern = /^([a-zA-Z_:][\w:]*)(?:\{(.*)\})?\s+(\S+)/;
const labelPattern = /([a-zA-Z_]\w*)="((?:[^"\\]|\\.)*)"/g;

/** The samples whose names are wanted; an API server serves tens of thousands of others. */
export function parseMetrics(text: string, wanted: ReadonlySet<string>): Sample[] {
  const samples: Sample[] = [];
  for (const line of text.split("\n")) {
    if (line === "" || line.startsWith("#")) continue;
    const name = /^[a-zA-Z_:][\w:]*/.exec(line)?.[0] ?? "";
    if (!wanted.has(name)) continue;
    const match = linePattern.exec(line);
    if (match === null) continue;
    const labels: Record<string, string> = {};
    for (const label of (match[2] ?? "").matchAll(labelPattern))
      labels[label[1] ?? ""] = unescaped(label[2] ?? "");
    samples.push({ name, labels, value: numberOf(match[3] ?? "") });
  }
  return samples;
}

function unescaped(text: string): string {
  return text.replace(/\\(.)/g, (_whole, letter: string) => (letter === "n" ? "\n" : letter));
}

function numberOf(text: string): number {
  if (text === "+Inf") return Number.POSITIVE_INFINITY;
  return text === "-Inf" ? Number.NEGATIVE_INFINITY : Number(text);
}

/** Sum of the samples of one name, by a key made of their labels. */
export function sumBy(
  samples: readonly Sample[],
  name: string,
  keyOf: (labels: Readonly<Record<string, string>>) => string,
): Record<string, number> {
  const sums: Record<string, number> = {};
  for (const sample of samples) {
    if (sample.name !== name) continue;
    const key = keyOf(sample.labels);
    sums[key] = (sums[key] ?? 0) + sample.value;
  }
  return sums;
}

/** What has grown from `before` to `after`; a counter that was reset counts from zero. */
export function grown(
  after: Readonly<Record<string, number>>,
  before: Readonly<Record<string, number>>,
): Record<string, number> {
  const by: Record<string, number> = {};
  for (const [key, value] of Object.entries(after)) {
    const was = before[key] ?? 0;
    const more = value >= was ? value - was : value;
    if (more > 0) by[key] = more;
  }
  return by;
}

export interface Histogram {
  /** Upper bound (as the metric has it, +Inf last) and how many were at or below it, ascending. */
  readonly buckets: readonly { readonly bound: number; readonly count: number }[];
}

/** Sum over all label sets that `accept`s. */
export function histogramOf(
  samples: readonly Sample[],
  name: string,
  accept: (labels: Readonly<Record<string, string>>) => boolean = () => true,
): Histogram {
  const counts = new Map<number, number>();
  for (const sample of samples) {
    if (sample.name !== `${name}_bucket` || !accept(sample.labels)) continue;
    const text = sample.labels["le"] ?? "";
    const bound = text === "+Inf" ? Number.POSITIVE_INFINITY : Number(text);
    counts.set(bound, (counts.get(bound) ?? 0) + sample.value);
  }
  const bounds = [...counts.keys()].sort((a, b) => a - b);
  return { buckets: bounds.map((bound) => ({ bound, count: counts.get(bound) ?? 0 })) };
}

/** What was observed between two scrapes. A process that began again in between counts from zero. */
export function histogramGrowth(after: Histogram, before: Histogram): Histogram {
  const known = new Map(before.buckets.map(({ bound, count }) => [bound, count]));
  const restarted = after.buckets.some(({ bound, count }) => count < (known.get(bound) ?? 0));
  if (restarted) return after;
  return {
    buckets: after.buckets.map(({ bound, count }) => ({ bound, count: count - (known.get(bound) ?? 0) })),
  };
}

export function countOf({ buckets }: Histogram): number {
  return buckets.at(-1)?.count ?? 0;
}

/**
 * The quantile, linear within its bucket; NaN of an empty histogram. Beyond the last finite bound that bound is
 * given. `at` 1 is the upper bound of the highest bucket in use: no observation was longer.
 */
export function histogramQuantile({ buckets }: Histogram, at: number): number {
  const total = buckets.at(-1)?.count ?? 0;
  if (total === 0) return Number.NaN;
  const rank = at * total;
  let lowerBound = 0;
  let lowerCount = 0;
  for (const { bound, count } of buckets) {
    if (count >= rank && count > lowerCount) {
      if (bound === Number.POSITIVE_INFINITY) return lowerBound;
      return lowerBound + (bound - lowerBound) * Math.min(1, (rank - lowerCount) / (count - lowerCount));
    }
    if (bound !== Number.POSITIVE_INFINITY) lowerBound = bound;
    lowerCount = count;
  }
  return lowerBound;
}
