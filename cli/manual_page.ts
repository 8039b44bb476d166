/** The manual page `refit(1)`, as the commands describe themselves. */
import type { FlagTable } from "./arguments.ts";
import type { Command } from "./command.ts";
import { commandGroups } from "./commands.ts";
import { globalFlags } from "./global_flags.ts";
import { flagEntries, flagsOf } from "./help.ts";
import { refitVersion } from "./version.ts";

/** Source for `man`: roff with the `man` macros. The same for the same commands: it carries no date. */
export async function manualPage(): Promise<string> {
  const lines = [
    `.TH REFIT 1 "" "Refit ${refitVersion}" "User Commands"`,
    ".SH NAME",
    roff("refit - rolls out CloneSets and the other workloads of OpenKruise, in place"),
    ".SH SYNOPSIS",
    `.B refit\n${roff("COMMAND [TYPE NAME | TYPE/NAME] [flags]")}`,
    ".br",
    `.B kubectl refit\n${roff("COMMAND ...")}`,
  ];
  for (const { title, commands, isHidden } of commandGroups) {
    if (isHidden === true) continue;
    lines.push(`.SH ${roff(title.toUpperCase())}`);
    for (const command of commands) lines.push(...(await commandSection(command)));
  }
  lines.push(".SH FLAGS OF EVERY COMMAND", ...flagParagraphs(globalFlags));
  return `${lines.join("\n")}\n`;
}

async function commandSection(command: Command): Promise<string[]> {
  const { name, usage, summary, details, examples } = command;
  const lines = [`.SS ${roff(`refit ${name} ${usage}`.trimEnd())}`, roff(summary)];
  if (details !== undefined) lines.push(...asWritten(details));
  if (examples !== undefined) {
    lines.push(".PP", "Examples:", ...asWritten(examples.map((example) => `    ${example}`).join("\n")));
  }
  lines.push(...flagParagraphs(await flagsOf(command)));
  if (command.appendix !== undefined) lines.push(...asWritten(await command.appendix()));
  return lines;
}

/** A paragraph with the ends of lines that it has. */
function asWritten(text: string): string[] {
  return [".PP", ".nf", roff(text.trimEnd()), ".fi"];
}

function flagParagraphs(flags: FlagTable): string[] {
  return flagEntries(flags).flatMap(({ head, text }) => [".TP", `.B ${roff(head.trim())}`, roff(text)]);
}

/** Text for roff: no line of it is a request, and what is typed can be copied. */
function roff(text: string): string {
  return text
    .replaceAll("\\", "\\e")
    .replaceAll("-", "\\-")
    .split("\n")
    .map((line) => (/^[.']/.test(line) ? `\\&${line}` : line))
    .join("\n");
}
