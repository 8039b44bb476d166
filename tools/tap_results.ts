/** What the TAP 14 output of a run says: nested subtests are indented by four spaces a level, details are YAML blocks. */

export interface Counts {
  passed: number;
  failed: number;
  skipped: number;
}

export interface Failure {
  /** From the file to the assertion. */
  path: string[];
  /** Lines of the YAML block that follows the assertion, at most `longestDetails`. */
  details: string[];
}

const longestDetails = 60;

/** The end of one test file: how long it took, and whether all of it passed. */
export interface FileResult {
  path: string;
  passed: boolean;
  seconds: number;
}

/** What a line says of a test file as a whole: only results of the outermost level name one. */
export function fileIn(line: string): FileResult | undefined {
  const [, not, path = "", milliseconds = "0"] =
    /^(not )?ok \d+ - (\S+)(?: # time=([\d.]+)ms)?$/.exec(line) ?? [];
  return path === "" ? undefined : { path, passed: not === undefined, seconds: Number(milliseconds) / 1000 };
}

/** tap closes with a comment that counts all assertions: `# { total: 3, pass: 2, fail: 1 }`. */
export function countsIn(tap: string): Counts {
  const summary = /^# \{ total: [^}]*\}$/gm;
  const last = [...tap.matchAll(summary)].at(-1)?.[0] ?? "";
  const number = (name: string): number => Number(new RegExp(`\\b${name}: (\\d+)`).exec(last)?.[1] ?? 0);
  return { passed: number("pass"), failed: number("fail"), skipped: number("skip") + number("todo") };
}

/** The assertions that failed, in order: of a subtest that failed because of what is in it, only that. */
export function failuresIn(tap: string): Failure[] {
  const failures: Failure[] = [];
  const parents: string[] = [];
  // How many failures there were when the subtest of each level began.
  const begun: number[] = [];
  let failed: Failure | undefined;
  let block: { end: string; indent: number; lines: string[] } | undefined;
  for (const line of tap.split("\n")) {
    if (block !== undefined) {
      if (line === block.end) block = undefined;
      else if (block.lines.length < longestDetails) block.lines.push(line.slice(block.indent));
      continue;
    }
    const opened = /^( *)---$/.exec(line)?.[1];
    if (opened !== undefined) {
      block = { end: `${opened}...`, indent: opened.length, lines: failed?.details ?? [] };
      continue;
    }
    failed = undefined;
    const [, indent = "", subtest] = /^( *)# Subtest: (.*)$/.exec(line) ?? [];
    if (subtest !== undefined) {
      const level = indent.length / 4;
      parents.splice(level, Number.POSITIVE_INFINITY, subtest);
      begun.splice(level, Number.POSITIVE_INFINITY, failures.length);
      continue;
    }
    const assertion = /^( *)(not )?ok \d+(?: - (.*))?$/.exec(line);
    if (assertion === null) continue;
    const level = (assertion[1] ?? "").length / 4;
    const before = begun[level];
    parents.splice(level);
    begun.splice(level);
    const name = (assertion[3] ?? "").replace(/ # time=[\d.]+ms$/, "");
    if (assertion[2] === undefined || / # (SKIP|TODO)\b/.test(name)) continue;
    if (before !== undefined && failures.length > before) continue;
    failed = { path: [...parents, name], details: [] };
    failures.push(failed);
  }
  return failures;
}
