/** What a command sees of the outside world, so that every command can be run and read within a test. */
import { stripVTControlCharacters, styleText } from "node:util";

export interface TextSink {
  write(text: string): unknown;
}

export interface Io {
  readonly stdout: TextSink;
  readonly stderr: TextSink;
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Whether standard output is a terminal: decides colours, progress bars and redrawing. */
  readonly isTTY: boolean;
  /** Width of the terminal in cells; 80 where unknown. */
  readonly columns: number;
  /** Height of the terminal; 24 where unknown. */
  readonly rows: number;
  /** The terminal itself, where progress is drawn; absent when output is no terminal. */
  readonly terminal?: NodeJS.WritableStream;
  /** Aborted by Ctrl-C or SIGTERM. */
  readonly signal: AbortSignal;
}

export type Style = "bold" | "dim" | "red" | "green" | "yellow" | "cyan";

/** Wraps text into a style, or leaves it alone. */
export type Paint = (style: Style, text: string) => string;

/** Colours only on a terminal, and never against `NO_COLOR` (any non-empty value) or `TERM=dumb`. */
export function paintFor(io: Pick<Io, "isTTY" | "env">): Paint {
  const coloured = io.isTTY && !io.env["NO_COLOR"] && io.env["TERM"] !== "dumb";
  return (style, text) => (coloured ? styleText(style, text, { validateStream: false }) : text);
}

/** Cells that a text takes on screen: styles take none. Wide characters are not used in our output. */
export function cellsOf(text: string): number {
  return stripVTControlCharacters(text).length;
}

/** Cells in which sentences are wrapped. Files and pipes keep lines whole. */
export function sentenceWidth({ isTTY, columns }: Pick<Io, "isTTY" | "columns">): number {
  return isTTY ? columns : Number.POSITIVE_INFINITY;
}
