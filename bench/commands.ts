/** The commands of the bench; every scenario is one, too. */
import { readFileSync, writeFileSync } from "node:fs";
import { parseArgs } from "node:util";
import { seededRandom } from "../kube/index.ts";
import { clean } from "./clean.ts";
import { BenchError, messageOf, UsageError } from "./errors.ts";
import type { BenchIo, Command } from "./io.ts";
import { machine, tool } from "./machine.ts";
import { parseResult, type ResultFile, type Run, schemaVersion, violationsOf } from "./measure/result.ts";
import { tableOf } from "./report/table.ts";
import { runAll } from "./run.ts";
import { readArguments, runSettings } from "./settings.ts";
import { connect } from "./target.ts";

export const commands: Readonly<Record<string, Command>> = { clean: runClean };

/** One scenario, as often and in as many sizes as asked. */
export const runScenario: Command = async (args, io) => {
  const settings = runSettings(args);
  const runs = await runAll(settings, io);
  for (const run of runs) io.print(`${tableOf(run)}\n`);
  const file = await resultFile(runs);
  if (settings.out !== undefined) write(settings.out, `${JSON.stringify(file)}\n`, io);
  return violationsOf(runs) > 0 ? 1 : 0;
};

export async function resultFile(runs: readonly Run[]): Promise<ResultFile> {
  return { schema: "refit-bench", schemaVersion, tool: await tool(), machine: machine(), runs: [...runs] };
}

async function runClean(args: readonly string[], io: BenchIo): Promise<number> {
  const { values } = readArguments(() =>
    parseArgs({ args: [...args], options: { kubeconfig: { type: "string" }, run: { type: "string" } } }),
  );
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

export function readResult(path: string): ResultFile {
  let text: string;
  try {
    text = readFileSync(path, "utf8");
  } catch (error) {
    throw new BenchError(`${path} cannot be read: ${messageOf(error)}`);
  }
  return parseResult(text, path);
}

export function write(path: string, text: string, io: BenchIo): void {
  try {
    writeFileSync(path, text);
  } catch (error) {
    throw new BenchError(`${path} cannot be written: ${messageOf(error)}`);
  }
  io.note(`written: ${path}`);
}
