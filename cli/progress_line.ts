/** One line of progress that fits its terminal. */
import type { Paint } from "./io.ts";

export interface ProgressLine {
  readonly title: string;
  readonly done: number;
  readonly total: number;
  /** After the counts: `3.2 s`. */
  readonly note?: string;
  /** Width of the terminal in cells. */
  readonly columns: number;
}

const longestBar = 40;
const shortestBar = 5;

/** `updating  ━━━━────  12/20`. Where it is narrow the bar goes first, then the note, then the title: counts stay. */
export function progressLine(line: ProgressLine, paint: Paint): string {
  const { title, done, total, note = "", columns } = line;
  const counts = `${done}/${total}`;
  const end = note === "" ? counts : `${counts}  ${note}`;
  const room = columns - title.length - end.length - 4;
  if (room >= shortestBar) {
    const size = Math.min(longestBar, room);
    const filled = Math.round((total === 0 ? 1 : Math.min(1, done / total)) * size);
    const bar = paint("green", "━".repeat(filled)) + paint("dim", "─".repeat(size - filled));
    return `${title}  ${bar}  ${end}`;
  }
  const shorter = [`${title}  ${end}`, `${title}  ${counts}`];
  return shorter.find((text) => text.length <= columns) ?? counts;
}
