/** The lines and areas of a plot as paths of SVG. */
import { svg, type TemplateResult } from "lit-html";
import type { Plot, PlotPoint, PlotSeries } from "../shared/plots.ts";
import { cornersOf, shareOf, stacked } from "./plot_scale.ts";

/** Of the drawing, which is stretched to the place that it has. */
export const plotWidth = 1_000;
export const plotHeight = 200;

/** Highest named values of the scales. */
export interface Heights {
  readonly left: number;
  readonly right: number;
}

export function seriesPaths(plot: Plot, heights: Heights): TemplateResult[] {
  const areas = plot.series.filter(({ form }) => form === "area");
  const sums = stacked(areas.map(({ points }) => points));
  const bands = areas.map((series, index) => {
    const below = sums[index - 1] ?? (sums[index] ?? []).map(([x]): PlotPoint => [x, 0]);
    const upper = cornersOf(sums[index] ?? [], plot.x.to);
    const lower = cornersOf(below, plot.x.to).reverse();
    return svg`<path class="band hue-${series.hue}" d="${pathOf([...upper, ...lower], plot, heights.left)}Z" />`;
  });
  return [
    ...bands,
    ...under(plot, heights),
    ...plot.series.flatMap((series) => linesOf(series, plot, heights)),
  ];
}

/** Below a step that stands alone; several would hide each other. */
function under(plot: Plot, heights: Heights): TemplateResult[] {
  const [step, ...others] = plot.series.filter(({ form }) => form === "step");
  const first = step?.points[0];
  if (step === undefined || first === undefined || others.length > 0) return [];
  const corners = cornersOf(step.points, plot.x.to);
  const ends: readonly PlotPoint[] = [
    [corners.at(-1)?.[0] ?? plot.x.to, 0],
    [first[0], 0],
  ];
  return [
    svg`<path class="under hue-${step.hue}" d="${pathOf([...corners, ...ends], plot, heights.left)}Z" />`,
  ];
}

function linesOf(series: PlotSeries, plot: Plot, heights: Heights): TemplateResult[] {
  const { form, hue, points, isRight } = series;
  if (form === "area") return [];
  const height = isRight === true ? heights.right : heights.left;
  const isStep = form === "step" || form === "limit";
  const d = pathOf(isStep ? cornersOf(points, plot.x.to) : points, plot, height);
  const line = svg`<path class="line ${form} hue-${hue}" d=${d} />`;
  if (form !== "dots") return [line];
  // A line of no length with round ends is a dot that is not stretched.
  const dots = points.map((point) => `${pathOf([point], plot, height)}h0`).join("");
  return [line, svg`<path class="line marks hue-${hue}" d=${dots} />`];
}

function pathOf(points: readonly PlotPoint[], { x }: Plot, height: number): string {
  const steps = points.map(([place, value]) => {
    const [left, top] = [plotWidth * shareOf(x, place), plotHeight * (1 - value / height)];
    return `${left.toFixed(1)} ${top.toFixed(1)}`;
  });
  return steps.length === 0 ? "" : `M${steps.join("L")}`;
}

/** A stroke as in the plot, or a patch of an area. */
export function sampleOf({ form, hue }: PlotSeries): TemplateResult {
  if (form === "area") return inSample(svg`<rect class="band hue-${hue}" width="14" height="14" rx="3" />`);
  const marks = form === "dots" ? svg`<path class="line marks hue-${hue}" d="M7 7h0" />` : "";
  return inSample(svg`<path class="line ${form} hue-${hue}" d="M0 7h14" />${marks}`);
}

const inSample = (shape: TemplateResult): TemplateResult =>
  svg`<svg class="sample" viewBox="0 0 14 14" aria-hidden="true">${shape}</svg>`;
