/** The command lines of `refit` that a document shows. */

/** Words that stand for the reader's own, and what follows the command. */
const ends = /^(\||&&|;|>|>>|2>|#|\\|…|\.\.\.|&)$/;

/** Variables and flags of Node before it. */
const program = /^(?:\w+=\S+ )*(?:refit|node (?:--\S+ )*dist\/refit\.mjs) (.+)$/;

/**
 * Each as its words, without `refit`: in code blocks, fenced or indented, and in code spans that say more than a command's
 * name. Optional parts in brackets and what a shell does with the output are left out.
 */
export function commandLinesOf(page: string): string[][] {
  const found: string[] = [];
  for (const line of page.replaceAll(/\\\n\s*/g, " ").split("\n")) {
    const code = /^(?: {4,}|\$ )(.+)$/.exec(line)?.[1] ?? line;
    for (const command of code.split(" && ")) {
      const [, words] = program.exec(command) ?? [];
      if (words !== undefined) found.push(words);
    }
    for (const [, span = ""] of line.matchAll(/`refit ([^`]+)`/g)) found.push(span);
  }
  return found.map(wordsOf);
}

function wordsOf(text: string): string[] {
  const words: string[] = [];
  for (const [, single, double, plain = ""] of text.matchAll(/'([^']*)'|"([^"]*)"|(\S+)/g)) {
    const word = single ?? double;
    if (word === undefined && ends.test(plain)) break;
    if (word === undefined && (plain.startsWith("[") || plain.endsWith("]"))) continue;
    words.push(word ?? plain);
  }
  return words;
}
