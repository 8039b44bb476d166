/** `npm run release:check`: is dist/ what a release must be? The last line is `N passed, N failed`. */
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { refitVersion } from "../cli/index.ts";
import { checksumsFile, checksumsOf } from "./checksums.ts";
import { messageOf } from "./errors.ts";
import { executableName } from "./executable.ts";
import { installNpmPackage, npmPackageName } from "./npm_package.ts";
import {
  billProblem,
  checksumProblem,
  glibcProblem,
  longestStart,
  median,
  repeatProblem,
  startProblem,
  versionProblem,
} from "./release_rules.ts";
import { runProgram } from "./run_program.ts";

const usage = `npm run release:check -- [--tag vVERSION] [--made]

Makes dist/ twice (npm run bundle) and checks it.

  --tag vVERSION  The release that is being made: the tree must be committed and the changelog must know it.
  --made          Check dist/ as it is; nothing is made.
  --help          Print this.
`;

const root = join(import.meta.dirname, "..");
const dist = join(root, "dist");
const modules = [process.execPath, join(dist, "refit.mjs")] as const;
const executable = [join(dist, executableName)] as const;

const text = (path: string): string => readFileSync(join(root, path), "utf8");

interface Check {
  readonly name: string;
  /** What is wrong, or undefined. A rejection is wrong, too. */
  problem(): string | undefined | Promise<string | undefined>;
}

function checksOf(tag: string | undefined, isMade: boolean): Check[] {
  const { version }: { version: string } = JSON.parse(text("package.json"));
  const versions = { packageVersion: version, printed: refitVersion, changelog: text("CHANGELOG.md"), tag };
  return [
    { name: "one version everywhere", problem: () => versionProblem(versions) },
    ...(tag === undefined ? [] : [{ name: "the tree is committed", problem: treeProblem }]),
    ...(isMade ? [] : [{ name: "made twice, dist/ has the same bytes", problem: madeTwice }]),
    {
      name: "SHA256SUMS is about dist/ as it is",
      problem: async () => checksumProblem(text(`dist/${checksumsFile}`), await checksumsOf(dist)),
    },
    ...["refit", "agent"].map((name) => ({
      name: `what ${name} holds is in the bill of materials`,
      problem: () => billProblem(text(`dist/${name}.NOTICES.txt`), text("dist/refit.cdx.json")),
    })),
    ...outputs.map((command) => ({
      name: `refit ${command}: the executable prints what the modules print`,
      problem: () => sameOutput(ofExecutable, command.split(" ")),
    })),
    {
      name: "the package of npm, installed without a registry, prints what the modules print",
      problem: installed,
    },
    ...(process.platform === "linux" ? [libraryCheck, startCheck] : []),
  ];
}

function treeProblem(): string | undefined {
  const changed = runProgram("git", ["status", "--porcelain"], { cwd: root }).trim();
  return changed === "" ? undefined : `not committed: ${changed.split("\n").join(", ")}`;
}

async function madeTwice(): Promise<string | undefined> {
  const make = () => runProgram("npm", ["run", "--silent", "bundle"], { cwd: root });
  make();
  const first = await checksumsOf(dist);
  make();
  return repeatProblem(first, await checksumsOf(dist));
}

const outputs = ["version --client", "help", "controller --help", "agent --help", "up --help", "manifests"];

/** Runs a command line and returns what it prints. */
type Run = (argv: readonly string[]) => string;

const ofExecutable: Run = (argv) => runProgram(join(dist, executableName), argv);

function sameOutput(run: Run, argv: readonly string[]): string | undefined {
  const [node, entry] = modules;
  const expected = runProgram(node, [entry, ...argv]);
  return expected === run(argv) && expected !== "" ? undefined : "the outputs differ";
}

function installed(): string | undefined {
  const folder = mkdtempSync(join(tmpdir(), "refit-installed-"));
  try {
    const run = installNpmPackage(join(dist, npmPackageName), folder);
    const other = outputs.filter((command) => sameOutput(run, command.split(" ")) !== undefined);
    return other.length === 0 ? undefined : `the outputs differ: ${other.join(", ")}`;
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

const rounds = 15;

const libraryCheck: Check = {
  name: "the executable needs no newer C library than docs/install.md says",
  problem: () =>
    glibcProblem(
      runProgram("grep", ["--text", "--only-matching", "GLIBC_2[.][0-9]*", join(dist, executableName)]),
    ),
};

/** About servers: macOS checks the signature of what it reads of a program, which takes time of its own. */
const startCheck: Check = {
  name: `the executable starts in ${longestStart} times the time of the modules`,
  problem: startTimes,
};

/** In turns, so that both see the same machine. */
function startTimes(): string | undefined {
  const times = Array.from({ length: rounds }, () => [modules, executable].map(processorTime));
  const ofModules = times.map(([own = Number.NaN]) => own);
  const ofExecutable = times.map(([, own = Number.NaN]) => own);
  say(`        modules ${median(ofModules)} ms, executable ${median(ofExecutable)} ms of a processor`);
  return startProblem(ofModules, ofExecutable);
}

/** Milliseconds that a start takes of a processor: unlike the time on the clock it says the same on a busy machine. */
function processorTime(program: readonly string[]): number {
  const script = '"$@" >/dev/null && times';
  const times = runProgram("bash", ["-c", script, "bash", ...program, "version", "--client"]);
  // The second line is about the children: user and system, as 0m0.104s.
  const [user = 0, system = 0] = [...(times.split("\n")[1] ?? "").matchAll(/(\d+)m([\d.]+)s/g)].map(
    ([, minutes, seconds]) => Number(minutes) * 60_000 + Number(seconds) * 1000,
  );
  return Math.round(user + system);
}

function say(line: string): void {
  process.stdout.write(`${line}\n`);
}

async function run(checks: readonly Check[]): Promise<number> {
  let failed = 0;
  for (const { name, problem } of checks) {
    let found: string | undefined;
    try {
      found = await problem();
    } catch (error) {
      found = messageOf(error);
    }
    if (found !== undefined) failed += 1;
    say(found === undefined ? `ok      ${name}` : `FAILED  ${name}: ${found}`);
  }
  say(`${checks.length - failed} passed, ${failed} failed`);
  return failed === 0 ? 0 : 1;
}

try {
  const { values } = parseArgs({
    options: {
      tag: { type: "string" },
      made: { type: "boolean", default: false },
      help: { type: "boolean", default: false },
    },
  });
  if (values.help) process.stdout.write(usage);
  else process.exitCode = await run(checksOf(values.tag, values.made));
} catch (error) {
  process.stderr.write(`error: ${messageOf(error)}; see "npm run release:check -- --help"\n`);
  process.exitCode = 2;
}
