/** What `bench` can do, in words. */
import type { Command } from "./io.ts";
import { optionLines } from "./options.ts";
import type { Scenario } from "./scenario.ts";
import { scenarioOptions } from "./settings.ts";

const exitCodes =
  "The exit code is 1 when a budget was violated or the memory of a soak or of the live page was not level, 2 when the bench could not do its work, 130 after Ctrl-C.";

export function usage(scenarios: readonly Scenario[], commands: Readonly<Record<string, Command>>): string {
  const entries = Object.entries(commands).map(([name, { summary }]) => [name, summary] as const);
  return `Usage: npm run bench -- SCENARIO [options]
       npm run bench -- COMMAND [arguments] [options]

Scenarios:
${listOf(scenarios.map((each) => [each.name, withPods(each)]))}

Commands; each describes its options with --help:
${listOf(entries)}

Options of a scenario:
${optionLines(scenarioOptions).join("\n")}

${exitCodes}`;
}

export function commandUsage(name: string, { usage: words, summary, options }: Command): string {
  return `${summary}

Usage: npm run bench -- ${`${name} ${words}`.trimEnd()}

Options:
${optionLines(options).join("\n")}`;
}

function withPods({ summary, usualPods }: Scenario): string {
  return usualPods === undefined ? summary : `${summary} (default --pods ${usualPods})`;
}

function listOf(entries: readonly (readonly [name: string, summary: string])[]): string {
  const width = Math.max(...entries.map(([name]) => name.length));
  return entries.map(([name, summary]) => `  ${name.padEnd(width)}  ${summary}`).join("\n");
}
