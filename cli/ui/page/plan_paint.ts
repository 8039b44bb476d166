/** How the picture of a plan draws a pod: the shape says what becomes of it, and a number when. */
import { svg, type TemplateResult } from "lit-html";
import type { CellPainter, Look } from "./grid.ts";
import type { PlanCell, PodFate } from "./plan_cells.ts";

/** `cellOf`: by its key. What changes has a colour, the rest has none. */
export function planPainter(cellOf: (key: string) => PlanCell | undefined): CellPainter {
  return (pen, { key, x, y }, step, look) => {
    const cell = cellOf(key);
    if (cell === undefined) return;
    const { fate, order } = cell;
    const box = { x, y, edge: step - (step >= 15 ? 3 : 1.5) };
    paintFate(pen, box, fate, colourFor(fate, look));
    const ink = fate === "deleted" ? look.ink : look.surface;
    if (order !== undefined) paintNumber(pen, box, String(order), { ink, font: look.family });
  };
}

interface Box {
  readonly x: number;
  readonly y: number;
  readonly edge: number;
}

function colourFor(fate: PodFate, { revisions, deleted, marked, muted }: Look): string {
  if (fate === "in place" || fate === "new") return revisions[0] ?? muted;
  if (fate === "deleted") return deleted;
  return fate === "marked" ? marked : muted;
}

function paintFate(pen: CanvasRenderingContext2D, box: Box, fate: PodFate, colour: string): void {
  const line = Math.max(1.25, box.edge / 12);
  pen.fillStyle = colour;
  pen.strokeStyle = colour;
  pen.lineWidth = line;
  if (fate === "kept") pen.globalAlpha *= 0.4;
  if (fate === "held") pen.setLineDash([line * 1.8, line * 1.4]);
  pen.beginPath();
  outlines[fate](pen, box, line);
  if (hollow.has(fate)) pen.stroke();
  else pen.fill();
  pen.setLineDash([]);
}

const hollow: ReadonlySet<PodFate> = new Set(["deleted", "held", "old"]);

type Outline = (pen: CanvasRenderingContext2D, box: Box, line: number) => void;

const frame: Outline = (pen, { x, y, edge }, line) =>
  pen.roundRect(x + line / 2, y + line / 2, edge - line, edge - line, edge / 5);

const outlines: Readonly<Record<PodFate, Outline>> = {
  "in place": (pen, box) => path(pen, box, [0.5, 0, 1, 0.5, 0.5, 1, 0, 0.5]),
  new: (pen, { x, y, edge }) => pen.arc(x + edge / 2, y + edge / 2, edge / 2, 0, 2 * Math.PI),
  deleted: (pen, box, line) => {
    frame(pen, box, line);
    // Open in the middle, where the number stands.
    stroke(pen, box, 0.06, 0.3);
    stroke(pen, box, 0.7, 0.94);
  },
  marked: (pen, box) => path(pen, box, [0, 0, 0.6, 0, 1, 0.5, 0.6, 1, 0, 1]),
  held: frame,
  old: (pen, { x, y, edge }, line) =>
    pen.arc(x + edge / 2, y + edge / 2, (edge - line) / 2.6, 0, 2 * Math.PI),
  awaited: (pen, box) => path(pen, box, [0.05, 0, 0.95, 0, 0.5, 0.5, 0.95, 1, 0.05, 1, 0.5, 0.5]),
  kept: (pen, { x, y, edge }) =>
    pen.roundRect(x + edge * 0.2, y + edge * 0.2, edge * 0.6, edge * 0.6, edge / 8),
};

/** A part of the line from the lower left corner to the upper right one. */
function stroke(pen: CanvasRenderingContext2D, { x, y, edge }: Box, from: number, to: number): void {
  pen.moveTo(x + edge * from, y + edge * (1 - from));
  pen.lineTo(x + edge * to, y + edge * (1 - to));
}

/** `points`: x and y of each corner, as parts of the edge. */
function path(pen: CanvasRenderingContext2D, { x, y, edge }: Box, points: readonly number[]): void {
  for (let index = 0; index < points.length; index += 2)
    pen.lineTo(x + edge * (points[index] ?? 0), y + edge * (points[index + 1] ?? 0));
  pen.closePath();
}

const smallestText = 8;

/** Nothing where it would not fit: the list has all of them. */
function paintNumber(
  pen: CanvasRenderingContext2D,
  { x, y, edge }: Box,
  text: string,
  { ink, font }: { readonly ink: string; readonly font: string },
): void {
  const size = Math.min(13, edge * 0.46);
  if (size < smallestText) return;
  pen.font = `600 ${size}px ${font}`;
  const { width } = pen.measureText(text);
  if (width > edge * 0.74) return;
  pen.fillStyle = ink;
  pen.textBaseline = "middle";
  pen.fillText(text, x + (edge - width) / 2, y + edge / 2 + 0.5);
}

/** The same, for the legend. */
export const fateSamples: Readonly<Record<PodFate, TemplateResult>> = {
  "in place": svg`<path class="next-revision" d="M7 0l7 7-7 7-7-7z" />`,
  new: svg`<circle class="next-revision" cx="7" cy="7" r="7" />`,
  deleted: svg`<g class="gone"><rect x="1" y="1" width="12" height="12" rx="2.5" /><path d="M1 13L13 1" /></g>`,
  marked: svg`<path class="marked" d="M0 0h8.4L14 7l-5.6 7H0z" />`,
  held: svg`<rect class="hollow dashed" x="1.75" y="1.75" width="10.5" height="10.5" rx="2.5" />`,
  old: svg`<circle class="hollow" cx="7" cy="7" r="5" />`,
  awaited: svg`<path d="M1 0h12L7 7l6 7H1l6-7z" />`,
  kept: svg`<rect class="faint" x="3" y="3" width="8" height="8" rx="1.5" />`,
};
