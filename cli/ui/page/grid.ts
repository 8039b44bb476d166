/** The grid of pods: a canvas, because thousands of elements cannot change ten times a second. */
import type { PodItem, PodState } from "../shared/items.ts";
import {
  type Cell,
  cellAt,
  isSamePlaces,
  type Layout,
  layoutOf,
  neighbour,
  type PlacedPod,
} from "./layout.ts";
import { PodOrder } from "./pod_groups.ts";

/** What of a pod the grid draws. */
export interface GridPod extends PlacedPod {
  readonly pod: Pick<PodItem, "name" | "state" | "revision">;
}

export interface GridContent {
  /** In the order in which they are drawn. */
  readonly pods: readonly GridPod[];
  /** Number of a revision's colour. */
  colourOf(revision: string): number;
  /** Pods to point out; all are alike when it is empty. */
  readonly pointedOut: ReadonlySet<string>;
  /** In place of the shapes that say a pod's state. */
  readonly paint?: CellPainter;
}

export type CellPainter = (pen: CanvasRenderingContext2D, cell: Cell, step: number, look: Look) => void;

export const coloursOfRevisions = 6;
const leastRounded = 8;

/** What the canvas shows, so that only what is different is painted. */
interface Painted {
  readonly content: GridContent;
  readonly layout: Layout;
  /** What all of it depends on. */
  readonly ground: string;
  /** Numbers of the colours, by pod; those that stand back are negative. */
  readonly colours: Int8Array;
}

export class Grid {
  readonly canvas = document.createElement("canvas");
  readonly order = new PodOrder();
  /** Key of the pod that is chosen by pointer or keys. */
  chosen: string | undefined;
  readonly #onChoice: () => void;
  #content: GridContent | undefined;
  #painted: Painted | undefined;
  #hovered: string | undefined;
  #frame = 0;

  constructor(onChoice: () => void) {
    this.#onChoice = onChoice;
    const { canvas } = this;
    canvas.className = "grid";
    canvas.tabIndex = 0;
    canvas.setAttribute("role", "img");
    canvas.addEventListener("pointermove", (event) => this.#hover(this.#keyAt(event)));
    canvas.addEventListener("pointerleave", () => this.#hover(undefined));
    canvas.addEventListener("click", (event) => this.#choose(this.#keyAt(event)));
    canvas.addEventListener("keydown", (event) => this.#onKey(event));
    new ResizeObserver(() => this.#draw()).observe(canvas);
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => this.#draw());
  }

  /** The pod that is told about: under the pointer, else the chosen one. */
  get told(): string | undefined {
    return this.#hovered ?? this.chosen;
  }

  show(content: GridContent, description: string): void {
    this.#content = content;
    this.canvas.setAttribute("aria-label", description);
    if (this.#painted === undefined) this.#paintFirst();
    else this.#draw();
  }

  /** Once the canvas has its place in the document, in the frame that gives it one. */
  #paintFirst(): void {
    queueMicrotask(() => {
      if (this.#painted === undefined) this.#paint();
    });
  }

  #draw(): void {
    if (this.#frame !== 0) return;
    this.#frame = requestAnimationFrame(() => {
      this.#frame = 0;
      this.#paint();
    });
  }

  #paint(): void {
    const { canvas } = this;
    const content = this.#content;
    const pen = canvas.getContext("2d");
    const width = canvas.clientWidth;
    if (content === undefined || pen === null || width === 0) return;
    const look = lookOf(canvas);
    const ground = JSON.stringify([width, devicePixelRatio, look, this.told]);
    const last = this.#painted;
    const isSame = last?.ground === ground && isSamePlaces(last.content.pods, content.pods);
    const layout = isSame ? last.layout : layoutOf(content.pods, width);
    const painted = { content, layout, ground, colours: coloursIn(content) };
    this.#painted = painted;
    // Where a pixel belongs to two cells, one of them cannot be painted alone; what another painter paints is not known here.
    const isPartly = isSame && Number.isInteger(devicePixelRatio) && content.paint === undefined;
    if (!isPartly) this.#clear(pen, layout, width, look);
    this.#paintPods(pen, painted, isPartly ? last : undefined, look);
  }

  #clear(pen: CanvasRenderingContext2D, layout: Layout, width: number, look: Look): void {
    const { canvas } = this;
    const ratio = devicePixelRatio;
    if (canvas.height !== Math.ceil(layout.height * ratio)) {
      canvas.height = Math.ceil(layout.height * ratio);
      canvas.style.height = `${layout.height}px`;
    }
    if (canvas.width !== Math.floor(width * ratio)) canvas.width = Math.floor(width * ratio);
    pen.setTransform(ratio, 0, 0, ratio, 0, 0);
    pen.clearRect(0, 0, width, layout.height);
    this.#paintLabels(pen, layout, look);
  }

  #paintPods(
    pen: CanvasRenderingContext2D,
    { content, layout, colours }: Painted,
    last: Painted | undefined,
    look: Look,
  ): void {
    const { cells, step } = layout;
    for (const cell of cells) {
      const { index } = cell;
      const pod = content.pods[index]?.pod;
      const colour = colours[index] ?? 0;
      if (pod === undefined) continue;
      if (last?.content.pods[index]?.pod === pod && last.colours[index] === colour) continue;
      if (last !== undefined) pen.clearRect(cell.x, cell.y, step, step);
      pen.globalAlpha = colour < 0 ? 0.18 : 1;
      const number = colour < 0 ? -colour - 1 : colour;
      if (content.paint !== undefined) content.paint(pen, cell, step, look);
      else paintPod(pen, cell, step, pod.state, look.revisions[number] ?? look.muted, look);
    }
    pen.globalAlpha = 1;
    const ringed = this.told === undefined ? undefined : cells.find(({ key }) => key === this.told);
    if (ringed !== undefined) paintRing(pen, ringed, step, look.ink);
  }

  #paintLabels(pen: CanvasRenderingContext2D, { labels }: Layout, { muted, font }: Look): void {
    pen.font = font;
    pen.fillStyle = muted;
    pen.textBaseline = "top";
    for (const { text, x, y, width } of labels) pen.fillText(fitting(pen, text, width), x, y);
  }

  #keyAt({ offsetX, offsetY }: PointerPosition): string | undefined {
    const layout = this.#painted?.layout;
    return layout?.cells[cellAt(layout, offsetX, offsetY)]?.key;
  }

  #hover(key: string | undefined): void {
    if (key === this.#hovered) return;
    this.#hovered = key;
    this.#draw();
    this.#onChoice();
  }

  #choose(key: string | undefined): void {
    this.chosen = key;
    this.#draw();
    this.#onChoice();
  }

  #onKey(event: KeyPress): void {
    const way = arrows[event.key];
    const layout = this.#painted?.layout;
    if (event.key === "Escape") this.#choose(undefined);
    if (way === undefined || layout === undefined) return;
    event.preventDefault();
    const from = layout.cells.findIndex(({ key }) => key === this.chosen);
    this.#choose(layout.cells[neighbour(layout, from, way[0], way[1])]?.key);
  }
}

function coloursIn({ pods, colourOf, pointedOut }: GridContent): Int8Array {
  const isAll = pointedOut.size === 0;
  const colours = new Int8Array(pods.length);
  // Several times as fast as an array that is made of the pods.
  for (let index = 0; index < pods.length; index++) {
    const pod = pods[index]?.pod;
    if (pod === undefined) continue;
    const number = colourOf(pod.revision);
    colours[index] = isAll || pointedOut.has(pod.name) ? number : -number - 1;
  }
  return colours;
}

const arrows: Readonly<Record<string, readonly [number, number]>> = {
  ArrowLeft: [-1, 0],
  ArrowRight: [1, 0],
  ArrowUp: [0, -1],
  ArrowDown: [0, 1],
};

export interface Look {
  readonly ink: string;
  readonly muted: string;
  readonly surface: string;
  readonly deleted: string;
  readonly marked: string;
  readonly font: string;
  readonly family: string;
  readonly revisions: readonly string[];
}

function lookOf(element: HTMLCanvasElement): Look {
  const style = getComputedStyle(element);
  const colour = (name: string): string => style.getPropertyValue(name).trim();
  return {
    ink: colour("--ink"),
    muted: colour("--muted"),
    surface: colour("--surface"),
    deleted: colour("--stuck"),
    marked: colour("--unknown"),
    font: `12px ${style.fontFamily}`,
    family: style.fontFamily,
    revisions: Array.from({ length: coloursOfRevisions }, (_, index) => colour(`--revision-${index}`)),
  };
}

function fitting(pen: CanvasRenderingContext2D, text: string, width: number): string {
  if (pen.measureText(text).width <= width) return text;
  let length = Math.min(text.length, 40);
  while (length > 1 && pen.measureText(`${text.slice(0, length)}…`).width > width) length--;
  return `${text.slice(0, length)}…`;
}

/** The shape says the state, so that it can be told without the colour. */
export function paintPod(
  pen: CanvasRenderingContext2D,
  { x, y }: Pick<Cell, "x" | "y">,
  step: number,
  state: PodState,
  colour: string,
  { surface }: Pick<Look, "surface">,
): void {
  const gap = step >= 15 ? 3 : 1.5;
  const edge = step - gap;
  const line = Math.max(1.25, edge / 9);
  const [middleX, middleY] = [x + edge / 2, y + edge / 2];
  pen.fillStyle = colour;
  pen.strokeStyle = colour;
  pen.lineWidth = line;
  pen.beginPath();
  switch (state) {
    case "ready":
      // Corners of so small a cell are not seen, and there are thousands of them.
      if (edge < leastRounded) pen.fillRect(x, y, edge, edge);
      else {
        pen.roundRect(x, y, edge, edge, edge / 5);
        pen.fill();
      }
      return;
    case "starting":
      pen.roundRect(x + line / 2, y + line / 2, edge - line, edge - line, edge / 5);
      pen.stroke();
      pen.fillRect(x + line, middleY, edge - 2 * line, edge / 2 - line);
      return;
    case "updating":
      pen.moveTo(middleX, y);
      pen.lineTo(x + edge, middleY);
      pen.lineTo(middleX, y + edge);
      pen.lineTo(x, middleY);
      pen.closePath();
      pen.fill();
      return;
    case "pending":
      pen.setLineDash([line * 1.6, line * 1.6]);
      pen.roundRect(x + line / 2, y + line / 2, edge - line, edge - line, edge / 5);
      pen.stroke();
      pen.setLineDash([]);
      return;
    case "failing":
      pen.roundRect(x, y, edge, edge, edge / 5);
      pen.fill();
      pen.strokeStyle = surface;
      pen.lineWidth = Math.max(1.5, edge / 6);
      pen.beginPath();
      pen.moveTo(x + edge * 0.25, y + edge * 0.25);
      pen.lineTo(x + edge * 0.75, y + edge * 0.75);
      pen.moveTo(x + edge * 0.75, y + edge * 0.25);
      pen.lineTo(x + edge * 0.25, y + edge * 0.75);
      pen.stroke();
      return;
    case "terminating":
      pen.arc(middleX, middleY, edge / 5, 0, 2 * Math.PI);
      pen.fill();
      return;
    case "completed":
      pen.roundRect(x + line / 2, y + line / 2, edge - line, edge - line, edge / 5);
      pen.moveTo(x + edge * 0.28, y + edge * 0.52);
      pen.lineTo(x + edge * 0.44, y + edge * 0.68);
      pen.lineTo(x + edge * 0.72, y + edge * 0.36);
      pen.stroke();
  }
}

function paintRing(pen: CanvasRenderingContext2D, { x, y }: Cell, step: number, ink: string): void {
  pen.strokeStyle = ink;
  pen.lineWidth = 2;
  pen.beginPath();
  pen.roundRect(x - 1, y - 1, step - 1, step - 1, step / 5);
  pen.stroke();
}
