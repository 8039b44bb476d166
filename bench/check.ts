/** This tree against an earlier one, in turn, on equal servers: fails where a figure has become worse. */
import { execFile } from "node:child_process";
import { existsSync, mkdtempSync, readFileSync, rmSync, symlinkSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs, promisify } from "node:util";
import { seededRandom } from "../kube/index.ts";
import { compareRuns, type Worse, worseThan } from "./compare.ts";
import { BenchError, Interrupted, messageOf, UsageError } from "./errors.ts";
import type { BenchIo, Command } from "./io.ts";
import { type Run, violationsOf } from "./measure/result.ts";
import type { OptionTable } from "./options.ts";
import { comparisonText } from "./report/comparison_table.ts";
import { amount } from "./report/words.ts";
import { runOnce } from "./run.ts";
import { type RunSettings, readArguments, runSettings, scenarioOptions, within } from "./settings.ts";

const execute = promisify(execFile);
const root = join(import.meta.dirname, "..");

const checkOptions = {
  against: {
    type: "string",
    value: "REF",
    help: "The commit to compare with. Default the last tag before this.",
  },
  scenario: { type: "string", default: "rollout", value: "NAME", help: "What runs." },
  pods: { type: "string", default: "300", value: "N", help: "Pods of a run." },
  rounds: { type: "string", default: "3", value: "N", help: "Runs a side, 1 to 50." },
  threshold: {
    type: "string",
    default: "1.25",
    value: "X",
    help: "Ratio from which a figure has become worse.",
  },
  watchers: scenarioOptions.watchers,
  cores: scenarioOptions.cores,
  seed: { type: "string", default: "1", value: "N", help: "Of all chance." },
} as const satisfies OptionTable;

export const check: Command = {
  usage: "",
  summary: "this tree and an earlier commit in turn; fails where a figure has become worse",
  options: checkOptions,
  run: runCheck,
};

async function runCheck(args: readonly string[], io: BenchIo): Promise<number> {
  const { values } = readArguments(() =>
    parseArgs({
      args: [...args],
      options: checkOptions,
    }),
  );
  const threshold = Number(values.threshold);
  if (!(threshold > 1)) throw new UsageError(`--threshold must be a ratio over 1, not "${values.threshold}"`);
  const rounds = within(values.rounds, "rounds", 1, 50);
  const settings = runSettings([
    values.scenario,
    "--pods",
    values.pods,
    "--seed",
    values.seed,
    "--limit",
    "0",
    "--watchers",
    values.watchers,
    ...(values.cores === undefined ? [] : ["--cores", values.cores]),
  ]);
  const reference = await resolveReference(root, values.against);
  io.note(`against ${reference.name} (${reference.commit.slice(0, 10)}), ${amount(rounds, "rounds")}`);
  const tree = await checkOut(root, reference.commit, io.signal);
  try {
    const { before, after } = await inTurn(settings, rounds, join(tree.folder, "cli", "bin.js"), io);
    const compared = compareRuns(before, after, seededRandom(settings.seed));
    io.print(comparisonText(compared));
    return exitCodeOf(worseThan(compared, threshold), violationsOf(after), threshold, io);
  } finally {
    await tree.remove();
  }
}

function exitCodeOf(worse: readonly Worse[], violations: number, threshold: number, io: BenchIo): number {
  for (const { phase, figure, ratio } of worse)
    io.print(`FAILED: ${phase}: ${figure} is ${ratio.toFixed(2)}x, over the threshold of ${threshold}x`);
  if (violations > 0) io.print(`FAILED: ${amount(violations, "budget violations")}`);
  if (worse.length > 0 || violations > 0) return 1;
  io.print(`passed: nothing is over ${threshold}x`);
  return 0;
}

/** The sides change places every round, so that what the machine does meanwhile hits both. */
async function inTurn(
  settings: RunSettings,
  rounds: number,
  formerController: string,
  io: BenchIo,
): Promise<{ before: Run[]; after: Run[] }> {
  const before: Run[] = [];
  const after: Run[] = [];
  const [pods = 0] = settings.sizes;
  for (let round = 0; round < rounds; round++) {
    const sides: [Run[], string][] = [
      [before, formerController],
      [after, io.controller],
    ];
    for (const [runs, controller] of round % 2 === 0 ? sides : sides.reverse()) {
      io.note(`round ${round + 1} of ${rounds}: ${runs === before ? "before" : "after"}`);
      runs.push(await runOnce(settings, pods, { ...io, controller }));
    }
  }
  return { before, after };
}

export interface Reference {
  readonly name: string;
  readonly commit: string;
}

/** The ref that was named, else the last tag before this commit. Throws BenchError with one line. */
export async function resolveReference(folder: string, named: string | undefined): Promise<Reference> {
  const name = named ?? (await lastTag(folder));
  const { stdout } = await git(folder, "rev-parse", "--verify", "--quiet", `${name}^{commit}`).catch(() => {
    throw new BenchError(`there is no commit ${JSON.stringify(name)} in this repository (--against)`);
  });
  return { name, commit: stdout.trim() };
}

async function lastTag(folder: string): Promise<string> {
  const exact = await git(folder, "describe", "--tags", "--exact-match", "HEAD").then(
    () => true,
    () => false,
  );
  return git(folder, "describe", "--tags", "--abbrev=0", exact ? "HEAD^" : "HEAD").then(
    ({ stdout }) => stdout.trim(),
    () => {
      throw new BenchError("there is no earlier tag to compare with: name a commit with --against");
    },
  );
}

/** A tree of its own, with this tree's dependencies where they are the same. */
async function checkOut(
  folder: string,
  commit: string,
  signal: AbortSignal,
): Promise<{ folder: string; remove(): Promise<void> }> {
  const place = mkdtempSync(join(tmpdir(), "refit-bench-tree-"));
  const remove = async (): Promise<void> => {
    await git(folder, "worktree", "remove", "--force", place).catch(() => undefined);
    rmSync(place, { recursive: true, force: true });
  };
  try {
    await git(folder, "worktree", "add", "--detach", "--force", place, commit);
    if (!existsSync(join(place, "cli", "bin.js")))
      throw new BenchError(`${commit.slice(0, 10)} has no cli/bin.js: it is too old to be compared`);
    const lock = (tree: string): string => readFileSync(join(tree, "package-lock.json"), "utf8");
    if (lock(place) === lock(folder)) symlinkSync(join(folder, "node_modules"), join(place, "node_modules"));
    else await execute("npm", ["ci", "--ignore-scripts", "--no-audit", "--no-fund"], { cwd: place, signal });
    return { folder: place, remove };
  } catch (error) {
    await remove();
    if (signal.aborted) throw new Interrupted();
    throw error instanceof BenchError ? error : new BenchError(`the earlier tree: ${messageOf(error)}`);
  }
}

function git(folder: string, ...args: string[]): Promise<{ stdout: string }> {
  return execute("git", ["-C", folder, ...args]);
}
