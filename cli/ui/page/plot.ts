/** The budget over time: pods that are out of service, under the line of those that may be. */
import { html, nothing, svg, type TemplateResult } from "lit-html";
import { clockTime, count } from "./words.ts";

export interface BudgetPoint {
  readonly at: number;
  readonly out: number;
  readonly allowed: number | undefined;
}

const width = 400;
const height = 90;

/** `until`: the end of the axis, up to which the last point holds. `mark`: the time that is shown elsewhere. */
export function budgetPlot(
  points: readonly BudgetPoint[],
  until: number,
  mark: number | undefined,
): TemplateResult {
  const [first] = points;
  const last = points.findLast(({ at }) => mark === undefined || at <= mark) ?? first;
  if (first === undefined || last === undefined)
    return html`<p class="quiet">No pods have been seen yet.</p>`;
  const span = Math.max(10_000, until - first.at);
  const highest = Math.max(1, ...points.map(({ out, allowed }) => Math.max(out, allowed ?? 0))) * 1.15;
  const x = (at: number): number => (width * (at - first.at)) / span;
  const y = (value: number): number => height - (height * value) / highest;
  const ends = points.map((_, index) => points[index + 1]?.at ?? until);
  const line = (levelOf: (point: BudgetPoint) => number): string =>
    points
      .map((point, index) => {
        const level = y(levelOf(point)).toFixed(1);
        return `${index === 0 ? "M" : "L"}${x(point.at).toFixed(1)} ${level}L${x(ends[index] ?? until).toFixed(1)} ${level}`;
      })
      .join("");
  const out = line((point) => point.out);
  const isLimited = points.some(({ allowed }) => allowed !== undefined);
  const shown = mark === undefined ? undefined : x(mark);
  return html`
    <p class="figure">
      <b>${last.out}</b> ${last.out === 1 ? "pod is" : "pods are"} out of
      service${last.allowed === undefined ? nothing : html`, <b>${last.allowed}</b> may be`}
    </p>
    <svg class="plot" viewBox="0 0 ${width} ${height}" preserveAspectRatio="none" role="img" aria-label=${describe(points)}>
      <path class="area" d="${out}L${x(until).toFixed(1)} ${height}L0 ${height}Z" />
      <path class="line" d=${out} />
      ${isLimited ? svg`<path class="limit" d=${line(({ allowed }) => allowed ?? 0)} />` : nothing}
      ${shown === undefined ? nothing : svg`<line class="cursor" x1=${shown} x2=${shown} y1="0" y2=${height} />`}
    </svg>
    <div class="axis"><span>${clockTime(first.at)}</span><span>${clockTime(first.at + span)}</span></div>
    <ul class="legend">
      <li><svg viewBox="0 0 16 4" aria-hidden="true"><path class="line" d="M0 2h16" /></svg>out of service</li>
      ${isLimited ? html`<li><svg viewBox="0 0 16 4" aria-hidden="true"><path class="limit" d="M0 2h16" /></svg>allowed</li>` : nothing}
    </ul>
  `;
}

function describe(points: readonly BudgetPoint[]): string {
  const most = Math.max(...points.map(({ out }) => out));
  const allowed = points.at(-1)?.allowed;
  const limit = allowed === undefined ? "" : `; ${allowed} may be`;
  return `At most ${count(most, "pod")} out of service at a time${limit}`;
}
