/** A plot: lines and areas over time or size, whose values are read by pointer and by keys. */
import { html, nothing, svg, type TemplateResult } from "lit-html";
import type { Plot, PlotAxis, PlotScale, PlotSeries } from "../shared/plots.ts";
import { type Heights, plotHeight, plotWidth, sampleOf, seriesPaths } from "./plot_paths.ts";
import {
  amountWords,
  highestOf,
  placeAt,
  pointAt,
  roundTicks,
  scaleTicks,
  shareOf,
  stacked,
  tickWords,
} from "./plot_scale.ts";
import { shapeSample } from "./samples.ts";
import { clockTime } from "./words.ts";

/** What somebody points at; plots that stand together share it. */
export interface PlotChoice {
  /** A place on the horizontal axis; undefined while nothing is pointed at. */
  at: number | undefined;
  /** The part that is shown; undefined for all of it. */
  range: readonly [from: number, to: number] | undefined;
  /** Where a part that is being drawn out begins. */
  dragFrom: number | undefined;
}

export const newPlotChoice = (): PlotChoice => ({ at: undefined, range: undefined, dragFrom: undefined });

export interface PlotView {
  readonly plot: Plot;
  readonly choice: PlotChoice;
  /** A place that is shown elsewhere. */
  readonly mark?: number | undefined;
  /** What is read above the plot, in place of its title. */
  readonly caption?: TemplateResult;
  changed(): void;
}

export function plotView(view: PlotView): TemplateResult {
  const { choice } = view;
  const [from, to] = choice.range ?? [view.plot.x.from, view.plot.x.to];
  const plot: Plot = { ...view.plot, x: { ...view.plot.x, from, to } };
  const { title, left, right, series } = plot;
  const ticks = { left: ticksOf(plot, left, false), right: right && ticksOf(plot, right, true) };
  const all = (): void => {
    choice.range = undefined;
    view.changed();
  };
  return html`<figure class="plotted">
    <figcaption>
      <span>${view.caption ?? title}</span>
      ${choice.range === undefined ? nothing : html`<button type="button" class="plain" @click=${all}>Show all of it</button>`}
    </figcaption>
    <div class="plot-frame ${right === undefined ? "" : "two"}">
      <div class="units"><span>${left.label}</span>${right === undefined ? nothing : html`<span>${right.label}</span>`}</div>
      ${scaleNames(ticks.left, "left")}
      ${surface({ ...view, plot }, { left: ticks.left.at(-1) ?? 1, right: ticks.right?.at(-1) ?? 1 }, ticks.left)}
      ${ticks.right === undefined ? nothing : scaleNames(ticks.right, "right")}
      ${placeNames(plot.x)}
    </div>
    <ul class="readings">
      <li class="place"><span class="quiet">${plot.x.label}</span><b>${choice.at === undefined ? "" : placeWords(plot.x, choice.at)}</b></li>
      ${series.map((each) => reading(each, choice.at))}
    </ul>
  </figure>`;
}

function ticksOf({ series }: Plot, { most, isWhole }: PlotScale, isRight: boolean): number[] {
  const own = series.filter((each) => (each.isRight === true) === isRight);
  const areas = own.filter(({ form }) => form === "area").map(({ points }) => points);
  const highest = own.reduce(
    // A limit has room above it, so that it can be told from the edge.
    (high, { form, points }) => Math.max(high, (form === "limit" ? 1.1 : 1) * highestOf(points)),
    Math.max(most, highestOf(stacked(areas).at(-1) ?? [])),
  );
  return scaleTicks(highest, isWhole);
}

function scaleNames(ticks: readonly number[], side: "left" | "right"): TemplateResult {
  const top = ticks.at(-1) ?? 1;
  const [x, anchor] = side === "left" ? ["100%", "end"] : ["0", "start"];
  return html`<svg class="names ${side}" aria-hidden="true">
    ${ticks.map((tick) => svg`<text x=${x} y="${100 * (1 - tick / top)}%" dy="0.32em" text-anchor=${anchor}>${tickWords(tick)}</text>`)}
  </svg>`;
}

function placeNames(x: PlotAxis): TemplateResult {
  const known = x.ticks?.filter((tick) => tick >= x.from && tick <= x.to);
  const ticks = known ?? (x.form === "clock" ? [x.from, x.to] : roundTicks(x.from, x.to, 6));
  const name = (tick: number): TemplateResult => {
    const share = shareOf(x, tick);
    const anchor = share < 0.04 ? "start" : share > 0.96 ? "end" : "middle";
    const words = x.form === "clock" ? clockTime(tick) : tickWords(tick);
    return svg`<text x="${100 * share}%" y="1em" text-anchor=${anchor}>${words}</text>`;
  };
  return html`<svg class="names below" aria-hidden="true">${ticks.map(name)}</svg>`;
}

function placeWords(x: PlotAxis, at: number): string {
  return x.form === "clock" ? clockTime(at) : amountWords(at, x.digits, x.unit);
}

function reading(series: PlotSeries, at: number | undefined): TemplateResult {
  const { state, hue, label } = series;
  const sample =
    state === undefined ? sampleOf(series) : html`<span class="hue-${hue}">${shapeSample(state)}</span>`;
  return html`<li>${sample}<span>${label}</span><b>${at === undefined ? "" : valueWords(series, at)}</b></li>`;
}

/** The value at a place; undefined where there is none. */
export function valueAt({ points, form }: PlotSeries, at: number): number | undefined {
  const point = points[pointAt(points, at)];
  return form === "dots" && point?.[0] !== at ? undefined : point?.[1];
}

function valueWords(series: PlotSeries, at: number): string {
  const value = valueAt(series, at);
  return value === undefined ? "–" : amountWords(value, series.digits, series.unit);
}

function surface(view: PlotView, heights: Heights, lines: readonly number[]): TemplateResult {
  const { plot, choice, mark } = view;
  const { x, title } = plot;
  const at = choice.at ?? x.from;
  const read = (each: PlotSeries): string => `${each.label} ${valueWords(each, at)}`;
  const level = (tick: number): number => plotHeight * (1 - tick / heights.left);
  const upright = (place: number | undefined, look: string): TemplateResult | typeof nothing => {
    if (place === undefined || place < x.from || place > x.to) return nothing;
    const left = plotWidth * shareOf(x, place);
    return svg`<line class=${look} x1=${left} x2=${left} y1="0" y2=${plotHeight} />`;
  };
  return html`<div
    class="surface"
    tabindex="0"
    role="slider"
    aria-label=${title}
    aria-valuemin=${x.from}
    aria-valuemax=${x.to}
    aria-valuenow=${at}
    aria-valuetext=${`${placeWords(x, at)}: ${plot.series.map(read).join(", ")}`}
    @pointermove=${(event: PointerPosition) => point(view, event)}
    @pointerleave=${() => leave(view)}
    @pointerdown=${(event: PointerPosition) => begin(view, event)}
    @pointerup=${(event: PointerPosition) => end(view, event)}
    @keydown=${(event: KeyPress) => move(view, event)}
  >
    <svg class="plot" viewBox="0 0 ${plotWidth} ${plotHeight}" preserveAspectRatio="none" aria-hidden="true">
      ${lines.map((tick) => svg`<line class="tick" x1="0" x2=${plotWidth} y1=${level(tick)} y2=${level(tick)} />`)}
      ${seriesPaths(plot, heights)}
      ${drawnOut(view)} ${upright(mark, "mark-line")} ${upright(choice.at, "cursor")}
    </svg>
  </div>`;
}

function drawnOut({ plot: { x }, choice: { dragFrom, at } }: PlotView): TemplateResult | typeof nothing {
  if (dragFrom === undefined || at === undefined) return nothing;
  const [from, to] = [shareOf(x, Math.min(dragFrom, at)), shareOf(x, Math.max(dragFrom, at))];
  return svg`<rect class="drawn-out" x=${plotWidth * from} width=${plotWidth * (to - from)} y="0" height=${plotHeight} />`;
}

/** Undefined where the plot has no width. */
function placeOf({ plot }: PlotView, { offsetX, currentTarget }: PointerPosition): number | undefined {
  if (!(currentTarget instanceof HTMLElement) || currentTarget.clientWidth === 0) return undefined;
  const at = placeAt(plot.x, Math.min(1, Math.max(0, offsetX / currentTarget.clientWidth)));
  if (!plot.series.some(({ form }) => form === "dots")) return at;
  const share = (place: number): number => Math.abs(shareOf(plot.x, place) - shareOf(plot.x, at));
  return placesIn(plot).reduce((best, each) => (share(each) < share(best) ? each : best), plot.x.from);
}

function placesIn({ series, x }: Plot): number[] {
  const places = new Set(series.flatMap(({ points }) => points.map(([place]) => place)));
  return [...places].filter((place) => place >= x.from && place <= x.to).sort((a, b) => a - b);
}

function point(view: PlotView, event: PointerPosition): void {
  view.choice.at = placeOf(view, event);
  view.changed();
}

function leave({ choice, changed }: PlotView): void {
  choice.at = undefined;
  choice.dragFrom = undefined;
  changed();
}

function begin(view: PlotView, event: PointerPosition): void {
  view.choice.dragFrom = placeOf(view, event);
}

/** A part of the width that was drawn out is shown alone; what is shorter was a click. */
function end(view: PlotView, event: PointerPosition): void {
  const { choice, plot } = view;
  const [from, to] = [choice.dragFrom, placeOf(view, event)];
  choice.dragFrom = undefined;
  view.changed();
  if (from === undefined || to === undefined) return;
  if (Math.abs(shareOf(plot.x, from) - shareOf(plot.x, to)) < 0.02) return;
  choice.range = from < to ? [from, to] : [to, from];
}

/** From point to point, and to the ends. */
function move({ plot, choice, changed }: PlotView, event: KeyPress): void {
  const places = placesIn(plot);
  const { at } = choice;
  const to: Readonly<Record<string, () => number | undefined>> = {
    ArrowRight: () => places.find((place) => at === undefined || place > at) ?? at,
    ArrowLeft: () => places.findLast((place) => at === undefined || place < at) ?? at,
    Home: () => places[0],
    End: () => places.at(-1),
    Escape: () => undefined,
  };
  const found = to[event.key];
  if (found === undefined) return;
  event.preventDefault();
  choice.at = found();
  changed();
}
