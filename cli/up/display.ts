/** Progress of a rollout: a bar and a table that is redrawn on a terminal, lines elsewhere. */
import progress, { type MultiBar, type SingleBar } from "cli-progress";
import { cellsOf, type Io, type Paint, type Style } from "../io.ts";
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
}

export function createDisplay(io: Io, paint: Paint, options: DisplayOptions): Display {
  const { terminal } = io;
  const canRedraw = io.isTTY && io.env["TERM"] !== "dumb";
  return canRedraw && terminal !== undefined
    ? new LiveDisplay(io, terminal, paint, options)
    : new LineDisplay(io, options);
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
  readonly #bars: MultiBar;
  readonly #bar: SingleBar;
  readonly #rows: SingleBar[] = [];
  readonly #columns: number;
  readonly #paint: Paint;

  constructor(io: Io, terminal: NodeJS.WritableStream, paint: Paint, options: DisplayOptions) {
    this.#columns = io.columns;
    this.#paint = paint;
    const barSize = Math.max(10, Math.min(40, io.columns - options.title.length - 24));
    this.#bars = new progress.MultiBar({
      stream: terminal,
      format: (_options, params, payload) => {
        if (typeof payload["line"] === "string") return payload["line"];
        const filled = Math.round(params.progress * barSize);
        const bar = paint("green", "━".repeat(filled)) + paint("dim", "─".repeat(barSize - filled));
        return `${options.title}  ${bar}  ${params.value}/${params.total}`;
      },
      hideCursor: true,
      gracefulExit: false,
      forceRedraw: true,
      fps: 15,
      emptyOnZero: true,
    });
    this.#bar = this.#bars.create(options.total, 0, {});
    const shown = Math.max(0, Math.min(options.total, io.rows - otherRows));
    const extra = shown < options.total ? 2 : 1;
    for (let row = 0; row < shown + extra; row++) this.#rows.push(this.#bars.create(1, 0, { line: "" }));
  }

  show(pods: readonly PodView[], done: number): void {
    this.#bar.update(done);
    const lines = podLines(pods, this.#rows.length, this.#columns, this.#paint);
    for (const [row, bar] of this.#rows.entries()) bar.update(0, { line: lines[row] ?? "" });
  }

  end(): void {
    this.#bars.update();
    this.#bars.stop();
  }
}

/** A header and a line per pod, at most `most` lines, none wider than `columns`. */
export function podLines(pods: readonly PodView[], most: number, columns: number, paint: Paint): string[] {
  const nameWidth = Math.max(4, ...pods.map((pod) => pod.name.length));
  const nodeWidth = Math.max(4, ...pods.map((pod) => pod.node.length));
  const head = [
    "POD".padEnd(nameWidth),
    "NODE".padEnd(nodeWidth),
    "REVISION".padEnd(10),
    "STATE".padEnd(11),
    "RESTARTS",
  ];
  const lines = [paint("dim", clip(`  ${head.join("  ")}`, columns))];
  const hidden = pods.length + 1 > most ? pods.length - (most - 2) : 0;
  for (const pod of pods.slice(0, pods.length - hidden)) {
    const start = `  ${pod.name.padEnd(nameWidth)}  ${pod.node.padEnd(nodeWidth)}  ${pod.revision.padEnd(10)}  `;
    const state = paint(stateStyles[pod.state], pod.state.padEnd(11));
    const line = `${start}${state}  ${pod.restarts}`;
    // A style must not be cut in half: what is too wide is shown plain.
    lines.push(cellsOf(line) <= columns ? line : clip(`${start}${pod.state}`, columns));
  }
  if (hidden > 0) lines.push(paint("dim", `  … and ${hidden} more`));
  return lines;
}

class LineDisplay implements Display {
  readonly #io: Io;
  readonly #options: DisplayOptions;
  #last = -1;

  constructor(io: Io, options: DisplayOptions) {
    this.#io = io;
    this.#options = options;
  }

  show(_pods: readonly PodView[], done: number): void {
    if (done === this.#last) return;
    this.#last = done;
    this.#io.stdout.write(`${this.#options.title}: ${done}/${this.#options.total}\n`);
  }

  end(): void {
    // Every line is out already.
  }
}
