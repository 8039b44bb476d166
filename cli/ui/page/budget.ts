/** The budget over time: pods that are out of service, under the line of those that may be. */
import { html, nothing, type TemplateResult } from "lit-html";
import type { Plot, PlotPoint } from "../shared/plots.ts";
import { type PlotChoice, plotView } from "./plot.ts";

export interface BudgetPoint {
  readonly at: number;
  readonly out: number;
  readonly allowed: number | undefined;
}

interface BudgetView {
  readonly points: readonly BudgetPoint[];
  /** The end of the axis, up to which the last point holds. */
  readonly until: number;
  /** The time that is shown elsewhere. */
  readonly at: number | undefined;
  readonly choice: PlotChoice;
  changed(): void;
}

export function budgetPlot({ points, until, at, choice, changed }: BudgetView): TemplateResult {
  const [first] = points;
  const last = points.findLast((point) => at === undefined || point.at <= at) ?? first;
  if (first === undefined || last === undefined)
    return html`<p class="quiet">No pods have been seen yet.</p>`;
  const caption = html`<span class="figure">
    <b>${last.out}</b> ${last.out === 1 ? "pod is" : "pods are"} out of
    service${last.allowed === undefined ? nothing : html`, <b>${last.allowed}</b> may be`}
  </span>`;
  return plotView({ plot: plotOf(points, first.at, until), choice, mark: at, caption, changed });
}

const shortestMs = 10_000;

function plotOf(points: readonly BudgetPoint[], from: number, until: number): Plot {
  const of = (level: (point: BudgetPoint) => number | undefined): PlotPoint[] =>
    points.flatMap((point): PlotPoint[] => {
      const value = level(point);
      return value === undefined ? [] : [[point.at, value]];
    });
  const allowed = of((point) => point.allowed);
  const inPods = { unit: "pods", digits: 0 } as const;
  return {
    title: "Pods out of service over time",
    x: { label: "time", from, to: Math.max(until, from + shortestMs), form: "clock", unit: "", digits: 0 },
    left: { label: "pods", most: 1, isWhole: true },
    series: [
      { label: "out of service", form: "step", hue: 0, points: of(({ out }) => out), ...inPods },
      ...(allowed.length === 0
        ? []
        : [{ label: "allowed", form: "limit", hue: 4, points: allowed, ...inPods } as const]),
    ],
  };
}
