/** The shapes of the grid, as its legend shows them. */
import { html, svg, type TemplateResult } from "lit-html";
import type { PodState } from "../shared/items.ts";

const shapes: Readonly<Record<PodState, TemplateResult>> = {
  ready: svg`<rect x="1" y="1" width="12" height="12" rx="2.5" />`,
  starting: svg`<rect class="hollow" x="1.75" y="1.75" width="10.5" height="10.5" rx="2.5" /><rect x="2" y="7" width="10" height="5" />`,
  updating: svg`<path d="M7 0l7 7-7 7-7-7z" />`,
  pending: svg`<rect class="hollow dashed" x="1.75" y="1.75" width="10.5" height="10.5" rx="2.5" />`,
  failing: svg`<rect x="1" y="1" width="12" height="12" rx="2.5" /><path class="cross" d="M4 4l6 6M10 4l-6 6" />`,
  terminating: svg`<circle cx="7" cy="7" r="2.8" />`,
  completed: svg`<rect class="hollow" x="1.75" y="1.75" width="10.5" height="10.5" rx="2.5" /><path class="hollow" d="M4 7.2l2.2 2.2L10 5" />`,
};

export function shapeSample(state: PodState): TemplateResult {
  return html`<svg class="shape" viewBox="0 0 14 14" aria-hidden="true">${shapes[state]}</svg>`;
}
