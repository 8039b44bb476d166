/** Words of others (servers, programs, users) as part of a line of ours. */
import { clip } from "../../text_table.ts";

const mostRead = 2000;
const mostShown = 240;

/** One line without control characters, which a terminal would obey; cut where it is long. */
export function shownText(text: string): string {
  return clip(
    text
      .slice(0, mostRead)
      .replace(/[\p{C}\s]+/gu, " ")
      .trim(),
    mostShown,
  );
}

/** The last line with anything in it. */
export function lastLine(text: string): string {
  const lines = text.slice(-mostRead).split("\n").map(shownText);
  return lines.findLast((line) => line !== "") ?? "";
}
