/** Whether something stays level over time: the line of least squares through its samples, and a verdict. Pure. */
import { BenchError } from "../errors.ts";
import type { Steadiness } from "./result.ts";

export interface Level {
  readonly name: string;
  readonly unit: string;
  /** Growth over all samples that is no leak, in `unit`. */
  readonly allowed: number;
  /** To fall is as bad as to grow. */
  readonly bothWays?: boolean;
}

/** What is filled once, caches and compiled code, belongs to the beginning and not to the line. */
const warmUpShare = 0.2;
const fewest = 4;

/**
 * `values` were seen at `atMs`, which ascend. Not steady is what moved by more than is allowed and by more than chance
 * explains: twice the standard error of the slope. Throws BenchError when fewer than 4 samples follow the warm-up.
 */
export function steadinessOf(level: Level, atMs: readonly number[], values: readonly number[]): Steadiness {
  const from = Math.ceil(atMs.length * warmUpShare);
  const [times, kept] = [atMs.slice(from), values.slice(from)];
  if (kept.length < fewest)
    throw new BenchError(`${level.name}: ${kept.length} samples are too few for a verdict (--minutes)`);
  const { slope, error } = lineThrough(times, kept);
  const span = (times.at(-1) ?? 0) - (times[0] ?? 0);
  const [growth, uncertain] = [slope * span, 2 * error * span];
  const moved = level.bothWays === true ? Math.abs(growth) : growth;
  return {
    name: level.name,
    unit: level.unit,
    first: kept[0] ?? 0,
    last: kept.at(-1) ?? 0,
    growth,
    uncertain,
    anHour: slope * 3_600_000,
    allowed: level.allowed,
    isSteady: moved <= level.allowed || moved <= uncertain,
  };
}

/** Slope, and its standard error. */
function lineThrough(x: readonly number[], y: readonly number[]): { slope: number; error: number } {
  const mean = (values: readonly number[]): number =>
    values.reduce((sum, value) => sum + value, 0) / values.length;
  const [meanX, meanY] = [mean(x), mean(y)];
  let [spread, together] = [0, 0];
  for (const [index, at] of x.entries()) {
    spread += (at - meanX) ** 2;
    together += (at - meanX) * ((y[index] ?? 0) - meanY);
  }
  const slope = together / spread;
  const left = x.map((at, index) => ((y[index] ?? 0) - meanY - slope * (at - meanX)) ** 2);
  const error = Math.sqrt(left.reduce((sum, value) => sum + value, 0) / (x.length - 2) / spread);
  return { slope, error };
}
