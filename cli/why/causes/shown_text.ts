/** Words of others (servers, programs, users) as part of a line of ours. */
import { clip } from "../../text_table.ts";

const mostRead = 2000;
const mostShown = 240;
/** Of names in the API. */
const mostOfName = 253;

/** One line without control characters, which a terminal would obey; cut where it is long. */
export function shownText(text: string, most = mostShown): string {
  return clip(
    text
      .slice(0, mostRead)
      .replace(/[\p{C}\s]+/gu, " ")
      .trim(),
    most,
  );
}

/** A name as it is; of one that the API would never have let in, what a terminal can show. */
export function shownName(name: string): string {
  return shownText(name, mostOfName);
}

/** The last line with anything in it. */
export function lastLine(text: string): string {
  const lines = text
    .slice(-mostRead)
    .split("\n")
    .map((line) => shownText(line));
  return lines.findLast((line) => line !== "") ?? "";
}
