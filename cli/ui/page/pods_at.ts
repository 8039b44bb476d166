/** Pods of which only their numbers are known, as cells of the grid. Pure. */
import type { Plot } from "../shared/plots.ts";
import type { GridPod } from "./grid.ts";
import { valueAt } from "./plot.ts";
import { highestOf, stacked } from "./plot_scale.ts";

/** One cell stands for more pods where there would be more cells than this. */
const mostCells = 2_000;

export interface PodCells {
  readonly cells: readonly GridPod[];
  readonly podsPerCell: number;
}

/** The areas of a plot at a place, in their order. What is there at all has a cell. */
export function podsAt(plot: Plot, at: number): PodCells {
  const podsPerCell = podsPerCellOf(plot);
  const cells: GridPod[] = [];
  for (const series of plot.series) {
    const { label, state, hue } = series;
    if (state === undefined) continue;
    const pod = { name: label, state, revision: String(hue) };
    const count = Math.ceil((valueAt(series, at) ?? 0) / podsPerCell);
    for (let index = 0; index < count; index++) cells.push({ key: `${label}/${index}`, pod, group: "" });
  }
  return { cells, podsPerCell };
}

/** The same at all places, so that cells can be compared. */
function podsPerCellOf({ series }: Plot): number {
  const areas = series.filter(({ state }) => state !== undefined).map(({ points }) => points);
  const most = highestOf(stacked(areas).at(-1) ?? []);
  return [1, 2, 5, 10, 20, 50, 100, 200, 500].find((each) => most / each <= mostCells) ?? 1_000;
}

/** Number of a hue among the colours of the grid: the one behind those of revisions stands back. */
export function hueNumber(revision: string): number {
  const hue = Number(revision);
  return Number.isInteger(hue) ? hue : 6;
}
