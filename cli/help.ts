import type { Flag, FlagTable } from "./arguments.ts";
import type { Command } from "./command.ts";
import { globalFlags, globalFlagsBeside } from "./global_flags.ts";

/** All commands under their first words, as `refit --help` prints them. */
export function overview(groups: readonly CommandGroup[]): string {
  const lines = [
    "refit: rolls out CloneSets and the other workloads of OpenKruise, in place.",
    "",
    "Usage: refit COMMAND [TYPE NAME | TYPE/NAME] [flags]   (also: kubectl refit COMMAND ...)",
  ];
  const shown = groups.filter((group) => group.isHidden !== true);
  const listed = shown.filter((group) => group.isBrief !== true);
  const width = Math.max(...listed.flatMap((group) => group.commands.map((command) => command.name.length)));
  for (const group of shown) {
    lines.push("", `${group.title}:`);
    if (group.isBrief === true) {
      lines.push(`  ${group.commands.map((command) => command.name).join("  ")}`);
      continue;
    }
    for (const command of group.commands) lines.push(`  ${command.name.padEnd(width)}  ${command.summary}`);
  }
  lines.push(
    "",
    "Flags of every command:",
    ...flagLines(globalFlags),
    "",
    'More about one: "refit COMMAND --help".',
  );
  return `${lines.join("\n")}\n`;
}

export interface CommandGroup {
  readonly title: string;
  readonly commands: readonly Command[];
  /** Only the names are listed. */
  readonly isBrief?: boolean;
  /** For programs, not for people. */
  readonly isHidden?: boolean;
}

export async function commandHelp(command: Command): Promise<string> {
  const lines = [command.summary, "", `Usage: refit ${command.name} ${command.usage}`.trimEnd()];
  if (command.details !== undefined) lines.push("", command.details.trimEnd());
  if (command.examples !== undefined) {
    lines.push("", "Examples:", ...command.examples.map((example) => `  ${example}`));
  }
  const flags = await flagsOf(command);
  if (Object.keys(flags).length > 0) lines.push("", "Flags:", ...flagLines(flags));
  if (command.appendix !== undefined) lines.push("", (await command.appendix()).trimEnd());
  if (command.raw === undefined)
    lines.push("", "Flags of every command:", ...flagLines(globalFlagsBeside(flags)));
  return `${lines.join("\n")}\n`;
}

export async function flagsOf({ flags }: Command): Promise<FlagTable> {
  return typeof flags === "function" ? flags() : flags;
}

/** Help of a word that only starts commands: `rollout`, `set`. */
export function groupHelp(word: string, commands: readonly Command[]): string {
  const width = Math.max(...commands.map((command) => command.name.length));
  const lines = commands.map((command) => `  ${command.name.padEnd(width)}  ${command.summary}`);
  return `Usage: refit ${word} COMMAND\n\nCommands:\n${lines.join("\n")}\n`;
}

function flagLines(table: FlagTable): string[] {
  const entries = flagEntries(table);
  const width = Math.min(36, Math.max(...entries.map(({ head }) => head.length)));
  return entries.map(({ head, text }) =>
    head.length > width ? `  ${head}\n  ${" ".repeat(width)}  ${text}` : `  ${head.padEnd(width)}  ${text}`,
  );
}

/** How each flag is written, and what it does with its default; `head` is padded where there is no short form. */
export function flagEntries(table: FlagTable): { head: string; text: string }[] {
  return Object.entries(table).map(([name, flag]) => {
    const isDefaultWorthSaying =
      flag.default !== undefined && flag.default !== "" && flag.default !== "false";
    const text = isDefaultWorthSaying ? `${flag.help} Default ${flag.default}.` : flag.help;
    return { head: flagHead(name, flag), text };
  });
}

function flagHead(name: string, flag: Flag): string {
  const short = flag.short === undefined ? "    " : `-${flag.short}, `;
  const long = name.length === 1 ? `-${name}` : `--${name}`;
  if (flag.kind === "switch") return `${short}${long}`;
  const value = flag.value ?? "VALUE";
  return flag.bare === undefined ? `${short}${long} ${value}` : `${short}${long}[=${value}]`;
}
