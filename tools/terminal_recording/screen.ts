/** What a terminal shows after the bytes that programs wrote to it. */
import xterm, { type IBufferCell } from "@xterm/headless";

/** Letters next to each other that look the same. */
export interface Run {
  readonly text: string;
  /** Cells from the left. */
  readonly column: number;
  /** Of the 16 of a terminal; undefined for the usual one. */
  readonly colour: number | undefined;
  readonly isBold: boolean;
  readonly isDim: boolean;
}

export type Line = readonly Run[];

/** One state of the screen. */
export interface Frame {
  /** Milliseconds since the beginning. */
  readonly at: number;
  readonly lines: readonly Line[];
}

export interface Size {
  readonly columns: number;
  readonly rows: number;
}

export class Screen {
  readonly #terminal: xterm.Terminal;
  readonly #size: Size;

  constructor(size: Size) {
    this.#size = size;
    this.#terminal = new xterm.Terminal({ cols: size.columns, rows: size.rows, allowProposedApi: true });
  }

  /** Resolves when the screen shows it. */
  write(bytes: string): Promise<void> {
    return new Promise((resolve) => this.#terminal.write(bytes, resolve));
  }

  lines(): Line[] {
    return Array.from({ length: this.#size.rows }, (_, row) => this.#line(row));
  }

  #line(row: number): Line {
    const buffer = this.#terminal.buffer.active;
    const line = buffer.getLine(buffer.viewportY + row);
    const cells = Array.from({ length: this.#size.columns }, (_, column) => line?.getCell(column));
    return cells.reduce<Run[]>(
      (runs, cell, column) => (cell === undefined ? runs : joined(runs, cell, column)),
      [],
    );
  }
}

function joined(runs: Run[], cell: IBufferCell, column: number): Run[] {
  const text = cell.getChars();
  if (text.trim() === "" && runs.length === 0) return runs;
  const look = {
    colour: cell.isFgDefault() ? undefined : cell.getFgColor(),
    isBold: cell.isBold() !== 0,
    isDim: cell.isDim() !== 0,
  };
  const last = runs.at(-1);
  // Space has no colour.
  if (last !== undefined && (text.trim() === "" || isSameLook(last, look)))
    runs[runs.length - 1] = { ...last, text: last.text + (text || " ") };
  else runs.push({ text, column, ...look });
  return runs;
}

type Look = Pick<Run, "colour" | "isBold" | "isDim">;

const isSameLook = (one: Look, other: Look): boolean =>
  one.colour === other.colour && one.isBold === other.isBold && one.isDim === other.isDim;
