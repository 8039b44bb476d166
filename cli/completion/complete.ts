/** Candidates for the last word of a command line, from the command table and the cluster. */
import { type Flag, Flags, type FlagTable, parseArguments } from "../arguments.ts";
import type { Call, ClusterAccess, Command } from "../command.ts";
import { findCommand, splitCommand, wordsOf } from "../command_words.ts";
import { CliError } from "../errors.ts";
import { globalFlags, globalFlagsBeside } from "../global_flags.ts";
import { flagsOf } from "../help.ts";
import { objectResource, type ResourceType } from "../resource_types.ts";

interface Candidate {
  readonly word: string;
  readonly help?: string;
}

interface Completion {
  readonly candidates: readonly Candidate[];
  /** Names of files would fit, too. */
  readonly files?: boolean;
}

const nothing: Completion = { candidates: [] };
const fileNames: Completion = { candidates: [], files: true };

/** Nobody waits longer for a list after the tab key. */
const longestWait = "--request-timeout=2s";
const mostNames = 500;

/** Prints what fits; the words are those after the program's name, the last one being typed. Resolves to the exit code. */
export async function complete(call: Call, commands: readonly Command[]): Promise<number> {
  const typed = call.words.at(-1) ?? "";
  const before = call.words.slice(0, -1);
  const split = splitCommand(before);
  const command = findCommand(commands, split.words);
  const inGroup = split.words.length === 1 ? secondWords(commands, split.words[0] ?? "") : [];
  if (command?.raw === "kubectl" && inGroup.length === 0) {
    // kubectl knows its own commands: what it prints is in the same form.
    return (await call.host.runProgram("kubectl", ["__complete", ...call.words])) ?? 0;
  }
  const { candidates, files } =
    command === undefined || inGroup.length > 0
      ? await commandWords(call, before, typed, split.words.length === 0 ? firstWords(commands) : inGroup)
      : await argumentsOf(call, command, wordsOf(command, split), typed);
  for (const { word, help } of candidates)
    if (word.startsWith(typed)) call.print(help === undefined ? word : `${word}\t${help}`);
  call.print(files === true ? ":0" : ":4");
  return 0;
}

function firstWords(commands: readonly Command[]): Candidate[] {
  const found = new Map<string, string>();
  for (const { name, summary } of commands) {
    const [first = "", second] = name.split(" ");
    if (second === undefined) found.set(first, summary);
    else if (!found.has(first))
      found.set(
        first,
        `Commands: ${secondWords(commands, first)
          .map(({ word }) => word)
          .join(", ")}.`,
      );
  }
  return [...found].map(([word, help]) => ({ word, help }));
}

function secondWords(commands: readonly Command[], first: string): Candidate[] {
  return commands
    .filter(({ name }) => name.startsWith(`${first} `))
    .map(({ name, summary }) => ({ word: name.slice(first.length + 1), help: summary }));
}

async function commandWords(
  call: Call,
  before: readonly string[],
  typed: string,
  words: readonly Candidate[],
): Promise<Completion> {
  const awaited = awaitedFlag(before, globalFlags);
  if (awaited !== undefined) return valuesOf(call, awaited, before);
  return typed.startsWith("-") ? flagNames(globalFlags) : { candidates: words };
}

async function argumentsOf(
  call: Call,
  command: Command,
  before: readonly string[],
  typed: string,
): Promise<Completion> {
  if (before.includes("--")) return command.runsCommand === true ? fileNames : nothing;
  const own = await flagsOf(command);
  const table: FlagTable = command.raw === undefined ? { ...own, ...globalFlagsBeside(own) } : own;
  const awaited = awaitedFlag(before, table);
  if (awaited !== undefined) return valuesOf(call, awaited, before.slice(0, -1));
  const [, name, sign] = /^--([\w-]{1,100})(=)?/.exec(typed) ?? [];
  if (name !== undefined && sign !== undefined) {
    const flag = table[name];
    if (flag === undefined) return nothing;
    const { candidates, files } = await valuesOf(call, { name, flag }, before);
    return {
      candidates: candidates.map(({ word }) => ({ word: `--${name}=${word}` })),
      files: files === true,
    };
  }
  if (typed.startsWith("-")) return flagNames(table);
  const parsed = parsedOf(before, table);
  if (parsed === undefined) return nothing;
  const { arguments: taken } = command;
  if (taken !== undefined) {
    const isFull = parsed.words.length >= taken.most;
    return { candidates: isFull ? [] : (taken.choices ?? []).map((word) => ({ word })) };
  }
  return quietly(async () => objectWords(await call.clusterFor(parsed.flags), parsed.words, typed));
}

/** Undefined for words that the command would refuse. */
function parsedOf(
  before: readonly string[],
  table: FlagTable,
): { flags: Flags; words: readonly string[] } | undefined {
  try {
    return parseArguments([longestWait, ...before], table, "");
  } catch (error) {
    if (error instanceof CliError) return undefined;
    throw error;
  }
}

interface NamedFlag {
  readonly name: string;
  readonly flag: Flag;
}

/** The flag whose value comes next. */
function awaitedFlag(before: readonly string[], table: FlagTable): NamedFlag | undefined {
  const last = before.at(-1) ?? "";
  const found = Object.entries(table).find(
    ([name, { short }]) => last === `--${name}` || last === `-${short}`,
  );
  if (found === undefined) return undefined;
  const [name, flag] = found;
  return flag.kind === "text" && flag.bare === undefined ? { name, flag } : undefined;
}

function flagNames(table: FlagTable): Completion {
  return { candidates: Object.entries(table).map(([name, { help }]) => ({ word: `--${name}`, help })) };
}

/** Words of a flag's help that stand for values. */
const placeholders: ReadonlySet<string> = new Set(["N", "N%", "NAME", "IP"]);
const filePlaceholders: ReadonlySet<string> = new Set(["FILE", "DIR", "FOLDER"]);

async function valuesOf(
  call: Call,
  { name, flag }: NamedFlag,
  before: readonly string[],
): Promise<Completion> {
  if (flag.kind === "switch") return { candidates: [{ word: "true" }, { word: "false" }] };
  const { value = "" } = flag;
  if (filePlaceholders.has(value)) return fileNames;
  if (name === "namespace") {
    const flags = parsedOf(before, globalFlags)?.flags ?? new Flags(globalFlags, new Map());
    return quietly(async () => namespaceNames(await call.clusterFor(flags)));
  }
  if (!value.includes("|")) return nothing;
  const words = value.split("|").filter((word) => !placeholders.has(word));
  return { candidates: words.map((word) => ({ word })) };
}

/** Without a cluster there is nothing to choose from: a tab is no place for errors. */
async function quietly(read: () => Promise<Candidate[]>): Promise<Completion> {
  try {
    return { candidates: await read() };
  } catch {
    return nothing;
  }
}

async function objectWords(
  access: ClusterAccess,
  words: readonly string[],
  typed: string,
): Promise<Candidate[]> {
  const [first] = words;
  const slash = typed.indexOf("/");
  if (slash >= 0) {
    const typeName = typed.slice(0, slash);
    return (await namesOf(access, typeName)).map((name) => ({ word: `${typeName}/${name}` }));
  }
  if (first === undefined || first.includes("/")) return typeWords(access);
  return (await namesOf(access, first)).filter((name) => !words.includes(name)).map((word) => ({ word }));
}

/** In the words of the documents: the short name where a kind of this API has one. */
async function typeWords({ types }: ClusterAccess): Promise<Candidate[]> {
  const groups = await Promise.all(
    ["apps.kruise.io", "policy.kruise.io", "", "apps", "batch"].map((group) => types.preferred(group)),
  );
  return groups.flat().map((type) => ({ word: wordFor(type), help: type.kind }));
}

function wordFor({ group, singular, shortNames }: ResourceType): string {
  return group.endsWith("kruise.io") ? (shortNames[0] ?? singular) : singular;
}

async function namesOf({ client, types, namespace }: ClusterAccess, typeName: string): Promise<string[]> {
  const type = await types.find(typeName);
  const scope = type.namespaced ? { namespace } : {};
  const { items } = await client.list(objectResource(type), { ...scope, limit: mostNames });
  return items.map(({ metadata }) => metadata.name ?? "");
}

async function namespaceNames(access: ClusterAccess): Promise<Candidate[]> {
  return (await namesOf(access, "namespaces")).map((word) => ({ word }));
}
