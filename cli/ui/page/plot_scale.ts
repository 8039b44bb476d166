/** From values to places on a plot, and which values are named beside it. Pure. */
import type { PlotAxis, PlotPoint } from "../shared/plots.ts";

/** `12,000`, `0.25`: at most six digits behind the point. */
export function tickWords(value: number): string {
  const [whole = "", part] = String(Number(value.toFixed(6))).split(".");
  const grouped = whole.replace(/\B(?=(\d{3})+$)/g, ",");
  return part === undefined ? grouped : `${grouped}.${part}`;
}

/** `12 pods`, `0.25 s`, `1 pod`. */
export function amountWords(value: number, digits: number, unit: string): string {
  const number = value.toFixed(digits);
  return `${number} ${number === "1" ? unit.replace(/(?<=..)s$/, "") : unit}`;
}

/** The step between round values of which `most` or fewer fit into a span. */
function roundStep(span: number, most: number, isWhole: boolean): number {
  const rough = span / most;
  const power = 10 ** Math.floor(Math.log10(rough));
  const factor = [1, 2, 5].find((each) => each * power >= rough * 0.999) ?? 10;
  return isWhole ? Math.max(1, Math.ceil(factor * power)) : factor * power;
}

export function roundTicks(from: number, to: number, most: number, isWhole = false): number[] {
  if (!(to > from)) return [from];
  const step = roundStep(to - from, most, isWhole);
  const first = Math.ceil(from / step - 1e-9);
  const last = Math.floor(to / step + 1e-9);
  return Array.from({ length: last - first + 1 }, (_, index) =>
    Number(((first + index) * step).toPrecision(12)),
  );
}

/** Round values from 0 up to one that is no less than `highest`. */
export function scaleTicks(highest: number, isWhole: boolean): number[] {
  const step = roundStep(Math.max(highest, Number.MIN_VALUE), 4, isWhole);
  const count = Math.max(1, Math.ceil(highest / step - 1e-9));
  return Array.from({ length: count + 1 }, (_, index) => Number((index * step).toPrecision(12)));
}

/** The share of the width at which a value is: 0 to 1 within the axis. */
export function shareOf({ form, from, to }: Pick<PlotAxis, "form" | "from" | "to">, value: number): number {
  if (to === from) return 0.5;
  if (form !== "log") return (value - from) / (to - from);
  return Math.log(value / from) / Math.log(to / from);
}

/** The value at a share of the width. */
export function placeAt({ form, from, to }: Pick<PlotAxis, "form" | "from" | "to">, share: number): number {
  return form === "log" ? from * (to / from) ** share : from + share * (to - from);
}

/** Index of the last point at or before a place; -1 before the first. */
export function pointAt(points: readonly PlotPoint[], place: number): number {
  let [low, high] = [0, points.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((points[middle]?.[0] ?? Infinity) <= place) low = middle + 1;
    else high = middle;
  }
  return low - 1;
}

/** Corners of a line on which each value holds until the next, and the last until `end`. */
export function cornersOf(points: readonly PlotPoint[], end: number): PlotPoint[] {
  return points.flatMap(([x, value], index): PlotPoint[] => [
    [x, value],
    [Math.max(x, points[index + 1]?.[0] ?? end), value],
  ]);
}

/** Areas on top of each other: the points of each are the sums up to it. */
export function stacked(areas: readonly (readonly PlotPoint[])[]): PlotPoint[][] {
  const sums: PlotPoint[][] = [];
  for (const points of areas) {
    const below = sums.at(-1);
    sums.push(points.map(([x, value], index): PlotPoint => [x, value + (below?.[index]?.[1] ?? 0)]));
  }
  return sums;
}

/** The largest value; 0 where there is none above it. */
export function highestOf(points: readonly PlotPoint[]): number {
  return points.reduce((high, [, value]) => Math.max(high, value), 0);
}
