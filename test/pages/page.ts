/**
 * Pages of the handbook as data: what their fenced blocks say. Two kinds of block count:
 *
 * - `yaml FILE`: the content of that file, as it is in the repository;
 * - `console`: commands, each on a line that begins with `$ `, and below each what it prints.
 */

export interface Block {
  /** Words after the fence: `yaml examples/cloneset.yaml`, `console`. */
  readonly info: string;
  /** Lines between the fences. */
  readonly lines: readonly string[];
  /** Index of the first of them in the page. */
  readonly start: number;
}

export interface Step {
  readonly command: string;
  readonly output: readonly string[];
}

export function blocksOf(page: string): Block[] {
  const lines = page.split("\n");
  const blocks: Block[] = [];
  for (let index = 0; index < lines.length; index++) {
    const line = lines[index] ?? "";
    if (!line.startsWith("```")) continue;
    const start = index + 1;
    const end = lines.indexOf("```", start);
    if (end < 0) throw new Error(`line ${start}: the block has no end`);
    blocks.push({ info: line.slice(3).trim(), lines: lines.slice(start, end), start });
    index = end;
  }
  return blocks;
}

/** Commands of a console block, with what each prints. */
export function stepsOf({ lines }: Block): Step[] {
  const steps: { command: string; output: string[] }[] = [];
  for (const line of lines) {
    if (line.startsWith("$ ")) steps.push({ command: line.slice(2), output: [] });
    else steps.at(-1)?.output.push(line);
  }
  return steps;
}

export function linesOf(steps: readonly Step[]): string[] {
  return steps.flatMap(({ command, output }) => [`$ ${command}`, ...output]);
}

/** The page with other lines in some of its blocks. */
export function withBlocks(page: string, changed: ReadonlyMap<Block, readonly string[]>): string {
  const lines = page.split("\n");
  for (const [block, content] of [...changed].sort(([a], [b]) => b.start - a.start))
    lines.splice(block.start, block.lines.length, ...content);
  return lines.join("\n");
}

/** In the order in which they are looked for. Suffixes are made of the letters and digits of Kubernetes' own. */
const varying: readonly (readonly [RegExp, string])[] = [
  [/\b\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ/g, "TIME"],
  [/\b\d{1,3}\.\d{1,3}\.\d{1,3}\.\d{1,3}\b/g, "ADDRESS"],
  // Before suffixes, which may be made of digits alone.
  [/\b\d{8,10}-/g, "MINUTE-"],
  [/-[bcdfghjklmnpqrstvwxz2456789]{8,10}\b/g, "-HASH"],
  [/-[bcdfghjklmnpqrstvwxz2456789]{5}\b/g, "-SUFFIX"],
  // After suffixes: one may read as an age does, 2456h.
  [/\b(?:\d{1,6}d)?(?:\d{1,6}h)?(?:\d{1,6}m)?\d{1,6}(?:\.\d{1,6})?(?:s|m|h)\b/g, "AGE"],
  // Newer versions of kubectl name the namespace.
  [/ from \w+ namespace$/, ""],
  [/ +/g, " "],
  // Of a tree: the scheduler chooses.
  [/(Pod\/\S+ .*) node\d+ /, "$1 NODE "],
];

/**
 * Lines as they are compared: times, addresses, ages, generated parts of names, nodes in trees and the width of columns differ
 * from run to run. Neighbours with generated names come in any order.
 */
export function comparable(lines: readonly string[]): string[] {
  const plain = lines.map((line) =>
    varying.reduce((text, [pattern, word]) => text.replace(pattern, word), line).trimEnd(),
  );
  const isGenerated = (line: string | undefined): boolean => /-(SUFFIX|HASH)/.test(line ?? "");
  const sorted: string[] = [];
  for (let start = 0; start < plain.length; ) {
    let end = start + 1;
    if (isGenerated(plain[start])) while (end < plain.length && isGenerated(plain[end])) end++;
    sorted.push(...plain.slice(start, end).sort());
    start = end;
  }
  return sorted;
}
