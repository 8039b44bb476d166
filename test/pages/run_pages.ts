/** Runs the commands of pages as a reader would: in a shell, in the root of the repository, on the cluster of `refit up`. */
import { execFile } from "node:child_process";
import { chmodSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { delimiter, join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import t, { type Test } from "tap";
import { runHere } from "../../testkit/cli/command_fixture.ts";
import { withoutKubectl } from "../../testkit/sandbox/kubectl.ts";
import { builtProgram } from "../built.ts";
import { type Block, blocksOf, comparable, linesOf, type Step, stepsOf, withBlocks } from "./page.ts";
import { pastedPages } from "./pages.ts";

const root = join(import.meta.dirname, "../..");
const isUpdate = Boolean(process.env["UPDATE_GOLDEN"]);
const pauseMs = 100;
/** A command that only reads is run again until it prints what the page says, for so long at most. */
const mostMs = 60_000;
/** For an update: it is taken once it printed the same so often, one after the other. */
const settledAfter = 5;

const reads = /^(kubectl (get|logs|describe)|refit (why|tree|plan|rollout history|uninstall --check)) /;

/** Follows; what it prints before its last line depends on the machine, and is left out of pages. */
const follows = /^(kubectl|refit) rollout status /;

type Shell = (command: string) => Promise<string[]>;

/** A test a page. `UPDATE_GOLDEN=1` rewrites the outputs that differ. */
export function runPages(names: readonly string[]): void {
  t.test("pages of the handbook", { skip: withoutKubectl }, async (t) => {
    const shell = await startCluster(t);
    for (const name of names) await t.test(name, (t) => runPage(t, shell, name));
  });
}

/** What a reader has: the cluster of `refit up`, KUBECONFIG, and `refit` on the PATH. */
async function startCluster(t: Test): Promise<Shell> {
  const folder = mkdtempSync(join(tmpdir(), "refit-pages-"));
  const kubeconfig = join(folder, "kubeconfig");
  const program = join(folder, "refit");
  writeFileSync(program, `#!/bin/sh\nexec "${process.execPath}" "${builtProgram("refit")}" "$@"\n`);
  chmodSync(program, 0o755);
  const stopping = new AbortController();
  const isUp = Promise.withResolvers<void>();
  const said: string[] = [];
  const write = (text: string): void => {
    said.push(text);
    if (text.includes("Ctrl-C")) isUp.resolve();
  };
  const io = { stdout: { write }, signal: stopping.signal };
  const line = `up --timing fast --pods 1 --feature-gates ImagePullJobGate=true,ResourceDistributionGate=true --seed 7 --kubeconfig-out ${kubeconfig}`;
  const running = runHere(line, io);
  running.then(({ stderr }) => isUp.reject(new Error(said.join("") + stderr)), isUp.reject);
  t.teardown(async () => {
    stopping.abort();
    await running;
    rmSync(folder, { recursive: true, force: true });
  });
  await isUp.promise;
  const env = {
    ...process.env,
    KUBECONFIG: kubeconfig,
    PATH: `${folder}${delimiter}${process.env["PATH"] ?? ""}`,
  };
  const shell: Shell = (command) =>
    new Promise((resolve) => {
      const words = ["-c", `exec 2>&1\n${command}`];
      execFile("bash", words, { cwd: root, env, timeout: 60_000 }, (_error, stdout) =>
        resolve(linesIn(stdout)),
      );
    });
  await shell("kubectl delete clone/demo");
  return shell;
}

function linesIn(text: string): string[] {
  const lines = text.split("\n").map((line) => line.trimEnd());
  while (lines.at(-1) === "") lines.pop();
  return lines;
}

/** What a command prints, by step. */
type Run = (step: Step) => Promise<readonly string[]>;

async function runPage(t: Test, shell: Shell, name: string): Promise<void> {
  const file = join(root, "docs/kinds", `${name}.md`);
  const page = readFileSync(file, "utf8");
  const blocks = blocksOf(page).map((block) => ({ block, steps: stepsOf(block) }));
  const consoles = blocks.filter(({ block }) => block.info === "console");
  const run = pastedPages.includes(name)
    ? await pasted(
        shell,
        consoles.flatMap(({ steps }) => steps),
      )
    : (step: Step) => settled(shell, step);
  const changed = new Map<Block, readonly string[]>();
  for (const { block } of blocks) checkManifest(t, block, changed);
  for (const { block, steps } of consoles) {
    const outputs: Step[] = [];
    for (const step of steps) outputs.push({ ...step, output: outputOf(t, step, await run(step)) });
    if (isUpdate) changed.set(block, linesOf(outputs));
  }
  if (isUpdate) writeFileSync(file, withBlocks(page, changed));
}

function checkManifest(t: Test, block: Block, changed: Map<Block, readonly string[]>): void {
  const [language, path] = block.info.split(" ");
  if (language !== "yaml" || path === undefined) return;
  const content = linesIn(readFileSync(join(root, path), "utf8"));
  if (isUpdate) changed.set(block, content);
  t.same(isUpdate ? content : block.lines, content, `the manifest is ${path}`);
}

/** All commands in one shell, as somebody runs them who pastes them: none waits for what it should print. */
async function pasted(shell: Shell, steps: readonly Step[]): Promise<Run> {
  const mark = "# next";
  const printed = await shell(steps.map(({ command }) => `echo '${mark}'\n${command}`).join("\n"));
  const [, ...outputs] = printed.join("\n").split(new RegExp(`^${mark}\n?`, "m"));
  const bySteps = new Map(steps.map((step, index) => [step, linesIn(outputs[index] ?? "")]));
  return (step) => Promise.resolve(bySteps.get(step) ?? []);
}

/** A command that only reads is run again until it prints what the page has. */
async function settled(shell: Shell, { command, output }: Step): Promise<readonly string[]> {
  const expected = comparable(output);
  const printed = await shell(command);
  let found = follows.test(command) ? printed.slice(-1) : printed;
  let same = 1;
  const end = performance.now() + mostMs;
  while (performance.now() < end && reads.test(command)) {
    if (isEqual(comparable(found), expected) || (isUpdate && same >= settledAfter)) break;
    await sleep(pauseMs);
    const next = await shell(command);
    same = isEqual(comparable(next), comparable(found)) ? same + 1 : 1;
    found = next;
  }
  return found;
}

/** The output that the page should have: what it has, as long as that is what the command prints. */
function outputOf(t: Test, { command, output }: Step, found: readonly string[]): readonly string[] {
  const expected = comparable(output);
  if (isEqual(comparable(found), expected)) {
    t.pass(command);
    return output;
  }
  if (isUpdate) return found;
  t.same(comparable(found), expected, command);
  return output;
}

function isEqual(left: readonly string[], right: readonly string[]): boolean {
  return left.length === right.length && left.every((line, index) => line === right[index]);
}
