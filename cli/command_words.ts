/** Which words of a command line name the command. */
import type { Command } from "./command.ts";
import { globalFlags } from "./global_flags.ts";

/** The one or two words that name the command, wherever global flags stand before them. */
export function splitCommand(argv: readonly string[]): { words: string[]; others: string[] } {
  const words: string[] = [];
  const others: string[] = [];
  let asksVersion = false;
  let index = 0;
  while (index < argv.length && words.length < 2) {
    const word = argv[index] ?? "";
    const isFlag = word.startsWith("-") && word !== "-";
    // After the first word flags belong to the command, and what follows them may be their value.
    if (isFlag && words.length > 0) break;
    if (word === "--help" || word === "-h") words.push("help");
    else if (word === "--version") asksVersion = true;
    else if (!isFlag) words.push(word);
    else if (takesNextWord(word)) others.push(word, argv[++index] ?? "");
    else others.push(word);
    index += 1;
  }
  const left = [...others, ...argv.slice(index)];
  // Asked of a program by a flag, its version needs no server.
  return asksVersion
    ? { words: ["version", ...words], others: ["--client", ...left] }
    : { words, others: left };
}

function takesNextWord(word: string): boolean {
  if (word.includes("=")) return false;
  for (const [name, flag] of Object.entries(globalFlags)) {
    if (flag.kind === "text" && (word === `--${name}` || word === `-${flag.short}`)) return true;
  }
  return false;
}

/** The command of two words, else that of the first one. */
export function findCommand(commands: readonly Command[], words: readonly string[]): Command | undefined {
  const [first = "", second = ""] = words;
  return (
    commands.find((command) => command.name === `${first} ${second}`) ??
    commands.find((command) => command.name === first)
  );
}

/** What stands after the command's name, flags in front of it included. */
export function wordsOf(command: Command, { words, others }: ReturnType<typeof splitCommand>): string[] {
  const [, second] = words;
  return command.name.includes(" ") || second === undefined ? others : [second, ...others];
}
