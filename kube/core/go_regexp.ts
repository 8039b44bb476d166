/** Regular expressions as Go reads them (RE2), for texts that users give: matching takes time in proportion to the text. */
import { RE2JS, RE2JSSyntaxException } from "re2js";
import { ParseError } from "./errors.ts";

export interface GoRegexp {
  /** Whether it matches anywhere in the text. */
  test(text: string): boolean;
}

const longestPattern = 1000;
const mostSteps = 10_000;

/** Throws ParseError in the words of Go: `InvalidPattern`, or `PatternTooLarge` where Go would take more than is taken here. */
export function compileGoRegexp(pattern: string): GoRegexp {
  if (pattern.length > longestPattern || stepsAtMost(pattern) > mostSteps)
    throw new ParseError("PatternTooLarge", "error parsing regexp: expression too large");
  try {
    return RE2JS.compile(pattern);
  } catch (error) {
    if (!(error instanceof RE2JSSyntaxException)) throw error;
    const message = `${error.getDescription()}: \`${error.getPattern() ?? ""}\``;
    throw new ParseError("InvalidPattern", `error parsing regexp: ${message}`);
  }
}

/** Escapes, so that none of their parts is taken for a count, and counts: a count behind `)` or `\E` may repeat a group. */
const escapesAndCounts = /\\x\{[^}]*\}|\\[^E]|(\)|\\E)?\{(\d+)(?:,(\d*))?\}/g;

/**
 * A bound of the program's size before there is one, because compiling writes out each repetition, and 1000 characters could
 * take seconds. A count behind a group multiplies all that there is, also when an empty quotation or flags stand between them.
 */
function stepsAtMost(pattern: string): number {
  let ofCharacters = pattern.length;
  let timesOfGroups = 1;
  for (const [text, group, least, most = ""] of pattern.matchAll(escapesAndCounts)) {
    if (least === undefined) continue;
    const count = Math.max(Number(least), Number(most), 1);
    ofCharacters += (group === undefined ? count : 1) - text.length;
    if (group !== undefined) timesOfGroups *= count;
  }
  return ofCharacters * timesOfGroups;
}
