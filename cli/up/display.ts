/** Progress of a rollout: a bar and a table that is redrawn on a terminal, lines elsewhere. */
import type { Clock } from "../../kube/index.ts";
import type { Io, Paint, Style } from "../io.ts";
import { progressLine } from "../progress_line.ts";
import { RedrawnLines, redrawingTerminal } from "../redrawn_lines.ts";
import { clip } from "../text_table.ts";
import type { PodState, PodView } from "./pod_view.ts";

export interface Display {
  /** `done` of `total` pods have arrived. */
  show(pods: readonly PodView[], done: number): void;
  /** Leaves the last picture on the screen; nothing is drawn after it. */
  end(): void;
}

export interface DisplayOptions {
  readonly title: string;
  readonly total: number;
  readonly clock: Clock;
}

export function createDisplay(io: Io, paint: Paint, options: DisplayOptions): Display {
  const terminal = redrawingTerminal(io);
  return terminal === undefined
    ? new LineDisplay(io, options)
    : new LiveDisplay(io, terminal, paint, options);
}

const stateStyles: Readonly<Record<PodState, Style>> = {
  pending: "dim",
  starting: "yellow",
  ready: "green",
  updating: "cyan",
  restarting: "yellow",
  terminating: "red",
};

/** Rows that the bar, the header, a remainder and the prompt need. */
const otherRows = 5;

class LiveDisplay implements Display {
  readonly #lines: RedrawnLines;
  readonly #rows: number;
  readonly #columns: number;
  readonly #paint: Paint;
  readonly #options: DisplayOptions;

  constructor(io: Io, terminal: NodeJS.WritableStream, paint: Paint, options: DisplayOptions) {
    this.#columns = io.columns;
    this.#paint = paint;
    this.#options = options;
    const shown = Math.max(0, Math.min(options.total, io.rows - otherRows));
    this.#rows = shown + (shown < options.total ? 2 : 1);
    this.#lines = new RedrawnLines(terminal, 1 + this.#rows);
  }

  show(pods: readonly PodView[], done: number): void {
    const { title, total } = this.#options;
    this.#lines.show([
      progressLine({ title, done, total, columns: this.#columns }, this.#paint),
      ...podLines(pods, this.#rows, this.#columns, this.#paint),
    ]);
  }

  end(): void {
    this.#lines.end();
  }
}

interface Column {
  readonly title: string;
  readonly of: (pod: PodView) => string;
  readonly style?: (pod: PodView) => Style;
  /** Left out where it is narrow, the highest first; 0: never. */
  readonly spare: 0 | 1 | 2;
}

const columnsOfPods: readonly Column[] = [
  { title: "POD", of: (pod) => pod.name, spare: 0 },
  { title: "NODE", of: (pod) => pod.node, spare: 1 },
  { title: "REVISION", of: (pod) => pod.revision, spare: 2 },
  { title: "STATE", of: (pod) => pod.state, style: (pod) => stateStyles[pod.state], spare: 0 },
  { title: "RESTARTS", of: (pod) => String(pod.restarts), spare: 0 },
];

const widestState = Math.max(...Object.keys(stateStyles).map((state) => state.length));

/** A header and a line per pod, at most `most` lines, none wider than `columns`; names give way to what changes. */
export function podLines(pods: readonly PodView[], most: number, columns: number, paint: Paint): string[] {
  const layout = layoutOf(pods, columns);
  const head = layout.map(({ column, width }) => clip(column.title, width).padEnd(width)).join("  ");
  const hidden = pods.length + 1 > most ? pods.length - (most - 2) : 0;
  const lines = pods.slice(0, pods.length - hidden).map((pod) => {
    const cells = layout.map(({ column, width }) => {
      const text = clip(column.of(pod), width).padEnd(width);
      return column.style === undefined ? text : paint(column.style(pod), text);
    });
    return `  ${cells.join("  ").trimEnd()}`;
  });
  const more = hidden > 0 ? [paint("dim", clip(`  … and ${hidden} more`, columns))] : [];
  return [paint("dim", `  ${head.trimEnd()}`), ...lines, ...more];
}

interface Placed {
  readonly column: Column;
  readonly width: number;
}

function layoutOf(pods: readonly PodView[], columns: number): Placed[] {
  const wanted = columnsOfPods.map((column) => ({ column, width: widthOf(column, pods) }));
  const widthOfAll = (placed: readonly Placed[]): number =>
    placed.reduce((sum, { width }) => sum + width + 2, 0);
  const fitting = [3, 2, 1]
    .map((spare) => wanted.filter(({ column }) => column.spare < spare))
    .find((placed) => widthOfAll(placed) <= columns);
  if (fitting !== undefined) return fitting;
  let left = columns;
  // From the right: what changes stands there.
  return wanted
    .filter(({ column }) => column.spare === 0)
    .reverse()
    .map(({ column, width }) => {
      const given = Math.max(0, Math.min(width, left - 2));
      left -= given + 2;
      return { column, width: given };
    })
    .filter(({ width }) => width > 0)
    .reverse();
}

function widthOf({ title, of }: Column, pods: readonly PodView[]): number {
  // A state comes and goes: the picture must not jump.
  if (title === "STATE") return widestState;
  return pods.reduce((width, pod) => Math.max(width, of(pod).length), title.length);
}

const lineEveryMs = 2_000;

/** The first count, the last one, and one every two seconds between them. */
class LineDisplay implements Display {
  readonly #io: Io;
  readonly #options: DisplayOptions;
  #done = -1;
  #written = -1;
  #due: { cancel(): void } | undefined;

  constructor(io: Io, options: DisplayOptions) {
    this.#io = io;
    this.#options = options;
  }

  show(_pods: readonly PodView[], done: number): void {
    this.#done = done;
    if (this.#due === undefined) this.#writeAndRest();
  }

  end(): void {
    this.#due?.cancel();
    this.#write();
  }

  #writeAndRest(): void {
    this.#due = undefined;
    if (!this.#write()) return;
    this.#due = this.#options.clock.after(lineEveryMs, () => this.#writeAndRest());
  }

  /** False when the last line says the same. */
  #write(): boolean {
    if (this.#done === this.#written) return false;
    this.#written = this.#done;
    const { title, total } = this.#options;
    this.#io.stdout.write(`${title}: ${this.#done}/${total}\n`);
    return true;
  }
}
