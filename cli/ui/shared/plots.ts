/** Plots as data: the page draws them of what it saw, and documents of others hold them as JSON. */
import type { PodState } from "./items.ts";

/** Horizontal place and value. */
export type PlotPoint = readonly [x: number, value: number];

/**
 * `area`: stands on the areas before it. `step`: a value holds until the next. `line`: from point to point. `limit`: a step
 * that others are not to pass. `dots`: a line through marked points, which alone can be read.
 */
export type PlotForm = "area" | "step" | "line" | "limit" | "dots";

/** A colour of the page: of a revision, 0 to 5, or one that stands back. */
export type PlotHue = 0 | 1 | 2 | 3 | 4 | 5 | "faint";

export interface PlotSeries {
  readonly label: string;
  readonly form: PlotForm;
  readonly hue: PlotHue;
  /** In the plural, as in `3 pods`. */
  readonly unit: string;
  /** Of the decimals. */
  readonly digits: number;
  /** By their horizontal place, upwards. Areas of one plot have the same places. */
  readonly points: readonly PlotPoint[];
  /** Its scale is the one at the right. */
  readonly isRight?: boolean;
  /** Its values are numbers of pods in this state, which a grid can show. */
  readonly state?: PodState;
}

export interface PlotAxis {
  readonly label: string;
  readonly from: number;
  readonly to: number;
  /** `clock`: milliseconds since the epoch. `log`: of places above 0. */
  readonly form: "linear" | "log" | "clock";
  readonly unit: string;
  readonly digits: number;
  /** Places that are named, in place of round ones. */
  readonly ticks?: readonly number[];
}

export interface PlotScale {
  readonly label: string;
  /** At least so high; higher where a value is. */
  readonly most: number;
  /** Only whole numbers are named. */
  readonly isWhole: boolean;
}

export interface Plot {
  readonly title: string;
  readonly x: PlotAxis;
  readonly left: PlotScale;
  readonly right?: PlotScale;
  readonly series: readonly PlotSeries[];
}

/** Plots that stand together: what is pointed at in one is pointed at in all of them. */
export interface PlotGroup {
  /** Id of the element that they are drawn into. */
  readonly place: string;
  readonly plots: readonly Plot[];
  /** The areas of the first plot are shown as a grid of pods as well. */
  readonly hasGrid: boolean;
}

/** Id of the element that holds the groups of a document. */
export const plotDataId = "plot-data";
