/** The entry: finds the command, parses its flags, runs it, turns errors into one line and an exit code. */
import { type FlagTable, type Parsed, parseArguments } from "./arguments.ts";
import type { Call, ClusterAccess, Command, Host } from "./command.ts";
import { findCommand, splitCommand, wordsOf } from "./command_words.ts";
import { commandGroups } from "./commands.ts";
import { connectFlags } from "./connect_flags.ts";
import { CliError, describeError } from "./errors.ts";
import { globalFlags, globalFlagsBeside } from "./global_flags.ts";
import { commandHelp, flagsOf, groupHelp, overview } from "./help.ts";
import { processHost, processIo } from "./host.ts";
import { type Io, paintFor } from "./io.ts";
import { ResourceTypes } from "./resource_types.ts";
import { nearest } from "./suggest.ts";

/** Runs one command line (without `node` and the script); resolves to the exit code. Touches `io` and `host` alone. */
export async function main(argv: readonly string[], io: Io, host: Host = processHost()): Promise<number> {
  try {
    return await dispatch(argv, io, host);
  } catch (error) {
    if (io.signal.aborted && isAbort(error)) return 130;
    io.stderr.write(`${describeError(error)}\n`);
    return error instanceof CliError ? error.exitCode : 1;
  }
}

function isAbort(error: unknown): boolean {
  if (!(error instanceof Error)) return false;
  return error.name === "AbortError" || ("code" in error && error.code === "Aborted");
}

const commands: readonly Command[] = commandGroups.flatMap((group) => group.commands);

async function dispatch(argv: readonly string[], io: Io, host: Host): Promise<number> {
  const split = splitCommand(argv);
  const { words, others } = split;
  const [first, second] = words;
  if (first === undefined || first === "help") {
    const topic = first === "help" ? others.filter((word) => !word.startsWith("-")) : [];
    const asked = [second, ...topic].filter((word) => word !== undefined);
    io.stdout.write(asked.length === 0 ? overview(commandGroups) : await helpAbout(asked));
    return 0;
  }
  const command = findCommand(commands, words);
  if (command === undefined) {
    const inGroup = commands.filter((candidate) => candidate.name.startsWith(`${first} `));
    if (inGroup.length > 0 && (second === undefined || second === "")) {
      io.stdout.write(groupHelp(first, inGroup));
      return 0;
    }
    throw unknownCommand(first, inGroup.length > 0 ? second : undefined);
  }
  return runCommand(command, wordsOf(command, split), io, host);
}

async function runCommand(command: Command, argv: readonly string[], io: Io, host: Host): Promise<number> {
  const isHelpWanted = command.rawHelp !== true && (argv[0] === "--help" || argv[0] === "-h");
  const commandLine = ["refit", command.name, ...argv].join(" ");
  if (command.raw !== undefined && !isHelpWanted) {
    const unparsed = { ...parseArguments([], globalFlags, ""), words: argv };
    return runAndDisconnect(command, callOf(commandLine, unparsed, io, host));
  }
  const own = await flagsOf(command);
  const table: FlagTable = { ...own, ...globalFlagsBeside(own) };
  const parsed = parseArguments(argv, table, `refit ${command.name}`);
  if (parsed.flags.on("help")) {
    io.stdout.write(await commandHelp(command));
    return 0;
  }
  const placed =
    command.runsCommand === true
      ? parsed
      : { flags: parsed.flags, words: [...parsed.words, ...(parsed.rest ?? [])], rest: undefined };
  refuseExcess(command, placed.words);
  return runAndDisconnect(command, callOf(commandLine, placed, io, host));
}

function refuseExcess({ name, arguments: taken }: Command, words: readonly string[]): void {
  const excess = taken === undefined ? undefined : words[taken.most];
  if (excess === undefined) return;
  throw new CliError(`unexpected argument "${excess}"; see "refit ${name} --help"`);
}

async function runAndDisconnect(command: Command, call: OpenCall): Promise<number> {
  try {
    return await command.run(call);
  } finally {
    await call.disconnect();
  }
}

type OpenCall = Call & { disconnect(): Promise<void> };

function callOf(commandLine: string, parsed: Parsed, io: Io, host: Host): OpenCall {
  let access: Promise<ClusterAccess> | undefined;
  return {
    commandLine,
    flags: parsed.flags,
    words: parsed.words,
    rest: parsed.rest,
    io,
    host,
    paint: paintFor(io),
    print: (line = "") => void io.stdout.write(`${line}\n`),
    warn: (line) => void io.stderr.write(`${line}\n`),
    cluster() {
      return this.clusterFor(parsed.flags);
    },
    clusterFor(flags) {
      access ??= connect(flags, io, host);
      return access;
    },
    runLine: main,
    async disconnect() {
      if (access === undefined) return;
      const opened = await access.catch(() => undefined);
      await opened?.client.close();
    },
  };
}

async function connect(flags: Call["flags"], io: Io, host: Host): Promise<ClusterAccess> {
  const connection = await host.connect({
    ...connectFlags(flags, io.stderr),
    userAgent: "refit",
    env: io.env,
  });
  const namespace = flags.text("namespace") || connection.namespace || "default";
  return { client: connection.client, namespace, types: new ResourceTypes(connection.client) };
}

async function helpAbout(topic: readonly string[]): Promise<string> {
  const command = findCommand(commands, topic);
  if (command !== undefined) return commandHelp(command);
  const [first = "", second] = topic;
  const inGroup = commands.filter((candidate) => candidate.name.startsWith(`${first} `));
  if (inGroup.length > 0 && second === undefined) return groupHelp(first, inGroup);
  throw unknownCommand(first, second);
}

function unknownCommand(first: string, second: string | undefined): CliError {
  const written = second === undefined ? first : `${first} ${second}`;
  const near = nearestCommand(written, second === undefined);
  const hint = near === undefined ? 'see "refit --help"' : `did you mean "${near}"?`;
  return new CliError(`unknown command "${written}"; ${hint}`);
}

/** `rolout` is near `rollout`, and `status` is near `rollout status`. */
function nearestCommand(written: string, isOneWord: boolean): string | undefined {
  const names = commands.map((command) => command.name);
  if (!isOneWord) return nearest(written, names);
  const near = nearest(
    written,
    names.flatMap((name) => name.split(" ")),
  );
  if (near === undefined || names.includes(near)) return near;
  return names.find((name) => name.endsWith(` ${near}`)) ?? near;
}

/** Runs this process's command line; the exit code is set when everything that was started has ended. */
export async function runProcess(): Promise<void> {
  const { argv, io, settled } = processIo();
  process.exitCode = await main(argv, io);
  settled();
}
