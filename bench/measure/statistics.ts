/** Quantiles and confidence intervals. Pure; chance comes from outside. */
import type { Random } from "../../kube/index.ts";
import type { Distribution } from "./result.ts";

/** The value below which the share `at` (0 to 1) of the samples lies, linear between neighbours; NaN of none. */
export function quantile(sorted: readonly number[], at: number): number {
  if (sorted.length === 0) return Number.NaN;
  const place = (sorted.length - 1) * Math.min(1, Math.max(0, at));
  const below = sorted[Math.floor(place)] ?? Number.NaN;
  const above = sorted[Math.ceil(place)] ?? Number.NaN;
  return below + (above - below) * (place - Math.floor(place));
}

/** Of sorted samples in milliseconds. */
export function distributionOf(sorted: readonly number[], source: Distribution["source"]): Distribution {
  return {
    source,
    count: sorted.length,
    p50: quantile(sorted, 0.5),
    p90: quantile(sorted, 0.9),
    p99: quantile(sorted, 0.99),
    max: sorted.at(-1) ?? Number.NaN,
  };
}

export function ascending(values: Iterable<number>): number[] {
  return [...values].sort((a, b) => a - b);
}

/** At most `most` of the sorted samples, evenly spaced by rank, first and last included: the same distribution. */
export function thinned(sorted: readonly number[], most: number): number[] {
  if (sorted.length <= most) return [...sorted];
  return Array.from({ length: most }, (_, index) => quantile(sorted, index / (most - 1)));
}

export function mean(values: readonly number[]): number {
  return values.length === 0 ? Number.NaN : values.reduce((sum, value) => sum + value, 0) / values.length;
}

export interface Interval {
  readonly low: number;
  readonly high: number;
}

export interface Ratio {
  /** Mean of `after` by mean of `before`. */
  readonly ratio: number;
  /** Absent with fewer than two samples on both sides: one value says nothing of its own spread. */
  readonly interval?: Interval;
}

const resamples = 2_000;

/**
 * The ratio of two means with its bootstrap interval (percentiles): both sides are drawn again from themselves,
 * with replacement. `confidence` is 0 to 1.
 */
export function bootstrapRatio(
  before: readonly number[],
  after: readonly number[],
  random: Random,
  confidence = 0.95,
): Ratio {
  const ratio = mean(after) / mean(before);
  if (before.length < 2 || after.length < 2) return { ratio };
  const ratios: number[] = [];
  for (let round = 0; round < resamples; round++)
    ratios.push(drawnMean(after, random) / drawnMean(before, random));
  const sorted = ascending(ratios);
  const tail = (1 - confidence) / 2;
  return { ratio, interval: { low: quantile(sorted, tail), high: quantile(sorted, 1 - tail) } };
}

function drawnMean(values: readonly number[], random: Random): number {
  let sum = 0;
  for (let index = 0; index < values.length; index++)
    sum += values[Math.floor(random() * values.length)] ?? 0;
  return sum / values.length;
}
