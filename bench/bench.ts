/** The command line of the bench, without a process around it. */
import { commands, runScenario } from "./commands.ts";
import { BenchError, Interrupted, messageOf, UsageError } from "./errors.ts";
import type { BenchIo } from "./io.ts";
import { scenarios } from "./scenarios/all.ts";
import { commandUsage, usage } from "./usage.ts";

/** Exit code: 0, 1 for violated budgets and thresholds, 2 for what could not be done, 130 after Ctrl-C. */
export async function bench(argv: readonly string[], io: BenchIo): Promise<number> {
  const [first, ...rest] = argv;
  if (first === undefined || first === "help" || argv.includes("--help") || argv.includes("-h")) {
    const command = Object.hasOwn(commands, first ?? "") ? commands[first ?? ""] : undefined;
    io.print(command === undefined ? usage(scenarios, commands) : commandUsage(first ?? "", command));
    return first === undefined ? 2 : 0;
  }
  try {
    const command = Object.hasOwn(commands, first) ? commands[first] : undefined;
    return await (command === undefined ? runScenario(argv, io) : command.run(rest, io));
  } catch (error) {
    io.progress.end();
    if (error instanceof Interrupted) {
      io.note("bench: interrupted; everything that it made is removed");
      return 130;
    }
    io.note(`bench: ${messageOf(error)}`);
    if (error instanceof UsageError) io.note("bench: `npm run bench -- --help` lists what it takes");
    else if (!(error instanceof BenchError)) io.log.debug("bench failed", { error });
    return 2;
  }
}
