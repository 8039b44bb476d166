/** Columns padded to the widest cell with three spaces between them, as kubectl prints tables. */
import { cellsOf } from "./io.ts";

/** `widths`: those of rows before these, which grow with them. */
export function textTable(
  header: readonly string[],
  rows: readonly (readonly string[])[],
  widths: number[] = [],
): string[] {
  const all = header.length === 0 ? rows : [header, ...rows];
  for (const row of all) {
    for (const [column, cell] of row.entries()) widths[column] = Math.max(widths[column] ?? 0, cellsOf(cell));
  }
  return all.map((row) =>
    row
      .map((cell, column) => padTo(cell, column, row.length, widths))
      .join("   ")
      .trimEnd(),
  );
}

function padTo(cell: string, column: number, columns: number, widths: readonly number[]): string {
  if (column === columns - 1) return cell;
  return cell + " ".repeat(Math.max(0, (widths[column] ?? 0) - cellsOf(cell)));
}

/** A text in lines of at most so many cells, broken between words; a word that is longer than that has a line of its own. */
export function wrapped(text: string, width: number): string[] {
  const lines: string[] = [];
  let line = "";
  for (const word of text.split(" ")) {
    const longer = line === "" ? word : `${line} ${word}`;
    if (line !== "" && cellsOf(longer) > width) {
      lines.push(line);
      line = word;
    } else line = longer;
  }
  return [...lines, line];
}

/** Cuts a text to a width; the cut is shown. Only for text without styles. */
export function clip(text: string, width: number): string {
  if (text.length <= width) return text;
  return width < 2 ? text.slice(0, Math.max(0, width)) : `${text.slice(0, width - 1)}…`;
}

/** `42s`, `7m12s`, `3h`, `5d`: the age column of kubectl. */
export function age(ms: number): string {
  const seconds = Math.max(0, Math.floor(ms / 1000));
  if (seconds < 120) return `${seconds}s`;
  const minutes = Math.floor(seconds / 60);
  if (minutes < 10) return seconds % 60 === 0 ? `${minutes}m` : `${minutes}m${seconds % 60}s`;
  if (minutes < 180) return `${minutes}m`;
  const hours = Math.floor(minutes / 60);
  if (hours < 8) return minutes % 60 === 0 ? `${hours}h` : `${hours}h${minutes % 60}m`;
  if (hours < 48) return `${hours}h`;
  const days = Math.floor(hours / 24);
  if (days < 8) return hours % 24 === 0 ? `${days}d` : `${days}d${hours % 24}h`;
  return days < 730 ? `${days}d` : `${Math.floor(days / 365)}y`;
}
