/** The commands of the bench; every scenario is one, too. */
import { parseArgs } from "node:util";
import { seededRandom } from "../kube/index.ts";
import { agent } from "./agent/command.ts";
import { swaps } from "./agent/soak.ts";
import { check } from "./check.ts";
import { clean } from "./clean.ts";
import { compareRuns } from "./compare.ts";
import { connect } from "./connection.ts";
import { BenchError, UsageError } from "./errors.ts";
import { checkWritable, readResult, write } from "./files.ts";
import type { BenchIo, Command } from "./io.ts";
import { livePage } from "./live_page/command.ts";
import { machine, tool } from "./machine.ts";
import { type ResultFile, type Run, schemaVersion, violationsOf } from "./measure/result.ts";
import type { OptionTable } from "./options.ts";
import { comparisonText, intervalHint } from "./report/comparison_table.ts";
import { resultPage } from "./report/page.ts";
import { tableOf } from "./report/table.ts";
import { runAll } from "./run.ts";
import { readArguments, runSettings, within } from "./settings.ts";

const seedOption = {
  seed: { type: "string", default: "1", value: "N", help: "Of all chance." },
} as const satisfies OptionTable;
const pageOption = {
  page: { type: "string", value: "FILE", help: "Write a page, in HTML, there." },
} as const satisfies OptionTable;

const compareOptions = { ...seedOption, ...pageOption } as const;
const cleanOptions = {
  kubeconfig: { type: "string", value: "FILE", help: "The cluster to clean." },
  run: { type: "string", value: "RUN", help: "Only what this run has left; else of all runs." },
} as const satisfies OptionTable;

const compare: Command = {
  usage: "BEFORE.json[,MORE.json…] AFTER.json[,MORE.json…]",
  summary: "ratios of two sides of results, figure by figure, with their 95 % intervals",
  options: compareOptions,
  run: runCompare,
};
const report: Command = {
  usage: "RESULT.json…",
  summary: "results as tables, and with --page as one page",
  options: pageOption,
  run: runReport,
};
const cleaning: Command = {
  usage: "--kubeconfig FILE",
  summary: "remove what a bench that was killed has left",
  options: cleanOptions,
  run: runClean,
};

export const commands: Readonly<Record<string, Command>> = {
  compare,
  report,
  clean: cleaning,
  agent,
  swaps,
  "live-page": livePage,
  check,
};

/** One scenario, as often and in as many sizes as asked. */
export async function runScenario(args: readonly string[], io: BenchIo): Promise<number> {
  const settings = runSettings(args);
  const page = settings.page ?? pageBeside(settings.out);
  checkWritable(settings.out);
  checkWritable(page);
  const runs = await runAll(settings, io);
  for (const run of runs) io.print(`${tableOf(run)}\n`);
  const file = await resultFile(runs);
  if (settings.out !== undefined) write(settings.out, `${JSON.stringify(file)}\n`, io);
  if (page !== undefined) write(page, await resultPage([file]), io);
  return violationsOf(runs) > 0 ? 1 : 0;
}

export async function resultFile(runs: readonly Run[]): Promise<ResultFile> {
  return { schema: "refit-bench", schemaVersion, tool: await tool(), machine: machine(), runs: [...runs] };
}

/** `result.json` -> `result.html` */
function pageBeside(out: string | undefined): string | undefined {
  return out === undefined ? undefined : `${out.replace(/\.json$/, "")}.html`;
}

async function runCompare(args: readonly string[], io: BenchIo): Promise<number> {
  const { values, positionals } = readArguments(() =>
    parseArgs({
      args: [...args],
      allowPositionals: true,
      options: compareOptions,
    }),
  );
  const [left, right, more] = positionals;
  if (left === undefined || right === undefined || more !== undefined)
    throw new UsageError("compare needs two sides: A.json B.json, each with more files after commas");
  const [before, after] = [left, right].map((side) => side.split(",").map(readResult));
  const runsOf = (files: readonly ResultFile[] | undefined): Run[] =>
    (files ?? []).flatMap((file) => file.runs);
  checkWritable(values.page);
  const seed = within(values.seed, "seed", 0, 2 ** 32 - 1);
  const compared = compareRuns(runsOf(before), runsOf(after), seededRandom(seed));
  if (compared.length === 0)
    throw new BenchError("the two sides have no phase in common: same scenario and same number of pods");
  io.print(comparisonText(compared));
  const hint = intervalHint(compared);
  if (hint !== undefined) io.note(hint);
  if (values.page !== undefined)
    write(values.page, await resultPage([...(before ?? []), ...(after ?? [])], compared), io);
  return 0;
}

async function runReport(args: readonly string[], io: BenchIo): Promise<number> {
  const { values, positionals } = readArguments(() =>
    parseArgs({ args: [...args], allowPositionals: true, options: pageOption }),
  );
  if (positionals.length === 0) throw new UsageError("report needs results: RESULT.json …");
  const files = positionals.map(readResult);
  for (const run of files.flatMap((file) => file.runs)) io.print(`${tableOf(run)}\n`);
  if (values.page !== undefined) write(values.page, await resultPage(files), io);
  return 0;
}

async function runClean(args: readonly string[], io: BenchIo): Promise<number> {
  const { values } = readArguments(() => parseArgs({ args: [...args], options: cleanOptions }));
  if (values.kubeconfig === undefined) throw new UsageError("clean needs --kubeconfig FILE");
  const { clock } = io;
  const { client } = await connect({ clock, random: seededRandom(clock.now()) }, values.kubeconfig);
  try {
    const { run } = values;
    const cleaned = await clean({ client, clock, timeoutMs: 300_000, ...(run === undefined ? {} : { run }) });
    const counts = Object.entries(cleaned).map(([what, count]) => `${count} ${what}`);
    io.print(`removed: ${counts.join(", ")}`);
    return 0;
  } finally {
    await client.close();
  }
}
